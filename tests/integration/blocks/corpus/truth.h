// SPDX-License-Identifier: Apache-2.0
/* What the blocks of the corpus really hold.
 *
 * Truth is a line of captures by offset: a letter, the offset, and for data the size.
 *     s strong  b block  r byref  w weak  c C++ object that tells of itself
 *     u object that is not owned   d.SIZE data   p an address (`this`, a reference)
 * A byref is followed by what its variable holds, offsets from its start: r40(s40).
 * What is owned comes from the helpers, run on a fake block whose words are told apart: this is an
 * oracle for tests only, it runs code of the block. The rest is where known values are found; so a
 * value may be named that stands in padding by chance. */
#ifndef SONDE_CORPUS_TRUTH_H
#define SONDE_CORPUS_TRUTH_H

#include <stdbool.h>

struct shown {
    const char *name;
    const void *block; /* its heap copy where it has one */
    bool here;         /* it does not escape: on the stack, valid during the call only */
    const char *owned; /* truth by the helpers */
    const char *found; /* truth by known values */
};

/* Is called for each block of the corpus. */
extern void (*corpus_observer)(const struct shown *shown);

/* All parts that were compiled in. */
void corpus_run(void);
/* Give the heap copies back. Returns how many objects are not balanced then. */
unsigned corpus_end(void);

#endif
