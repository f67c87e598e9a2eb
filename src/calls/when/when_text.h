// SPDX-License-Identifier: Apache-2.0
/* Texts and paths that arguments of calls point to, read safely: the memory may be absent, or
 * change meanwhile. Context: handler. */
#ifndef SONDE_WHEN_TEXT_H
#define SONDE_WHEN_TEXT_H

#include <stddef.h>

#include "when.h"

/* Returns YES | NO (a null pointer) | UNREAD (unreadable, or without an end). */
enum sonde__when_result sonde__when_text(uint64_t address, char text[SONDE__WHEN_STRING]);

/* Made absolute from the folder that this descriptor is (AT_FDCWD: the current one), without "..",
 * "." and "//". NO also: the text is "" and there is no folder. */
enum sonde__when_result sonde__when_path(uint64_t address, int32_t folder, char *path,
                                         size_t capacity);

#endif
