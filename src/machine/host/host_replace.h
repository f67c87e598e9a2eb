// SPDX-License-Identifier: Apache-2.0
/* Files that appear whole or not at all. Context: any thread. */
#ifndef SONDE_HOST_REPLACE_H
#define SONDE_HOST_REPLACE_H

#include <stddef.h>

/* Write a file beside its final place and move it there. Returns 0 or the errno of what failed. */
int sonde__host_file_replace(const char *path, const void *data, size_t size, unsigned permissions);

/* Make the folders above a file, as far as they are not there, for their owner only. If that fails,
 * so will the file. */
void sonde__host_folders_above(const char *path);

#endif
