// SPDX-License-Identifier: Apache-2.0
/* Everything known about the code at one address of an image. Each source (symbols, an index file,
 * debug information, a JIT's runtime) fills in its part; names/symfile asks all of them. */
#ifndef SONDE_SYMBOL_ANSWER_H
#define SONDE_SYMBOL_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

/* How a function's name is known. The numbers are those of sonde/symbol.h and of a report. */
enum sonde__name_source {
    SONDE__NAME_NONE,
    SONDE__NAME_SYMTAB,
    SONDE__NAME_DYNSYM,
    SONDE__NAME_PLT, /* a stub of the linker; the name is that of its target */
    SONDE__NAME_DEBUG_INFO,
    SONDE__NAME_JIT,
};

struct sonde__function {
    const char *name; /* as in the file (mangled); "": unknown */
    uint64_t start;   /* vaddr */
    bool has_start;   /* also where only its bounds are known */
    uint8_t source;   /* enum sonde__name_source */
};

struct sonde__call {
    const char *name; /* linkage name, else plain name; "": unknown */
    const char *file; /* path; "": unknown */
    uint32_t line;    /* 0: unknown */
};

/* Maximal number of calls at one address: five times as many as large programs have. If there are
 * more, none is given. */
#define SONDE__CALLS_MAX 256u

struct sonde__answer {
    struct sonde__function function;
    /* innermost first: each but the last is inlined into the next one; the last is the function */
    struct sonde__call calls[SONDE__CALLS_MAX];
    uint32_t count; /* 0: neither file nor line is known */
};

#endif
