// SPDX-License-Identifier: Apache-2.0
/* One frame in a line of text, in the formats of other tools that people and programs read already:
 * what stands there is theirs to the byte.
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
    const char *name;    /* of the function; "": not known */
    bool plt;            /* the name is what a stub of the linker leads to */
    uint64_t start;      /* address of the function */
    const uint8_t *build_id;
    unsigned build_id_size;
};

/* The line, without a newline. `style` is not SONDE_STYLE_SONDE, whose lines are not of one frame
 * alone. */
void sonde__style_line(struct sonde__text *out, enum sonde_style style,
                       const struct sonde__style_frame *frame);

/* What goes before the stack of a thread, and after it; with `threads` != 0, before all of so many.
 * Nothing, but in style bs. */
void sonde__style_begin_all(struct sonde__text *out, enum sonde_style style, uint64_t threads);
void sonde__style_begin(struct sonde__text *out, enum sonde_style style, int64_t tid);
void sonde__style_end(struct sonde__text *out, enum sonde_style style);

/* The last part of a path. */
const char *sonde__style_base_name(const char *path);

#endif
