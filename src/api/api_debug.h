// SPDX-License-Identifier: Apache-2.0
/* What a debugger calls in a process that it has stopped (sonde_block_print, sonde_stacks_print).
 *
 * Nothing here takes a lock or heap memory, because a stopped thread may hold that lock. So the
 * symbolizer, the image snapshots and the loader's lists cannot be used: the loader is asked which
 * image holds an address, and that image's file is mapped for the call. Working memory is mapped
 * and unmapped. Context: any thread; not handler. */
#ifndef SONDE_API_DEBUG_H
#define SONDE_API_DEBUG_H

#include <stdbool.h>
#include <stdint.h>

#include "base_text.h"
#include "host_file.h"
#include "image_elf.h"

enum {
    DEBUG_IMAGES_MAX = 64, /* whose files are mapped at once; names of further ones are not known */
    DEBUG_KNOWN = 1024,    /* answers that are remembered; a power of two */
    DEBUG_PATH_MAX = 512,
    DEBUG_LINE_MAX = 2048,
};

struct debug_image {
    uint64_t key;        /* the loader's */
    uint64_t start, end; /* the range that was asked about first */
    uint64_t bias;
    bool has_symbols;
    char path[DEBUG_PATH_MAX]; /* "": not known */
    struct sonde__host_file file;
    struct sonde__elf elf;
    struct sonde__elf_symbols symbols; /* .symtab, else .dynsym */
};

struct debug_answer {
    const struct debug_image *image; /* null: none */
    const char *name;                /* null: no symbol has the address */
    uint64_t start;                  /* of the symbol */
};

/* All zero at first. */
struct debug_names {
    struct debug_image images[DEBUG_IMAGES_MAX];
    uint32_t image_count;
    struct {
        uint64_t key; /* the address, its lowest bit doubled with `exact`; 0: free */
        struct debug_answer answer;
    } known[DEBUG_KNOWN];
};

/* exact: find a symbol of any type that begins at the address; else the function that holds it. */
struct debug_answer debug_find(struct debug_names *names, uint64_t address, bool exact);
/* Is there a symbol of this name in the image that holds the address? */
bool debug_image_has(struct debug_names *names, uint64_t address, const char *name);
void debug_names_done(struct debug_names *names);

/* Put a name for the code at an address: "main+0x12  prog", "prog+0x1234", "(no image)". lookup:
 * the address to name; that of the call, not the return address. */
void debug_put_code(struct debug_names *names, struct sonde__text *out, uint64_t pc,
                    uint64_t lookup);

/* Write the line with a newline to standard error, and begin the next one. */
void debug_line(struct sonde__text *out);

#endif
