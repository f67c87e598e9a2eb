set(sources hook.c hook_method.c hook_object.c hook_text.c hook_thunk.c hook_write.c)
