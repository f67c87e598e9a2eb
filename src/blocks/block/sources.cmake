set(sources block_calls.c block_captures.c block_emulate.c block_entry.c block_execute.c block_helper.c block_layout.c
            block_memory.c block_name.c block_read.c block_runtime.c block_signature.c block_wrapper.c)
