// SPDX-License-Identifier: Apache-2.0
/* All that is known about the code at an address of an image, and about frames lost to tail calls
 * there. Each source (symbols, index file, debug information, JIT runtime, tail graph) fills in its
 * part. All commands and libraries get names in this struct. */
#ifndef SONDE_SYMBOL_ANSWER_H
#define SONDE_SYMBOL_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

/* Source of a function's name, with the numbers of sonde/symbol.h and of reports. */
enum sonde__name_source {
    SONDE__NAME_NONE,
    SONDE__NAME_SYMTAB,
    SONDE__NAME_DYNSYM,
    SONDE__NAME_PLT, /* a stub of the linker; the name is its target's */
    SONDE__NAME_DEBUG_INFO,
    SONDE__NAME_JIT,
};

struct sonde__function {
    const char *name; /* as in the file (mangled); "": unknown */
    uint64_t start;   /* vaddr */
    bool has_start;   /* true also if only its bounds are known */
    uint8_t source;   /* enum sonde__name_source */
};

struct sonde__call {
    const char *name; /* of the outermost: the function's; of others: linkage name, else plain name;
                         "": unknown */
    const char *file; /* path; "": unknown */
    uint32_t line;    /* 0: unknown */
};

/* Limit of calls at one address: five times the maximum in large programs. If there are more, none
 * is given. */
#define SONDE__CALLS_MAX 256u

/* Limit of frames inserted at one place: chains of tail calls are short (libjvm: up to 6). */
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
    uint32_t ways;    /* != 0: number of ways that continue from there; UINT32_MAX: unlimited */
    bool is_possible; /* the places would explain the stack, but are not certain */
};

struct sonde__answer {
    struct sonde__function function;
    /* innermost first: each but the last is inlined into the next one; the last is the function */
    struct sonde__call calls[SONDE__CALLS_MAX];
    uint32_t count; /* 0: file and line are unknown */
    /* found from the stack, not by address: look-ups do not change it */
    struct sonde__tail_frames tails;
};

/* Give the function and the outermost call one name: that of the function's symbol. Debug
 * information names it only if no symbol does: it has no ".cold" or ".part.0", and one name for
 * both constructors. llvm-symbolizer chooses so, too (shouldOverrideWithSymbolTable). */
static inline void sonde__answer_name_function(struct sonde__answer *answer)
{
    struct sonde__function *function = &answer->function;
    if (answer->count == 0) {
        return;
    }
    if (function->name[0] == '\0') {
        function->name = answer->calls[answer->count - 1].name;
        function->source = function->name[0] != '\0' ? SONDE__NAME_DEBUG_INFO : SONDE__NAME_NONE;
    }
    answer->calls[answer->count - 1].name = function->name;
}

#endif
