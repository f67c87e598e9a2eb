// SPDX-License-Identifier: Apache-2.0
/* Replaces files atomically. Context: any thread.
 *
 * A file is written next to its destination, under a random name that ends in ".part", and is
 * locked meanwhile. A writer that dies leaves an unlocked file and does not block later writers;
 * the next one that writes this file removes it. */
#ifndef SONDE_HOST_REPLACE_H
#define SONDE_HOST_REPLACE_H

#include <stdbool.h>
#include <stddef.h>

/* Write a file and move it to its destination. Returns 0 or an errno. */
int sonde__host_file_replace(const char *path, const void *data, size_t size, unsigned permissions);

/* Could this be the name of an unfinished file? */
bool sonde__host_may_be_unfinished(const char *name);
/* Remove an unfinished file unless its writer lives. False: the writer lives, it is not a regular
 * file, or it cannot be removed. */
bool sonde__host_remove_unfinished(int folder_fd, const char *name);

#endif
