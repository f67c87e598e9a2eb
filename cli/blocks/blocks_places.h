// SPDX-License-Identifier: Apache-2.0
/* Source places of blocks, from the debug information in the file, in a separate debug file or in a
 * dSYM bundle. */
#ifndef SONDE_BLOCKS_PLACES_H
#define SONDE_BLOCKS_PLACES_H

#include "block_captures.h"
#include "image_set.h"
#include "loaded.h"
#include "symfile_sections.h"
#include "symfile_types.h"
#include "types_block.h"

/* Must not be copied: it has pointers into itself. All zero: nothing is known. */
struct blocks_places {
    struct sonde__types *types; /* null: no debug information */
    bool has_file;
    struct sonde__symfile_types file;
    struct sonde__dwarf_sections sections; /* of an object */
    bool has_inflated;
    struct sonde__symfile_sections inflated; /* an ELF object's sections before relocation */
    uint8_t *copy;                           /* and after */
    struct sonde__symfile_options options;   /* of an image */
};

/* For a program or library. uuid and arch: of a Mach-O, or null. Errors are not reported; blocks
 * are then shown without places. */
void blocks_places_of_file(struct blocks_places *places,
                           const struct sonde__symfile_options *options, const char *path,
                           const struct sonde__macho *macho);
/* For an image of a process; uses only a file with the same build-id. */
void blocks_places_of_image(struct blocks_places *places,
                            const struct sonde__symfile_options *options,
                            const struct sonde__image *image);
/* For a Mach-O object, from its own debug information. */
void blocks_places_of_object(struct blocks_places *places, const struct sonde__macho *macho);
/* For an ELF object, from its own debug information; vaddrs are addresses of `loaded`. */
void blocks_places_of_elf_object(struct blocks_places *places, const struct sonde__elf *elf,
                                 struct sonde__loaded *loaded);
void blocks_places_done(struct blocks_places *places);

struct blocks_place {
    const char *name; /* as in the debug information, or null */
    char file[4096];  /* "": unknown */
    uint32_t line;    /* 0: unknown */
};

/* Source place of the function that starts at a vaddr. False: unknown. */
bool blocks_place(const struct blocks_places *places, uint64_t vaddr,
                  struct blocks_place *ret_place);

/* Iterator over the variables that the block with the function at a vaddr captures. Zero it
 * first. */
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
/* False: no more, or nothing known. */
bool blocks_next_variable(const struct blocks_places *places, uint64_t vaddr,
                          struct blocks_variables *variables, struct blocks_variable *ret_variable);

/* The captured variables that the block stores, for block_captures.h. */
struct blocks_members {
    struct sonde__block_member *items; /* by offset; freed with their texts */
    size_t count;
};
/* A block cannot have more: each has at least one byte. */
enum { BLOCKS_MEMBERS_MAX = 4096 };
void blocks_members(const struct blocks_places *places, uint64_t vaddr,
                    struct blocks_members *ret_members);
void blocks_members_done(struct blocks_members *members);

/* "Thing *self", "__block int sum"; "address of sum" for a __block variable without a box, which a
 * block that does not escape refers to. Returns at most `size`. */
size_t blocks_declaration(const struct sonde__block_member *member, uint8_t kind, char *text,
                          size_t size);

#endif
