set(sources when.c)
