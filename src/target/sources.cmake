set(sources
    target_self.c
    target_self_describe.c
    target_self_images.c
)
