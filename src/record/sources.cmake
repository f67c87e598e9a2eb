set(sources
    record.c
    record_hooked.c
    record_entry.S
    record_public.c
)
