// SPDX-License-Identifier: Apache-2.0
/* Index files: existing ones, and ones made on demand from an image's debug information: its own or
 * a separate file's, compressed, with dwz's file and split files. Context: any thread, one at a
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
    bool keep;        /* use kept indexes (symfile_kept.h), and keep new ones */
    bool only_kept;   /* make none for sonde__symfile_calls() */
    unsigned threads; /* that read units; 0 means 1 */
    /* make none of larger debug files for sonde__symfile_calls(); 0: no limit */
    uint64_t bytes_max;
    /* called before each unit, by the caller's thread: false ends it with LIMIT; or null */
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

/* What to do with a file that is no index. */
enum sonde__symfile_index_make {
    SONDE__SYMFILE_INDEX_NOT_MADE,        /* UNSUPPORTED */
    SONDE__SYMFILE_INDEX_MADE,            /* make one from its debug information and symbols */
    SONDE__SYMFILE_INDEX_MADE_OF_SYMBOLS, /* the same; of symbols only when the first is
                                             UNSUPPORTED; and taken and kept */
};

/* Which of the Mach-Os in a universal file. Both may be empty. */
struct sonde__symfile_index_wanted {
    struct sonde__build_id uuid;
    const char *arch; /* "arm64", ... */
};

/* Open the index file of that path, or make the index of the program or debug file there. The
 * header tells which it is. The path of a dSYM bundle means the file in it. options: where to
 * search for separate files, and how to make it (`making` is not null). wanted: or null. Returns OK
 * or why not; `ret_error` says more. Not to be copied. */
SONDE_NODISCARD enum sonde_status sonde__symfile_index_file_open(
    const struct sonde__symfile_options *options, const char *path,
    enum sonde__symfile_index_make make, const struct sonde__symfile_index_wanted *wanted,
    struct sonde__symfile_index_file *ret_index, struct sonde_error *ret_error);
void sonde__symfile_index_file_close(struct sonde__symfile_index_file *index);

/* Complete an answer from an index: the calls at `vaddr`, and the function unless the answer has
 * its name. The strings live as long as the index. */
void sonde__symfile_index_calls(struct sonde__symfile_index_file *index, uint64_t vaddr,
                                struct sonde__answer *answer);

/* An index file of that build-id, below root. False: there is none. */
bool symfile_index_file_map(const char *root, const char *path, const struct sonde__build_id *id,
                            struct sonde__symfile_index_file *ret_index);

/* The index of an image, kept or made from `pair`. If the debug part of `pair` is all zero, only a
 * kept one is used. False: there is none. */
bool symfile_index_file_of(const struct sonde__symfile_options *options,
                           const struct sonde__build_id *id, const struct sonde__symfile_pair *pair,
                           struct sonde__symfile_index_file *ret_index);

#endif
