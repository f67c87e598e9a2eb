set(sources
    scrub.c
    scrub_address.c
    scrub_path.c
    scrub_place.c
    scrub_rules.c
    scrub_secret.c
)
