// SPDX-License-Identifier: Apache-2.0
/* Prints a report as `sonde show` does, line by line, and provides its images. */
#ifndef SONDE_SYMBOLIZE_REPORT_H
#define SONDE_SYMBOLIZE_REPORT_H

#include "symbolize_images.h"

/* Call `each` for every line of the report's text, newline included; meanwhile `images` has the
 * report's images. "-": stdin. Reports a failure; returns an exit code. */
int symbolize_report(struct symbolize_images *images, const char *path, bool raw_names,
                     void (*each)(void *ctx, const char *line, size_t size), void *ctx);

#endif
