// SPDX-License-Identifier: Apache-2.0
/* Opens an ELF and the file with its debug information: the ELF itself, its separate debug file as
 * found by symfile_cache.h (build-id or CRC checked), or its mini debug information. Context: any
 * thread. */
#ifndef SONDE_SYMFILE_OPEN_H
#define SONDE_SYMFILE_OPEN_H

#include <sonde/status.h>

#include "host_file.h"
#include "image_elf.h"
#include "symfile_cache.h"
#include "symfile_mini.h"

struct sonde__symfile_pair {
    struct sonde__elf own;
    struct sonde__elf debug; /* equal to `own` if there is no other file */
    bool separate;           /* debug is another file */
    struct sonde__host_file own_file, debug_file;
    struct symfile_mini mini; /* if `debug` is the mini debug information: names only */
    char *own_path, *debug_path;
};

/* Does it have debug sections? */
bool symfile_has_debug_information(const struct sonde__elf *elf);

/* path: absolute. Returns OK | ABSENT | DENIED | UNSUPPORTED (no ELF) | CORRUPT | LIMIT | OS.
 * Ownership: release with _close(). */
SONDE_NODISCARD enum sonde_status sonde__symfile_open(const struct sonde__symfile_options *options,
                                                      const char *path,
                                                      struct sonde__symfile_pair *ret_pair,
                                                      struct sonde_error *ret_error);
void sonde__symfile_close(struct sonde__symfile_pair *pair);

#endif
