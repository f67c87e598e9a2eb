// SPDX-License-Identifier: Apache-2.0
/* Everything known about the code at one address of an image, and about the frames that tail calls
 * took off a stack there. Each source (symbols, an index file, debug information, a JIT's runtime,
 * tail graphs) fills in its part. All commands and libraries get names as this struct. */
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

/* Frames inserted at one place, at most: chains of tail calls are short (libjvm: up to 6). */
#define SONDE__TAIL_FRAMES_MAX 32u

/* An address in one of several images, whose numbers the caller chooses. */
struct sonde__tail_place {
    uint32_t image;
    uint64_t vaddr;
};

/* Functions that left by tail calls between a frame and its inner frame. */
struct sonde__tail_frames {
    struct sonde__tail_place places[SONDE__TAIL_FRAMES_MAX]; /* innermost first: in the jump, or the
                                                                function's entry */
    uint32_t count;                                          /* 0: none, or not known */
    uint32_t ways; /* != 0: several ways continue from there; UINT32_MAX: any number */
};

struct sonde__answer {
    struct sonde__function function;
    /* innermost first: each but the last is inlined into the next one; the last is the function */
    struct sonde__call calls[SONDE__CALLS_MAX];
    uint32_t count; /* 0: neither file nor line is known */
    /* found by the stack around a frame, not by its address: look-ups leave it as it is */
    struct sonde__tail_frames tails;
};

/* A function that nothing else names has the name of the outermost call. */
static inline void sonde__answer_name_function(struct sonde__answer *answer)
{
    if (answer->function.name[0] == '\0' && answer->count != 0) {
        answer->function.name = answer->calls[answer->count - 1].name;
        answer->function.source =
            answer->function.name[0] != '\0' ? SONDE__NAME_DEBUG_INFO : SONDE__NAME_NONE;
    }
}

#endif
