// SPDX-License-Identifier: Apache-2.0
/* llvm-symbolizer's answers (addr2line names the function before a gap and loses files of inlined
 * calls), for comparison with ours. */
#ifndef SONDE_TEST_SYMBOLIZER_H
#define SONDE_TEST_SYMBOLIZER_H

#include "test.h"

struct symbolizer_frame {
    const char *name; /* "" for what it does not know */
    const char *file;
    unsigned line;
};

struct symbolizer {
    struct test_run run;
    char *cursor;
};

/* Ask it for all addresses of a file. */
void symbolizer_ask(struct symbolizer *s, const char *object, const uint64_t *addresses,
                    size_t count);
/* The frames of the next address, at most `max`; returns how many. */
size_t symbolizer_next(struct symbolizer *s, struct symbolizer_frame *frames, size_t max);
void symbolizer_done(struct symbolizer *s);

/* True if our name is its name. It takes the outermost name from the symbol table if that has one:
 * f.part.0 for f, and the previous function for padding, which DWARF assigns to none. */
bool symbolizer_same_name(const char *ours, const char *its);
/* The part behind the last slash. */
const char *symbolizer_base(const char *path);

#endif
