set(sources style.c)
