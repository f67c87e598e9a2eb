set(sources drain_stack.c)
