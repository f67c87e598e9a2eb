// SPDX-License-Identifier: Apache-2.0
/* Source places of blocks, from the debug information of the file or of what belongs to it (a
 * separate debug file, a dSYM bundle). */
#ifndef SONDE_BLOCKS_PLACES_H
#define SONDE_BLOCKS_PLACES_H

#include "block_captures.h"
#include "image_set.h"
#include "loaded.h"
#include "symfile_sections.h"
#include "symfile_types.h"
#include "types_block.h"

/* Not to be copied: parts of it point to others. All zero: nothing is known. */
struct blocks_places {
    struct sonde__types *types; /* null: there is no debug information */
    bool has_file;
    struct sonde__symfile_types file;
    struct sonde__dwarf_sections sections; /* of an object */
    bool has_inflated;
    struct sonde__symfile_sections inflated; /* of an ELF object, before its relocations */
    uint8_t *copy;                           /* and after */
    struct sonde__symfile_options options;   /* of an image */
};

/* Of a program or library at a path; uuid and arch of a Mach-O, or null. No error is reported:
 * blocks are then shown without places. */
void blocks_places_of_file(struct blocks_places *places,
                           const struct sonde__symfile_options *options, const char *path,
                           const struct sonde__macho *macho);
/* Of an image of a process: only from the file with its build-id. */
void blocks_places_of_image(struct blocks_places *places,
                            const struct sonde__symfile_options *options,
                            const struct sonde__image *image);
/* Of a Mach-O object, from itself. */
void blocks_places_of_object(struct blocks_places *places, const struct sonde__macho *macho);
/* Of an ELF object, from itself; vaddrs are addresses of `loaded`. */
void blocks_places_of_elf_object(struct blocks_places *places, const struct sonde__elf *elf,
                                 struct sonde__loaded *loaded);
void blocks_places_done(struct blocks_places *places);

struct blocks_place {
    const char *name; /* as the debug information has it, or null */
    char file[4096];  /* "": not known */
    uint32_t line;    /* 0: not known */
};

/* Where the function that begins at a vaddr was written. False: not known. */
bool blocks_place(const struct blocks_places *places, uint64_t vaddr,
                  struct blocks_place *ret_place);

/* What the block whose function begins at a vaddr captures. Zero at first. */
struct blocks_variables {
    bool began;
    struct sonde__types_block block;
    struct sonde__types_captures captures;
};
struct blocks_variable {
    struct sonde__types_capture capture;
    char declaration[240]; /* "Thing *self"; cut */
    char type[240];        /* "Thing *" */
};
/* The next one. False: that was all, or nothing is known. */
bool blocks_next_variable(const struct blocks_places *places, uint64_t vaddr,
                          struct blocks_variables *variables, struct blocks_variable *ret_variable);

/* The same variables, as far as the block stores them, for block_captures.h. */
struct blocks_members {
    struct sonde__block_member *items; /* by offset; freed with their texts */
    size_t count;
};
/* A block has no more: each has at least one byte. */
enum { BLOCKS_MEMBERS_MAX = 4096 };
void blocks_members(const struct blocks_places *places, uint64_t vaddr,
                    struct blocks_members *ret_members);
void blocks_members_done(struct blocks_members *members);

/* "Thing *self", "__block int sum"; "address of sum" for a __block variable without a box: a block
 * that does not escape holds the variable's address. Returns `size` or less. */
size_t blocks_declaration(const struct sonde__block_member *member, uint8_t kind, char *text,
                          size_t size);

#endif
