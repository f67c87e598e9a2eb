// SPDX-License-Identifier: Apache-2.0
/* Indexes of programs, and their agreement with llvm-symbolizer: at each address the same number of
 * frames, with the same file and line at every level, inlined calls included. Names are equal
 * modulo the aliases of the address. */
#ifndef SONDE_TEST_AGREE_H
#define SONDE_TEST_AGREE_H

#include "image_elf.h"
#include "symfile_dwarf.h"
#include "symfile_macho.h"
#include "symfile_open.h"
#include "symindex.h"
#include "symindex_convert.h"
#include "symindex_dwarf.h"

#define FRAMES_MAX 128

struct program {
    struct sonde__symfile_pair pair;
    struct sonde__elf elf;
    struct sonde__symfile_macho macho; /* where the file is one */
    struct sonde__symindex_made made;
    struct sonde__symindex index;
    struct sonde__symindex_strings strings;
    /* of an ELF: look-ups without an index */
    struct sonde__symfile_dwarf dwarf;
    struct sonde__symindex_dwarf *live; /* null: no debug information */
    uint64_t text_vaddr, text_size;
};

/* Make the index of a file. Fails the test if it cannot. */
void open_program(const char *path, struct program *p);
void close_program(struct program *p);

struct agreement {
    unsigned asked, known, same, same_names;
    unsigned live, live_same; /* known without the index; the same as in the index */
};

/* Ask both. given: the addresses, or null: `count` random ones of .text. `its_path`: the same
 * program in a form that llvm-symbolizer reads, or null. */
struct agreement compare(const char *path, const char *its_path, const uint64_t *given,
                         unsigned count);
/* Print how far both agree, and fail the test unless they nearly always do. */
void must_agree(const char *what, struct agreement a);

#endif
