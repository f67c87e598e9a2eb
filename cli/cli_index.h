// SPDX-License-Identifier: Apache-2.0
/* Index files for the verbs that make and use them. */
#ifndef SONDE_CLI_INDEX_H
#define SONDE_CLI_INDEX_H

#include "cli.h"
#include "host_file.h"
#include "symindex.h"

/* An index: mapped from a file, or made now from a program and kept in memory. */
struct sonde__cli_index {
    struct sonde__symindex index;
    struct sonde__symindex_strings strings;
    struct sonde__host_file file; /* mapped; data is null when it was made */
    uint8_t *made;
    size_t size;
    bool separate;     /* made of a separate debug file */
    bool symbols_only; /* made without debug information that is there */
    bool encrypted;    /* made of a Mach-O whose code only the device can read */
};

/* What is done with a file that is no index. */
enum sonde__cli_index_make {
    SONDE__CLI_INDEX_NOT_MADE,        /* UNSUPPORTED */
    SONDE__CLI_INDEX_MADE,            /* made of its debug information, and symbols */
    SONDE__CLI_INDEX_MADE_OF_SYMBOLS, /* the same; of symbols only when the first is UNSUPPORTED */
};

/* Which of the Mach-Os in a universal file, and where its dSYM bundle may be. All may be empty. */
struct sonde__cli_index_wanted {
    struct sonde__build_id uuid;
    const char *arch; /* "arm64", ... */
    const char *const *folders;
    unsigned folder_count;
};

/* Open the index file of that path, or make the index of the program or debug file there. The bytes
 * of the header tell which. The path of a dSYM bundle is that of the file in it. `wanted`: or null.
 * Returns OK or why not; `ret_error` says more. */
SONDE_NODISCARD enum sonde_status
sonde__cli_index_open(const char *path, enum sonde__cli_index_make make,
                      const struct sonde__cli_index_wanted *wanted,
                      struct sonde__cli_index *ret_index, struct sonde_error *ret_error);
void sonde__cli_index_close(struct sonde__cli_index *index);

/* The build-id as text; "" when there is none. And from lower-case digits, in pairs. */
enum { SONDE__CLI_BUILD_ID_TEXT = 2 * SONDE__BUILD_ID_MAX + 1 };
bool sonde__cli_build_id_parse(const char *text, struct sonde__build_id *ret_id);
void sonde__cli_build_id_text(const struct sonde__build_id *id, char *ret_text);

#endif
