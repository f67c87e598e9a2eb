// SPDX-License-Identifier: Apache-2.0
/* Index files: existing ones, and ones made on demand from the debug information of an image or its
 * separate debug file, compressed, with dwz's file and split files. Context: any thread, one at a
 * time. */
#ifndef SONDE_SYMFILE_INDEX_FILE_H
#define SONDE_SYMFILE_INDEX_FILE_H

#include "host_file.h"
#include "symfile_cache.h"
#include "symfile_kept.h"
#include "symfile_open.h"
#include "symindex.h"

/* How indexes are made on demand. */
struct sonde__symfile_making {
    bool keep;        /* use kept indexes (symfile_kept.h) and keep new ones */
    bool only_kept;   /* do not make indexes for sonde__symfile_calls() */
    unsigned threads; /* threads that read units; 0 means 1 */
    /* for sonde__symfile_calls(), largest debug file to make one from; 0: no limit */
    uint64_t bytes_max;
    /* called by the caller's thread before each unit; false: stop with LIMIT; or null */
    bool (*step)(void *ctx, uint64_t done, uint64_t total);
    void (*end)(void *ctx); /* after the last step; null if step is */
    void *ctx;
};

/* An index: mapped from a file, or made in memory. */
struct sonde__symfile_index_file {
    struct sonde__symindex index;
    struct sonde__symindex_strings strings;
    struct sonde__host_file file; /* the mapping; data is null if it was made */
    uint8_t *made;
    size_t size;
    bool separate;     /* made from a separate debug file */
    bool cut;          /* made from a truncated ELF */
    bool symbols_only; /* made without the existing debug information */
    bool encrypted;    /* made from a Mach-O with encrypted code */
};

/* What to do with a file that is not an index. */
enum sonde__symfile_index_make {
    SONDE__SYMFILE_INDEX_NOT_MADE,        /* UNSUPPORTED */
    SONDE__SYMFILE_INDEX_MADE,            /* make one from its debug information and symbols */
    SONDE__SYMFILE_INDEX_MADE_OF_SYMBOLS, /* the same, else from symbols only; also used and kept */
};

/* Chooses a Mach-O in a universal file. Both may be empty. */
struct sonde__symfile_index_wanted {
    struct sonde__build_id uuid;
    const char *arch; /* "arm64", ... */
};

/* Open an index file, or make the index of a program, a debug file or a Breakpad symbol file; the
 * file's first bytes decide. For a dSYM bundle, its file is used. options: where to search for
 * separate files, and how to make the index (`making` is not null). wanted: may be null. Returns OK
 * or a failure described in `ret_error`. Must not be copied. */
SONDE_NODISCARD enum sonde_status sonde__symfile_index_file_open(
    const struct sonde__symfile_options *options, const char *path,
    enum sonde__symfile_index_make make, const struct sonde__symfile_index_wanted *wanted,
    struct sonde__symfile_index_file *ret_index, struct sonde_error *ret_error);
void sonde__symfile_index_file_close(struct sonde__symfile_index_file *index);

/* Make the index of an open ELF from its debug information and symbols; no index is kept. options:
 * as above. Returns as sonde__symindex_convert(). Ownership as above. */
SONDE_NODISCARD enum sonde_status sonde__symfile_index_make(
    const struct sonde__symfile_options *options, const struct sonde__symfile_pair *pair,
    struct sonde__symfile_index_file *ret_index, struct sonde_error *ret_error);

/* Complete an answer from an index: add the calls at `vaddr`, and the function if the answer has no
 * name. Strings live as long as the index. */
void sonde__symfile_index_calls(struct sonde__symfile_index_file *index, uint64_t vaddr,
                                struct sonde__answer *answer);

/* Map the index file at a path below root, if it has that build-id. False: none. */
bool symfile_index_file_map(const char *root, const char *path, const struct sonde__build_id *id,
                            struct sonde__symfile_index_file *ret_index);

/* The index of an image, kept or made from `pair`. If the debug part of `pair` is all zero, only a
 * kept one. False: none. */
bool symfile_index_file_of(const struct sonde__symfile_options *options,
                           const struct sonde__build_id *id, const struct sonde__symfile_pair *pair,
                           struct sonde__symfile_index_file *ret_index);

#endif
