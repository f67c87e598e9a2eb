// SPDX-License-Identifier: Apache-2.0
/* The program's own code, without a snapshot: it is never unloaded, so what was proven about it
 * stays true.
 *
 * The loader gives one range for an image, with data in it. The executable segments are those of
 * the program's headers, as far as the kernel's map of this process confirms them at the first
 * question; writable ones are left out. This takes some 20 us, once, so it is done only when a walk
 * has to ask for code anyway. Context: handler. */
#ifndef SONDE_CAPTURE_PROGRAM_H
#define SONDE_CAPTURE_PROGRAM_H

#include "image_set.h"

/* The program's image, marked permanent, and the segment that contains `pc`. Null: pc is not in the
 * program's code, or that is not known (yet). */
const struct sonde__image *sonde__capture_program_find(uint64_t pc, uint64_t *ret_start,
                                                       uint64_t *ret_end);

/* Learn where the code is, unless that was tried before. fd: of sonde__os_code_open() */
void sonde__capture_program_learn(int32_t fd);

#endif
