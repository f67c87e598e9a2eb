// SPDX-License-Identifier: Apache-2.0
/* Lines for people: where a reader of recorded data reports what it found. Context: any thread. */
#ifndef SONDE_REPORT_SAY_H
#define SONDE_REPORT_SAY_H

/* line: without a newline; null: lines are dropped. */
struct sonde__say {
    void (*line)(void *ctx, const char *line);
    void *ctx;
};

/* A line of at most 511 bytes; longer ones are cut. */
void sonde__report_say(struct sonde__say say, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
