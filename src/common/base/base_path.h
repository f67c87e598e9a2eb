// SPDX-License-Identifier: Apache-2.0
/* Paths, made absolute by their text alone. Context: handler. */
#ifndef SONDE_BASE_PATH_H
#define SONDE_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Append the parts of a relative path: empty ones and "." are left out, ".." removes the part
 * before it, as the root's ".." is the root. Links are not followed.
 * path   holds *size bytes of an absolute path without a slash at its end ("" for the root); the
 *        result is such a path, "/" for the root, and ends with NUL
 * False: it does not fit in `capacity` bytes. */
bool sonde__base_path_add(char *path, size_t *size, size_t capacity, const char *parts);

#endif
