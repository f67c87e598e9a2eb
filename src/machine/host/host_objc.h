// SPDX-License-Identifier: Apache-2.0
/* Apple's Objective-C runtime, where the process has it: found by name, never linked. Context: any
 * thread; not handler. Blocks: on the runtime's locks. */
#ifndef SONDE_HOST_OBJC_H
#define SONDE_HOST_OBJC_H

#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

/* Text to add to a block's debugDescription, NUL-terminated, at most `size` bytes with that. */
typedef void sonde__host_objc_adds(uint64_t block, char *text, size_t size);

/* Replace -[NSBlock debugDescription] by one that adds a text to what it said, or only replace the
 * text to add. Returns OK | UNSUPPORTED (no such runtime or class). */
SONDE_NODISCARD enum sonde_status sonde__host_objc_replace(sonde__host_objc_adds *adds);
/* Put the original method back, if it was replaced. */
void sonde__host_objc_restore(void);

/* The object's `description`, by a message to it. Returns 1, or 0: none. */
int sonde__host_objc_description(uint64_t object, char *text, size_t size);

#endif
