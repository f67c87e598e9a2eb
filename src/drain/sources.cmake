set(sources drain_stack.c drain_tail.c)
