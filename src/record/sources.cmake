set(sources
    record.c
    record_entry.S
    record_public.c
)
