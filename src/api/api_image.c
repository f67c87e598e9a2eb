// SPDX-License-Identifier: Apache-2.0
#include <sonde/image.h>

#include <string.h>

#include "base_mem.h"
#include "base_status.h"
#include "capture_images.h"
#include "image_app.h"
#include "target_self.h"

_Static_assert(SONDE_BUILD_ID_MAX == SONDE__BUILD_ID_MAX, "a whole build-id is handed out");
_Static_assert(SONDE_IMAGE_MAIN == SONDE__IMAGE_MAIN && SONDE_IMAGE_VDSO == SONDE__IMAGE_VDSO,
               "flags are handed out as they are");

static int show(const struct sonde__image *image, sonde_image_each each, void *ctx)
{
    struct sonde_image shown = {
        .path = image->path,
        .start = image->start,
        .end = image->end,
        .bias = image->bias,
        .flags = image->flags,
        .build_id_size = image->build_id.size,
    };
    sonde__base_mem_copy(shown.build_id, image->build_id.bytes, sizeof shown.build_id);
    return each(ctx, &shown);
}

enum sonde_status sonde_images_each(sonde_image_each each, void *ctx)
{
    struct sonde__capture_pin pin;
    SONDE_TRY(sonde__target_self_refresh(false));
    pin = sonde__capture_pin();
    for (uint32_t i = 0; i < pin.images->image_count; i++) {
        if (show(&pin.images->images[i], each, ctx) != 0) {
            break;
        }
    }
    sonde__capture_unpin(pin);
    return SONDE_OK;
}

enum sonde_status sonde_image_find(uint64_t pc, sonde_image_each each, void *ctx)
{
    struct sonde__capture_pin pin;
    const struct sonde__image *image;
    SONDE_TRY(sonde__target_self_refresh(false));
    pin = sonde__capture_pin();
    image = sonde__image_find(pin.images, pc);
    if (image != NULL) {
        show(image, each, ctx);
    }
    sonde__capture_unpin(pin);
    return image != NULL ? SONDE_OK : SONDE_ABSENT;
}

int sonde_image_is_app(uint64_t pc)
{
    struct sonde__capture_pin pin;
    const struct sonde__image *image;
    if (sonde__target_self_refresh(false) != SONDE_OK) {
        return 0;
    }
    pin = sonde__capture_pin();
    image = sonde__image_find(pin.images, pc);
    int is_app = image != NULL && sonde__image_is_app(image->path, image->flags);
    sonde__capture_unpin(pin);
    return is_app;
}

enum sonde_status sonde_image_set_app(const char *path_prefix, int is_app)
{
    enum { PREFIX_MAX = 255 };
    if (path_prefix == NULL || path_prefix[0] != '/' || strlen(path_prefix) > PREFIX_MAX) {
        return SONDE_USAGE;
    }
    return sonde__image_app_rule(path_prefix, strlen(path_prefix), is_app != 0) ? SONDE_OK
                                                                                : SONDE_LIMIT;
}
