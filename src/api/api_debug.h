// SPDX-License-Identifier: Apache-2.0
/* Functions that a debugger calls in a process that it has stopped (sonde_block_print,
 * sonde_stacks_print).
 *
 * They take no lock and no heap memory, because a stopped thread may hold the lock. So they cannot
 * use the symbolizer, the image snapshots and the loader's lists: they ask the loader which image
 * has an address, and map that image's file during the call. Working memory is mapped and unmapped.
 * Context: any thread; not handler. */
#ifndef SONDE_API_DEBUG_H
#define SONDE_API_DEBUG_H

#include <stdbool.h>
#include <stdint.h>

#include "base_text.h"
#include "host_file.h"
#include "image_elf.h"

enum {
    DEBUG_IMAGES_MAX = 64, /* with mapped files; code in further ones gets no names */
    DEBUG_KNOWN = 1024,    /* cached answers; a power of two */
    DEBUG_PATH_MAX = 512,
    DEBUG_LINE_MAX = 2048,
};

struct debug_image {
    uint64_t key;        /* identifies the image to the loader */
    uint64_t start, end; /* the first range that was asked for */
    uint64_t bias;
    bool has_symbols;
    char path[DEBUG_PATH_MAX]; /* "": unknown */
    struct sonde__host_file file;
    struct sonde__elf elf;
    struct sonde__elf_symbols symbols; /* .symtab, else .dynsym */
};

struct debug_answer {
    const struct debug_image *image; /* null: in no image */
    const char *name;                /* null: no symbol */
    uint64_t start;                  /* of the symbol */
};

/* Zero it first. */
struct debug_names {
    struct debug_image images[DEBUG_IMAGES_MAX];
    uint32_t image_count;
    struct {
        uint64_t key; /* the address with `exact` in its lowest bit; 0: free */
        struct debug_answer answer;
    } known[DEBUG_KNOWN];
};

/* exact: find a symbol of any type that starts at the address; else the function that contains
 * it. */
struct debug_answer debug_find(struct debug_names *names, uint64_t address, bool exact);
/* Does the image that contains the address have a symbol of this name? */
bool debug_image_has(struct debug_names *names, uint64_t address, const char *name);
void debug_names_done(struct debug_names *names);

/* Name the code at an address: "main+0x12  prog", "prog+0x1234", "(no image)". lookup: the address
 * to look up: of the call, not the return address. */
void debug_put_code(struct debug_names *names, struct sonde__text *out, uint64_t pc,
                    uint64_t lookup);

/* Write the line and a newline to stderr, and start a new line. */
void debug_line(struct sonde__text *out);

#endif
