// SPDX-License-Identifier: Apache-2.0
/* Messages for people from readers of recorded data. Context: any thread. */
#ifndef SONDE_REPORT_LINE_H
#define SONDE_REPORT_LINE_H

/* `line` gets one line without a newline; null: lines are dropped. */
struct sonde__report_lines {
    void (*line)(void *ctx, const char *line);
    void *ctx;
};

/* Lines longer than 511 bytes are cut. */
void sonde__report_line(struct sonde__report_lines lines, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
