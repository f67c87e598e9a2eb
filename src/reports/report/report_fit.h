// SPDX-License-Identifier: Apache-2.0
/* Fits lines to a terminal. A frame's line that is too wide loses the padding between columns, then
 * the middle of its widest names ("outer::…::run(int)+0x1f"), so that image, file and line stay
 * visible. Other lines are broken between words (report_wrap.h). Context: any thread, one at a
 * time. */
#ifndef SONDE_REPORT_FIT_H
#define SONDE_REPORT_FIT_H

#include "report_out.h"

enum { SONDE__REPORT_FIT_BYTES = 8192 }; /* longer lines are not fitted */

struct sonde__report_fit {
    struct sonde__report_sink sink;
    uint32_t columns;
    size_t used;
    bool is_long; /* the line was written in parts */
    char line[SONDE__REPORT_FIT_BYTES];
};

/* columns: of the terminal; 0: none, so nothing changes. */
void sonde__report_fit_begin(struct sonde__report_fit *fit, struct sonde__report_sink sink,
                             uint32_t columns);
/* Text for this sink is fitted, and written line by line. */
struct sonde__report_sink sonde__report_fit_sink(struct sonde__report_fit *fit);
/* Write what is left of a line without newline. */
void sonde__report_fit_end(struct sonde__report_fit *fit);

#endif
