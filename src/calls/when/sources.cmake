set(sources when.c when_address.c)
