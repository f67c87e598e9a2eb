// SPDX-License-Identifier: Apache-2.0
/* The system calls in the code of one image, with what has to be known to move instructions there.
 * Only in functions that call frame information describes: the rest may be data. Context: any
 * thread; sans I/O. */
#ifndef SONDE_HOOK_RAW_FIND_H
#define SONDE_HOOK_RAW_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image_cfi.h"

struct sonde__hook_raw_code { /* one executable segment */
    const uint8_t *bytes;
    uint64_t vaddr, size;
};

struct sonde__hook_raw_site {
    uint64_t vaddr;
    uint64_t function, function_end; /* its code, and the filling behind it */
    const uint8_t *code;             /* of the function */
    uint64_t targets;                /* as of sonde__arch_raw_plan() */
    bool is_certain;
};

/* is_wanted: null: all. ret_sites: sorted; release: sonde__mem_free(). False: out of memory. */
bool sonde__hook_raw_find(unsigned arch, const struct sonde__hook_raw_code *codes, uint32_t count,
                          const struct sonde__cfi *cfi, bool (*is_wanted)(uint32_t number),
                          struct sonde__hook_raw_site **ret_sites, size_t *ret_count);

#endif
