// SPDX-License-Identifier: Apache-2.0
/* Mini debug information (.gnu_debugdata): a small ELF compressed with xz, which distributions
 * leave in stripped files for functions that .dynsym lacks. It is part of the file, so it always
 * matches. Context: any thread. */
#ifndef SONDE_SYMFILE_MINI_H
#define SONDE_SYMFILE_MINI_H

#include "host_scratch.h"
#include "image_elf.h"

struct symfile_mini {
    struct sonde__host_scratch scratch;
    struct sonde__elf elf;
};

/* False: none, malformed, or the decompressor is missing. Ownership: release with _close(), which
 * also accepts a zeroed one. */
bool symfile_mini_open(const struct sonde__elf *own, struct symfile_mini *ret_mini);
void symfile_mini_close(struct symfile_mini *mini);

#endif
