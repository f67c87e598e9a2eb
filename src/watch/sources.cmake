set(sources watch_cause.c watch_decide.c watch_program.c)
