set(sources block_layout.c block_name.c block_read.c block_runtime.c block_signature.c)
