set(sources drain_names.c drain_stack.c drain_tail.c)
