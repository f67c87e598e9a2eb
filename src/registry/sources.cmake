set(sources registry.c registry_call.c)
