set(sources hook.c hook_blind_spots.c hook_define.c hook_list.c hook_method.c hook_object.c hook_raw.c hook_raw_find.c hook_slots.c
            hook_text.c hook_thunk.c hook_write.c)
