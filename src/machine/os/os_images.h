// SPDX-License-Identifier: Apache-2.0
/* The list of loaded images, on systems whose loader reports each change: Darwin. An image is
 * unmapped only after the loader's callback has returned, and the callback waits for whoever holds
 * the list. So what the list has stays mapped while it is held. Context: any thread; not handler.
 */
#ifndef SONDE_OS_IMAGES_H
#define SONDE_OS_IMAGES_H

#include "os.h"

/* Meanwhile no image is added or removed. Calls nest. The holder must not call the loader: that
 * waits for the holder while it has its own lock. */
void sonde__os_images_hold(void);
void sonde__os_images_release(void);

/* While the list is held: equal counts of `added` and `removed` mean equal lists. */
struct sonde__os_image_counts {
    uint64_t added, removed;
    uint64_t lost; /* images that are loaded now, for which the list had no room */
};
struct sonde__os_image_counts sonde__os_images_counts(void);

/* While the list is held: the next image; *at starts at 0. The path is the loader's, "" if it
 * gives none, and valid as long as the image. False: no more. */
bool sonde__os_images_next(uint32_t *at, struct sonde__os_image *ret_image, const char **ret_path);

#endif
