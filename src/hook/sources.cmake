set(sources hook.c hook_object.c hook_write.c)
