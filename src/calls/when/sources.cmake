set(sources when.c when_address.c when_limit.c when_text.c when_value.c)
