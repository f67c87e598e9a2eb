// SPDX-License-Identifier: Apache-2.0
/* Mini debug information (.gnu_debugdata): a small ELF, compressed with xz, that distributions
 * leave in a stripped file for the names of functions that .dynsym does not have. As part of the
 * file it always matches. Context: any thread. */
#ifndef SONDE_SYMFILE_MINI_H
#define SONDE_SYMFILE_MINI_H

#include "host_scratch.h"
#include "image_elf.h"

struct symfile_mini {
    struct sonde__host_scratch scratch;
    struct sonde__elf elf;
};

/* False: there is none, it is malformed, or the library of its compression is not there. Ownership:
 * release with _close(), also for an all zero one. */
bool symfile_mini_open(const struct sonde__elf *own, struct symfile_mini *ret_mini);
void symfile_mini_close(struct symfile_mini *mini);

#endif
