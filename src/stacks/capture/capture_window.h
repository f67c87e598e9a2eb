// SPDX-License-Identifier: Apache-2.0
/* Walks the stack of another thread from a copy of its top. One system call copies the tops of
 * many threads. The walk reads what is further out into the same buffer. Context: handler. */
#ifndef SONDE_CAPTURE_WINDOW_H
#define SONDE_CAPTURE_WINDOW_H

#include "capture_images.h"
#include "os.h"

#include <sonde/stack.h>

/* A window begins on an aligned block, as the walk's reader takes them (unwind_memory.h), and
 * ends at the end of a page, because each page costs the kernel as much as the copying. */
#define SONDE__WINDOW_BYTES (2 * 4096 + 512)

/* Choose the bytes of the stack to read first. expected_bytes: what the thread's last walk
 * needed; 0: unknown. part->bytes has SONDE__WINDOW_BYTES. */
void sonde__capture_window_plan(uint64_t sp, uint32_t expected_bytes, struct sonde__os_part *part);

/* Walk the stack of a thread that waits there. Overwrites `window`.
 * Returns how many bytes from sp on it read, for the next plan. */
uint32_t sonde__capture_window_walk(struct sonde_stack *stack, const struct sonde__os_wait *wait,
                                    const struct sonde__image_set *images,
                                    struct sonde__os_part *window);

#endif
