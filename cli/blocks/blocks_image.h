// SPDX-License-Identifier: Apache-2.0
/* An image whose blocks are shown (a file, a slice of a universal file, a member of an archive),
 * and the description of one of its descriptors. */
#ifndef SONDE_BLOCKS_IMAGE_H
#define SONDE_BLOCKS_IMAGE_H

#include "block.h"
#include "blockfile.h"
#include "blocks_places.h"

enum {
    /* of a descriptor: the largest block has 64 KiB, and most captures at least 8 bytes */
    BLOCKS_CAPTURES_MAX = 512,
    BLOCKS_TYPE_BYTES = 4096,
};

struct blocks_image {
    const char *path, *arch;
    const char *member; /* of an archive; else "" */
    bool raw;           /* show stored names, not demangled ones */
    struct sonde__loaded loaded;
    struct sonde__blockfile file;
    struct sonde__block_memory memory;
    struct blocks_places places;
};

struct blocks_capture {
    uint32_t offset, size;  /* size 0: unknown */
    uint8_t kind;           /* enum sonde_block_kind */
    bool inside;            /* part of the object listed before it */
    bool in_box;            /* content of the __block variable before it; offset within the box */
    uint32_t sources;       /* 1 << enum sonde_block_source */
    uint32_t other_sources; /* sources that disagree: they say `other`, or nothing */
    uint8_t other;
    bool has_other;
    const char *type; /* encoded; not NUL-terminated; or null */
    uint32_t type_size;
    char declaration[240]; /* of the variable, from debug information; "": unknown */
};

struct blocks_desc {
    const struct sonde__blockfile_desc *found;
    struct sonde__block_desc desc;
    char encoding[BLOCKS_TYPE_BYTES]; /* "" : none */
    char type[BLOCKS_TYPE_BYTES];     /* "void (^)(int)"; "": unknown */
    const char *problem;              /* or null */
    struct blocks_capture captures[BLOCKS_CAPTURES_MAX];
    unsigned capture_count;
};

void blocks_describe(struct blocks_image *image, const struct sonde__blockfile_desc *found,
                     struct blocks_desc *ret_desc);

/* Add what is known of this block alone: its variables from debug information, and the content of
 * its __block variables' boxes. constants: lines with variables that are constants in the block's
 * code, or "". False: nothing to add. */
enum { BLOCKS_CONSTANTS_BYTES = 2048 };
bool blocks_add_variables(struct blocks_image *image, struct blocks_desc *desc,
                          const struct sonde__blockfile_block *block,
                          char constants[BLOCKS_CONSTANTS_BYTES]);

/* The box that a block's capture points to; null: none, or unknown. */
const struct sonde__blockfile_box *blocks_box(const struct blocks_image *image,
                                              const struct sonde__blockfile_block *block,
                                              const struct blocks_capture *capture);

/* Place and name of a block's function. name: demangled, or "". */
struct blocks_function {
    const char *symbol; /* or null */
    char name[4096];
    struct blocks_place place;
};
void blocks_name_function(struct blocks_image *image, uint64_t address,
                          struct blocks_function *ret_function);
/* Name the block that a thunk runs. False: the block is no thunk, or it is unknown what it runs. */
bool blocks_name_run(struct blocks_image *image, const struct sonde__blockfile_block *block,
                     struct blocks_function *ret_function);
uint64_t blocks_vaddr(const struct blocks_image *image, uint64_t address);

enum { BLOCKS_SOURCES = SONDE_BLOCK_BY_DWARF + 1 };

/* --- output --- */

void blocks_print_image(struct blocks_image *image);
/* first: no element has been printed yet. */
void blocks_print_image_json(struct blocks_image *image, bool first);

#endif
