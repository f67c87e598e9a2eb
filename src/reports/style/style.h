// SPDX-License-Identifier: Apache-2.0
/* One frame as a line of text, in the formats of other tools, byte for byte.
 *
 *   callstack  Apple's backtrace_symbols() and callStackSymbols (Libc, gen/backtrace.c)
 *   bs         BSBacktraceLogger
 *   glibc      backtrace_symbols() of glibc (debug/backtracesyms.c)
 *
 * Context: handler. */
#ifndef SONDE_STYLE_H
#define SONDE_STYLE_H

#include <sonde/text.h>

#include "base_text.h"

struct sonde__style_frame {
    uint64_t index;
    uint64_t pc;         /* as captured */
    const char *image;   /* path; "": in no image */
    uint64_t image_base; /* address of its first byte */
    uint64_t image_bias; /* what glibc counts from */
    const char *name;    /* of the function; "": unknown */
    bool plt;            /* the name is that of a stub's target */
    uint64_t start;      /* address of the function */
    const uint8_t *build_id;
    unsigned build_id_size;
};

/* Put the line, without a newline. `style` is not SONDE_STYLE_SONDE, whose lines depend on more
 * than one frame. */
void sonde__style_line(struct sonde__text *out, enum sonde_style style,
                       const struct sonde__style_frame *frame);

/* Put what comes before the stacks of `threads` threads, before the stack of one, and after it.
 * Only style bs has that. */
void sonde__style_begin_all(struct sonde__text *out, enum sonde_style style, uint64_t threads);
void sonde__style_begin(struct sonde__text *out, enum sonde_style style, int64_t tid);
void sonde__style_end(struct sonde__text *out, enum sonde_style style);

#endif
