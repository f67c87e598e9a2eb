// SPDX-License-Identifier: Apache-2.0
/* A report as the text that `sonde show` prints, line by line, with its images as images. */
#ifndef SONDE_SYMBOLIZE_REPORT_H
#define SONDE_SYMBOLIZE_REPORT_H

#include "symbolize_images.h"

/* Calls `each` with every line of the report's text, with its newline. The report's images are in
 * `images` meanwhile. "-" is standard input. Reports a failure; returns an exit code. */
int symbolize_report(struct symbolize_images *images, const char *path, bool raw_names,
                     void (*each)(void *ctx, const char *line, size_t size), void *ctx);

#endif
