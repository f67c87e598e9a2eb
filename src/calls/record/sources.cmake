set(sources
    record.c
    record_hooked.c
    record_entry.S
    record_images.c
    record_public.c
)
