// SPDX-License-Identifier: Apache-2.0
/* Text with stacks, fitted to a terminal: a frame's line that is wider than the terminal loses the
 * padding between its columns, then the middle of its widest names ("outer::…::run(int)+0x1f"), so
 * that the image, the file and the line stay on it. Other lines stay whole, and so does all that
 * goes to a file or a pipe. */
#ifndef SONDE_CLI_FIT_H
#define SONDE_CLI_FIT_H

#include <stdbool.h>
#include <stdio.h>

#include "report_out.h"

enum { SONDE__CLI_FIT_BYTES = 8192 }; /* a longer line stays whole */

struct sonde__cli_fit {
    FILE *out;
    unsigned columns; /* 0: no terminal */
    size_t used;
    bool is_long; /* the line went out in parts */
    char line[SONDE__CLI_FIT_BYTES];
};

/* out: a terminal or not. Ownership: end it before `out` is used otherwise. */
void sonde__cli_fit_begin(struct sonde__cli_fit *fit, FILE *out);
struct sonde__report_sink sonde__cli_fit_sink(struct sonde__cli_fit *fit);
void sonde__cli_fit_end(struct sonde__cli_fit *fit);

#endif
