set(sources drain_jit.c drain_names.c drain_origin.c drain_script.c drain_stack.c drain_tail.c)
