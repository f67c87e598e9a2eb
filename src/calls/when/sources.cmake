set(sources when.c when_address.c when_limit.c)
