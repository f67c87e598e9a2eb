// SPDX-License-Identifier: Apache-2.0
/* Index files: those that are there, and those that are made on the way of an image's debug
 * information: its own or a separate file's, compressed, with dwz's file and split files. Context:
 * any thread, one at a time. */
#ifndef SONDE_SYMFILE_INDEX_FILE_H
#define SONDE_SYMFILE_INDEX_FILE_H

#include "host_file.h"
#include "symfile_cache.h"
#include "symfile_kept.h"
#include "symfile_open.h"
#include "symindex.h"

/* How indexes are made on the way. */
struct sonde__symfile_making {
    bool keep;        /* take those that were kept (symfile_kept.h), and keep new ones */
    bool only_kept;   /* for the calls of an address none is made */
    unsigned threads; /* that read units; 0 is 1 */
    /* of larger debug files none is made for the calls of an address; 0: of any */
    uint64_t bytes_max;
    /* called before each unit, by the caller's thread: false ends it with LIMIT; or null */
    bool (*step)(void *ctx, uint64_t done, uint64_t total);
    void (*end)(void *ctx); /* after the last step; null if step is */
    void *ctx;
};

/* An index: mapped from a file, or made now from a program and kept in memory. */
struct sonde__symfile_index_file {
    struct sonde__symindex index;
    struct sonde__symindex_strings strings;
    struct sonde__host_file file; /* mapped; data is null when it was made */
    uint8_t *made;
    size_t size;
    bool separate;     /* made of a separate debug file */
    bool cut;          /* made of an ELF that ends before its section headers do */
    bool symbols_only; /* made without debug information that is there */
    bool encrypted;    /* made of a Mach-O whose code only the device can read */
};

/* What is done with a file that is no index. */
enum sonde__symfile_index_make {
    SONDE__SYMFILE_INDEX_NOT_MADE,        /* UNSUPPORTED */
    SONDE__SYMFILE_INDEX_MADE,            /* made of its debug information, and symbols */
    SONDE__SYMFILE_INDEX_MADE_OF_SYMBOLS, /* the same; of symbols only when the first is
                                             UNSUPPORTED; and taken and kept */
};

/* Which of the Mach-Os in a universal file. Both may be empty. */
struct sonde__symfile_index_wanted {
    struct sonde__build_id uuid;
    const char *arch; /* "arm64", ... */
};

/* Open the index file of that path, or make the index of the program or debug file there. The bytes
 * of the header tell which. The path of a dSYM bundle is that of the file in it.
 * options: where separate files are looked for, and how it is made (`making` is not null).
 * wanted: or null. Returns OK or why not; `ret_error` says more. Not to be copied. */
SONDE_NODISCARD enum sonde_status sonde__symfile_index_file_open(
    const struct sonde__symfile_options *options, const char *path,
    enum sonde__symfile_index_make make, const struct sonde__symfile_index_wanted *wanted,
    struct sonde__symfile_index_file *ret_index, struct sonde_error *ret_error);
void sonde__symfile_index_file_close(struct sonde__symfile_index_file *index);

/* An index file of that build-id, below root. False: there is none. */
bool symfile_index_file_map(const char *root, const char *path, const struct sonde__build_id *id,
                            struct sonde__symfile_index_file *ret_index);

/* The index of an image, kept or made of `pair`, whose debug part may be all zero: then it must
 * have been kept. False: it is not to be had. */
bool symfile_index_file_of(const struct sonde__symfile_options *options,
                           const struct sonde__build_id *id, const struct sonde__symfile_pair *pair,
                           struct sonde__symfile_index_file *ret_index);

#endif
