// SPDX-License-Identifier: Apache-2.0
/* Prints the answer for an address. raw: stored names. */
#ifndef SONDE_SYMBOLIZE_PRINT_H
#define SONDE_SYMBOLIZE_PRINT_H

#include "symbolize_answer.h"

enum { SYMBOLIZE_LINE_BYTES = 65536 };

/* " [inner at a.c:2, inlined into outer at b.c:3]" */
void symbolize_print_inside(bool raw, const struct symbolize_answer *answer);
/* The address as given, then a line for each call. */
void symbolize_print_block(bool raw, const char *asked, const struct symbolize_answer *answer);
/* An element of an array; only its member "frames". */
void symbolize_print_json(const struct symbolize_images *images, bool raw, bool is_first,
                          const char *asked, size_t size, const struct symbolize_answer *answer);
void symbolize_print_frames_json(bool raw, const struct sonde__answer *names);
/* Print the tail calls between a frame and the previous one (answer->names.tails) on their own
 * lines. In JSON they are member "tail_calls" of the calling frame. */
void symbolize_print_tail_calls(const struct symbolize_images *images, bool raw,
                                const struct symbolize_answer *answer);

#endif
