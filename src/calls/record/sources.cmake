set(sources
    record.c
    record_hooked.c
    record_entry.S
    record_images.c
    record_phase.c
    record_public.c
)
