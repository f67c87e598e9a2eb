set(sources
    registry.c
    registry_call.c
    registry_group.c
    registry_hooked.c
    registry_public.c
)
