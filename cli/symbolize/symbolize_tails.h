// SPDX-License-Identifier: Apache-2.0
/* Finds functions that left by a tail call between two frames of a log. In other images they are
 * found by name among the open images, as the loader would. */
#ifndef SONDE_SYMBOLIZE_TAILS_H
#define SONDE_SYMBOLIZE_TAILS_H

#include "symbol_answer.h"
#include "symbolize_images.h"

/* Find the functions between the frame that returns to `back` and the one at `pc`. False: none, or
 * unknown. */
bool symbolize_find_tails(struct symbolize_images *images, struct symbolize_image *caller,
                          uint64_t back, struct symbolize_image *inner, uint64_t pc,
                          struct sonde__tail_frames *ret_tails);

#endif
