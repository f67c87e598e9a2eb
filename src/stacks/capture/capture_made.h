// SPDX-License-Identifier: Apache-2.0
/* An image of this process from the loader's answer, without a snapshot. Context: handler. */
#ifndef SONDE_CAPTURE_MADE_H
#define SONDE_CAPTURE_MADE_H

#include "image_set.h"
#include "os.h"

/* Make an image from the loader's answer, in coordinates of addresses (bias 0): pc-relative
 * pointers are right, and absolute ones are relocated. The section ends at the mapping's end at
 * the latest; the search table finds its records, without a scan. The object cannot be unloaded:
 * its code is on the walked stack. */
void sonde__capture_make_image(struct sonde__image *image, const struct sonde__os_image *found);

#endif
