// SPDX-License-Identifier: Apache-2.0
/* The lengths of a watch's turns as lines of text. Context: any thread. */
#ifndef SONDE_REPORT_TURNS_H
#define SONDE_REPORT_TURNS_H

#include "report_model.h"
#include "report_out.h"

/* "long turns: 12 of 31 ms to 62 ms, 1 of 500 ms and more; 37 frames dropped at 60 a second",
 * written to `text`; parts without a count are left out, "" if all are. */
void sonde__report_turns_text(const struct sonde__report_end *end, char *ret_text, size_t capacity);

#endif
