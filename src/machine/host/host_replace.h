// SPDX-License-Identifier: Apache-2.0
/* Files that are replaced atomically. Context: any thread.
 *
 * A file is written beside its final place, under a random name that ends in ".part", and locked
 * meanwhile. A writer that dies blocks no later one and leaves an unlocked file. */
#ifndef SONDE_HOST_REPLACE_H
#define SONDE_HOST_REPLACE_H

#include <stdbool.h>
#include <stddef.h>

/* Write a file beside its final place and move it there. Returns 0 or the errno of what failed. */
int sonde__host_file_replace(const char *path, const void *data, size_t size, unsigned permissions);

/* May a file of that name be one that was not finished? */
bool sonde__host_may_be_unfinished(const char *name);
/* Remove it, if no writer is at it. False: one is, or it is no regular file, or may not be removed.
 */
bool sonde__host_remove_unfinished(int folder_fd, const char *name);

/* Create the missing folders above a file, for the owner only. If that fails, so will the file. */
void sonde__host_folders_above(const char *path);

#endif
