// SPDX-License-Identifier: Apache-2.0
/* The corpus of blocks, built once for all tests, and its truth. */
#ifndef SONDE_TEST_CORPUS_H
#define SONDE_TEST_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The folder of a build of the corpus: corpus-F, a program, and libcorpus-F.so for each flavour F
 * of its runtime, as build.sh says, and each part's object file PART.o. parts: as of
 * corpus/build.sh, separated by blanks. Skips the test where clang-19 or the package is missing.
 * The string is static. */
const char *corpus_built(const char *level, const char *parts);
/* The parts that need nothing but clang. */
#define CORPUS_ALL "c cpp arc mrc objcxx"

enum { CORPUS_CAPTURES = 40 };

struct corpus_capture {
    char kind;       /* s b r w c u d p: corpus/truth.h */
    uint32_t offset; /* in the block, or in the byref */
    uint32_t size;   /* of data; else 0 */
    int32_t byref;   /* offset of the byref that it is in; -1: it is in the block */
};

struct corpus_block {
    char name[40];
    char where[8]; /* heap, global, here */
    uint32_t size;
    uint32_t count;
    struct corpus_capture captures[CORPUS_CAPTURES];
};

/* All lines of corpus/truth.txt. Static. */
const struct corpus_block *corpus_truth(size_t *ret_count);
/* One of them, or null. */
const struct corpus_block *corpus_find(const char *name);

/* A core of a program that waits, as gdb's gcore writes it. Skips the test where there is no gcore.
 * The string is static. */
const char *core_of_program(int pid);

#endif
