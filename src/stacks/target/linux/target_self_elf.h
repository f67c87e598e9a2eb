// SPDX-License-Identifier: Apache-2.0
/* Private to this folder. */
#ifndef SONDE_TARGET_SELF_ELF_H
#define SONDE_TARGET_SELF_ELF_H

#include <link.h>

#include "target_self_images.h"

/* Describe an object of the loader as an image. False: nothing of it is mapped. */
bool self_image_describe(const struct dl_phdr_info *info, struct sonde__image *ret_image);

/* Length of a kernel's path without the mark of a deleted file. */
size_t self_path_undeleted(const char *path, size_t size);

#endif
