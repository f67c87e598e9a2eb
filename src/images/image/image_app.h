// SPDX-License-Identifier: Apache-2.0
/* Whose code an image is. Context: handler. */
#ifndef SONDE_IMAGE_APP_H
#define SONDE_IMAGE_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The program's own: the main program, and what does not come with the system, that is any file
 * that is not under the distribution's library folders. path: as the loader has it; flags: enum
 * sonde__image_flags */
bool sonde__image_is_app(const char *path, uint32_t flags);
/* Is a rule about the path, and what does it say? */
bool sonde__image_app_ruled(const char *path, bool *ret_is_app);

/* Another rule than that, for files whose paths begin so: of several rules the one with the longest
 * beginning holds, of equally long ones the last. False: not a path, too long, or too many rules.
 * Rules are never taken back. Context: any thread, one at a time */
bool sonde__image_app_rule(const char *prefix, size_t size, bool is_app);

#endif
