// SPDX-License-Identifier: Apache-2.0
/* List the images of this process, and find the image of an address. */
#include <inttypes.h>
#include <stdio.h>

#include <sonde/image.h>

static int print_image(void *ctx, const struct sonde_image *image)
{
    const char *prefix = ctx;
    printf("%s0x%012" PRIx64 "-0x%012" PRIx64 " ", prefix, image->start, image->end);
    for (unsigned i = 0; i < image->build_id_size; i++) {
        printf("%02x", image->build_id[i]);
    }
    printf(" %s\n", image->path);
    return 0;
}

int main(void)
{
    char here[] = "this code is in: ", none[] = "";
    if (sonde_images_each(print_image, none) != SONDE_OK) {
        return 1;
    }
    printf("this code is %s\n", sonde_image_is_app((uint64_t)(uintptr_t)&print_image)
                                    ? "the program's own"
                                    : "the system's");
    return sonde_image_find((uint64_t)(uintptr_t)&print_image, print_image, here) == SONDE_OK ? 0
                                                                                              : 1;
}
