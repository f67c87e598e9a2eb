// SPDX-License-Identifier: Apache-2.0
/* System calls that an image makes without a function that could be hooked: its code, decoded from
 * the beginning of each function that call frame information describes, and between them.
 * Context: any thread. */
#ifndef SONDE_AUDIT_SYSCALLS_H
#define SONDE_AUDIT_SYSCALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "image_elf.h"

struct sonde__audit_syscall {
    uint64_t vaddr;
    bool is_code;  /* of a function that call frame information, or Go's table, describes; else it
                      may be data */
    bool is_known; /* the number */
    uint32_t number;
};

/* Code of more bytes is not looked at. */
#define SONDE__AUDIT_CODE_MAX ((uint64_t)512 << 20)

/* Calls `each` for each system call, by address. fast: decode only functions that may have one,
 * in a hundredth of the time; outside of known functions only a few instructions, so a number
 * may be unknown. False: not all of the code was looked at (too much, or no memory). */
bool sonde__audit_each_syscall(const struct sonde__elf *elf, bool fast,
                               void (*each)(void *ctx, const struct sonde__audit_syscall *call),
                               void *ctx);

#endif
