set(sources
    api_entry.S
    api_image.c
    api_signal.c
    api_stack.c
    api_thread.c
    api_thread_list.c
)
