set(sources python.c python_code.c python_layout.c python_lines.c python_moment.c python_task.c python_threads.c runtime.c runtime_join.c runtime_name.c runtime_task.c runtime_view.c)
