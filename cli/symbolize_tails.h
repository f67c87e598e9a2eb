// SPDX-License-Identifier: Apache-2.0
/* Functions that left by a tail call between two frames of a log, also through other images, whose
 * functions are found by name, as the loader would, in the open images. */
#ifndef SONDE_SYMBOLIZE_TAILS_H
#define SONDE_SYMBOLIZE_TAILS_H

#include "symbol_answer.h"
#include "symbolize_images.h"

/* The functions between the frame that returns to `back` of a image and the one at `pc`. False:
 * none, or not known. */
bool symbolize_find_tails(struct symbolize_images *images, struct symbolize_image *caller,
                          uint64_t back, struct symbolize_image *inner, uint64_t pc,
                          struct sonde__tail_frames *ret_tails);

#endif
