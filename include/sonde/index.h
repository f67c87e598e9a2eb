// SPDX-License-Identifier: Apache-2.0
/* Indexes: look up the function, file, line and inlined calls at an address of an image, offline,
 * for any architecture.
 *
 * Debug information is converted to an index once. An index is mapped from an index file (written
 * by `sonde index`; docs/index-format.md), or built in memory from an ELF or Mach-O file. A look-up
 * returns ids and allocates nothing; each string is decoded once, on first use.
 *
 * Addresses are image offsets: for ELF the virtual address in the file (pc - bias; see
 * sonde_symbol.image_offset and sonde_image.bias), for Mach-O the distance from the image's header.
 * Look up a return address by the byte before it. */
#ifndef SONDE_INDEX_H
#define SONDE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/arch.h"
#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The index of one image. */
struct sonde_index;

/* Open an index file, or build the index of a program, library, debug file or dSYM bundle. Further
 * debug information is found automatically: the separate debug file (same build-id, under
 * /usr/lib/debug or by its debug link), dwz's file, split files. Malformed units are left out:
 * sonde_index_bad_unit().
 *
 * path       of the file; its first bytes tell its type
 * threads    to build the index with, 1 to 64; 0: one
 * ret_error  details of a failure; may be null
 *
 * Returns    OK | ABSENT (no such file, or nothing to look up in it) | DENIED | UNSUPPORTED
 *            (neither an index of this version nor an ELF or Mach-O; more than 4 GiB of code) |
 *            CORRUPT | LIMIT | MEMORY | OS | USAGE
 * Context    any thread; not handler
 * Blocks     reads files; about a second per some hundred MB of debug information
 * Ownership  the caller's: sonde_index_close()
 * Example    examples/index_lookup.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_index_open(const char *path, uint32_t threads,
                                                             struct sonde_index **ret_index,
                                                             struct sonde_error *ret_error);

/* Open the index for a build-id: the first one found of FOLDER/ID.sndidx,
 * FOLDER/.build-id/xx/rest.debug and FOLDER/NAME.dSYM in each of the folders, the user's cache of
 * the `sonde` program, and the same in /usr/lib/debug. Files with another build-id are skipped.
 *
 * build_id      of `size_bytes`, 1 to SONDE_BUILD_ID_MAX (image.h); for Mach-O its UUID
 * folders       `folder_count` paths; may be null if 0
 *
 * Returns    OK | ABSENT (none found) | what sonde_index_open() returns for a debug file
 * Context    any thread; not handler      Blocks  as sonde_index_open()
 * Ownership  the caller's: sonde_index_close()
 * Example    examples/index_lookup.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_index_open_build_id(const uint8_t *build_id, uint32_t size_bytes, const char *const *folders,
                          uint32_t folder_count, uint32_t threads, struct sonde_index **ret_index,
                          struct sonde_error *ret_error);

/* index  may be null
 *
 * Context    any thread, while no other one uses the index; not handler      Blocks  no
 * Ownership  frees the index and every string that it gave
 * Example    examples/index_lookup.c */
SONDE_API void sonde_index_close(struct sonde_index *index);

struct sonde_index_info {
    size_t struct_bytes;   /* sizeof(struct sonde_index_info) */
    uint64_t first_offset; /* image offset of the first covered byte */
    uint64_t code_bytes;   /* size of the covered range */
    uint32_t arch;         /* enum sonde_arch */
    uint32_t names, files; /* the largest ids; the smallest is 1 */
    uint32_t units;        /* of debug information; 0: built from symbols only */
    uint32_t bad_units;    /* units that could not be read completely */
    uint8_t build_id_size; /* bytes; 0: it has none */
    uint8_t build_id[32];
};

/* Returns    OK | USAGE
 * Context    any thread; not handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/index_lookup.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_index_info(const struct sonde_index *index,
                                                             struct sonde_index_info *ret_info);

struct sonde_index_bad_unit {
    size_t struct_bytes; /* sizeof(struct sonde_index_bad_unit) */
    uint64_t offset;     /* in .debug_info */
    const char *name;    /* its source file; "" if that could not be read */
    const char *what;    /* what is wrong with it */
};

