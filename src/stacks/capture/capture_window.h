// SPDX-License-Identifier: Apache-2.0
/* The stack of another thread from a copy of its top, which was read together with those of other
 * threads: one system call serves many. What lies further out is read into the same place when the
 * walk comes there. Context: handler. */
#ifndef SONDE_CAPTURE_WINDOW_H
#define SONDE_CAPTURE_WINDOW_H

#include "capture_images.h"
#include "os.h"

#include <sonde/stack.h>

/* The walk's reader takes aligned blocks (unwind_memory.h), so a window begins on such a boundary;
 * and it ends at a page's, because each page costs the kernel as much as the copying. */
#define SONDE__WINDOW_BYTES (2 * 4096 + 512)

/* Which bytes of the stack to read first. expected_bytes: what the walk will need, as far as the
 * thread's last walk tells; 0: not known. part->bytes has SONDE__WINDOW_BYTES. */
void sonde__capture_window_plan(uint64_t sp, uint32_t expected_bytes, struct sonde__os_part *part);

/* Walk the stack of a thread that waits there. `window` is overwritten.
 * Returns how many bytes from sp on had to be read, for the next plan. */
uint32_t sonde__capture_window_walk(struct sonde_stack *stack, const struct sonde__os_wait *wait,
                                    const struct sonde__image_set *images,
                                    struct sonde__os_part *window);

#endif
