// SPDX-License-Identifier: Apache-2.0
/* Finds the system calls in the code of one image, and what is needed to move the instructions
 * around them. Only functions with call frame information are searched: the rest may be data.
 * Context: any thread; sans I/O. */
#ifndef SONDE_HOOK_RAW_FIND_H
#define SONDE_HOOK_RAW_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image_cfi.h"

struct sonde__hook_raw_code { /* one segment */
    const uint8_t *bytes;
    uint64_t vaddr, size;
};

struct sonde__hook_raw_site {
    uint64_t vaddr;
    uint64_t function, function_end; /* its code, and the filling behind it */
    uint64_t near;                   /* an instruction of it, a few before the call */
    const uint8_t *code;             /* at `near` */
    bool is_decoded;                 /* all of it from the function on */
    uint64_t targets;                /* as of sonde__arch_raw_plan() */
    bool is_certain;
};

/* One loaded image. Any word of its data that could be an address of its code, and any address
 * that its code computes, counts as a branch target: a function without call frame information
 * may begin there. */
struct sonde__hook_raw_image {
    unsigned arch;
    uint64_t base; /* vaddrs are less than addresses by it */
    const struct sonde__hook_raw_code *codes, *datas;
    uint32_t code_count, data_count;
    const struct sonde__cfi *cfi;
};

/* is_wanted: null: all. ret_sites: sorted; release: sonde__mem_free(). False: out of memory. */
bool sonde__hook_raw_find(const struct sonde__hook_raw_image *image,
                          bool (*is_wanted)(uint32_t number),
                          struct sonde__hook_raw_site **ret_sites, size_t *ret_count);

#endif
