set(sources
    tape.c
    tape_value.c
)
