// SPDX-License-Identifier: Apache-2.0
/* Tells whose code an image is. Context: handler. */
#ifndef SONDE_IMAGE_APP_H
#define SONDE_IMAGE_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is the image app code: the main program, or any file that is not under the distribution's
 * library folders? For a program of Apple's systems that is in a bundle: or any file in the bundle.
 * path: the loader's; flags: enum sonde__image_flags */
bool sonde__image_is_app(const char *path, uint32_t flags);
/* On Apple's systems: the path of this process' program. Context: one thread at a time */
void sonde__image_app_program(const char *path);
/* Does a rule apply to the path? *ret_is_app: what it says. */
bool sonde__image_app_ruled(const char *path, bool *ret_is_app);

/* Add a rule for files whose paths begin with `prefix`. Of several rules, the longest prefix
 * counts; of equally long ones, the last. False: not a path, too long, or too many rules. Rules
 * are never removed. Context: any thread, one at a time */
bool sonde__image_app_rule(const char *prefix, size_t size, bool is_app);

#endif
