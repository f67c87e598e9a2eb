// SPDX-License-Identifier: Apache-2.0
/* The images, as dyld tells them. None is added or removed while a program runs, as yet. */
#include <mach-o/dyld.h>

#include "sim.h"

uint32_t _dyld_image_count(void)
{
    return host_count_images();
}

const struct mach_header *_dyld_get_image_header(uint32_t index)
{
    const void *header = 0;
    uint64_t slide = 0;
    const char *path = 0;
    if (index >= host_count_images()) {
        return 0;
    }
    host_get_image(index, &header, &slide, &path);
    return header;
}

/* Calls the function for every image that is there, before it returns. */
void _dyld_register_func_for_add_image(void (*func)(const struct mach_header *mh, intptr_t slide))
{
    for (uint32_t i = 0; i < host_count_images(); i++) {
        const void *header = 0;
        uint64_t slide = 0;
        const char *path = 0;
        host_get_image(i, &header, &slide, &path);
        func(header, (intptr_t)slide);
    }
}

void _dyld_register_func_for_remove_image(void (*func)(const struct mach_header *mh,
                                                       intptr_t slide))
{
    (void)func;
}