/* Get a unit that could not be read completely. The readable part is in the index.
 *
 * i  0 to sonde_index_info.bad_units - 1
 *
 * Returns    OK | ABSENT (no such) | USAGE
 * Context    any thread; not handler      Blocks  no      Ownership  the strings are the index's
 * Example    examples/index_lookup.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_index_bad_unit(const struct sonde_index *index, uint32_t i,
                     struct sonde_index_bad_unit *ret_unit);

/* One call at an address. Ids count from 1; 0: unknown. */
struct sonde_index_frame {
    uint32_t name; /* of the function: sonde_index_name() */
    uint32_t file; /* sonde_index_file() */
    uint32_t line; /* in it; 0: unknown */
};

/* Outer calls of longer inline chains are lost; large programs have chains of up to 50. */
#define SONDE_INDEX_FRAMES_MAX 256u

/* Look up the calls at one address. Allocates nothing, takes no lock.
 *
 * image_offset  see above
 * frames        the caller's array of `max`: innermost first, each but the last inlined into the
 *               next one
 * ret_count     how many of them were filled
 *
 * Returns    OK | ABSENT (nothing is known) | LIMIT (outer frames did not fit; `frames` is full) |
 *            USAGE
 * Context    any thread, any number at a time; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/index_lookup.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_index_lookup(const struct sonde_index *index,
                                                               uint64_t image_offset,
                                                               struct sonde_index_frame *frames,
                                                               size_t max, size_t *ret_count);

/* Look up many addresses, in whatever order is fastest.
 *
 * image_offsets  `count` of them, in any order
 * frames         the caller's array of `max`; those of image_offsets[i] are
 *                frames[first[i]] to frames[first[i] + counts[i] - 1]; counts[i] is 0 where nothing
 *                is known
 * first, counts  the caller's arrays of `count`
 *
 * Returns    OK | LIMIT (`max` is too small: some have fewer frames, or none) | MEMORY | USAGE
 * Context    any thread, any number at a time; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/index_lookup.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_index_lookup_many(const struct sonde_index *index, const uint64_t *image_offsets,
                        size_t count, struct sonde_index_frame *frames, size_t max, uint32_t *first,
                        uint32_t *counts);

/* Get the string of an id: a function's linkage name (for sonde_name_demangle()) or else its plain
 * name; a file's path. Decoded on the first call; returns the same pointer each time.
 *
 * Returns    the string; "" for 0, an invalid id, or out of memory
 * Context    any thread; not handler      Blocks  on the index' lock, shortly
 * Ownership  the index'
 * Example    examples/index_lookup.c */
SONDE_API const char *sonde_index_name(struct sonde_index *index, uint32_t name);
SONDE_API const char *sonde_index_file(struct sonde_index *index, uint32_t file);

struct sonde_index_symbol {
    size_t struct_bytes;  /* sizeof(struct sonde_index_symbol) */
    uint64_t start;       /* image offset */
    uint32_t size_bytes;  /* of its code */
    uint32_t name;        /* id */
    uint32_t alias_count; /* further names of its start: sonde_index_alias() */
};

/* Find the symbol of the symbol table that covers an address.
 *
 * Returns    OK | ABSENT | USAGE
 * Context    any thread; not handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/index_lookup.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_index_symbol(const struct sonde_index *index, uint64_t image_offset,
                   struct sonde_index_symbol *ret_symbol);

/* Get a further name of the symbol that covers an address.
 *
 * i  0 to sonde_index_symbol.alias_count - 1
 *
 * Returns    the id of the name; 0: there is none
 * Context    any thread; not handler      Blocks  no
 * Example    examples/index_lookup.c */
SONDE_API uint32_t sonde_index_alias(const struct sonde_index *index, uint64_t image_offset,
                                     uint32_t i);

/* Find functions missing between two frames because they ended in a tail call.
 *
 * return_offset  return address in the caller, an image offset
 * inner_offset   the next inner frame, in the same image: its pc, or the byte before its return
 *                address
 * places         the caller's array of `max`: image offsets of the missing functions' jumps,
 *                innermost first; look them up as they are
 * ret_count      how many functions are missing, at most 32
 *
 * Returns    OK (exactly one chain of jumps connects the frames) | ABSENT (none is missing, or it
 *            is unknown) | AMBIGUOUS (frames are missing, and several chains connect them) | LIMIT
 * (`max` is too small; the innermost were filled) | USAGE
 * Context    any thread, any number at a time; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/index_lookup.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_index_tails(const struct sonde_index *index, uint64_t return_offset, uint64_t inner_offset,
                  uint64_t *places, size_t max, size_t *ret_count);

#ifdef __cplusplus
}
#endif

#endif
