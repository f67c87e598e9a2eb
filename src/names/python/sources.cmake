set(sources python_layout.c python_own.c)
