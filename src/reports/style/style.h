// SPDX-License-Identifier: Apache-2.0
/* One frame as a line of text, exactly as other tools print it.
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
    uint64_t image_bias; /* glibc's offsets are relative to this */
    const char *name;    /* of the function; "": unknown */
    bool plt;            /* the name is of the stub's target */
    uint64_t start;      /* address of the function */
    const uint8_t *build_id;
    unsigned build_id_size;
};

/* Append the line, without a newline. `style` is not SONDE_STYLE_SONDE, whose lines depend on
 * several frames. */
void sonde__style_line(struct sonde__text *out, enum sonde_style style,
                       const struct sonde__style_frame *frame);

/* Append the text before all stacks (of `threads` threads), before each stack, and after it. Only
 * style bs has any. */
void sonde__style_begin_all(struct sonde__text *out, enum sonde_style style, uint64_t threads);
void sonde__style_begin(struct sonde__text *out, enum sonde_style style, int64_t tid);
void sonde__style_end(struct sonde__text *out, enum sonde_style style);

#endif
