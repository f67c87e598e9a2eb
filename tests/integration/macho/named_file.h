// SPDX-License-Identifier: Apache-2.0
/* A Mach-O and the names that sonde finds in it, by both kinds of indexes. */
#ifndef SONDE_TEST_MACHO_NAMES_H
#define SONDE_TEST_MACHO_NAMES_H

#include "image_macho.h"
#include "symbol_index.h"
#include "symindex.h"
#include "symindex_convert.h"

struct named_file {
    uint8_t *bytes;
    struct sonde__macho macho;
    struct sonde__symbol_index *live; /* as of a loaded image */
    struct sonde__symindex_made made; /* as an index file */
    struct sonde__symindex index;
    struct sonde__symindex_strings strings;
};

void named_file_open(const char *path, struct named_file *ret_file);
void named_file_close(struct named_file *file);

/* The function's name in the index file; "": none. */
const char *named_file_indexed(struct named_file *file, uint64_t vaddr);

#endif
