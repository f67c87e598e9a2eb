// SPDX-License-Identifier: Apache-2.0
/* System calls that loaded objects make themselves, diverted to a stub (arch_raw_site.h). This is
 * the only part of the library that changes code, and only on request.
 *
 * A sweep looks at each new object once, except the C library and the loader (their calls are
 * reached through the functions they export) and our own. Code is changed only while no other
 * thread runs, so that none is between the replaced instructions. sonde__hook_stop() restores the
 * code; the stubs stay for threads that are inside. Context: as hook.h. */
#ifndef SONDE_HOOK_RAW_H
#define SONDE_HOOK_RAW_H

#include <stdbool.h>
#include <stdint.h>

#include "arch_raw_site.h"

struct sonde__hook_raw_options {
    /* Is a call with this number to be patched? One with an unknown number always is. */
    bool (*is_wanted)(uint32_t number);
    /* Is this the only thread of the process? */
    bool (*is_alone)(void);
    /* Told the result for the call at `vaddr` of `module` ("" is the main program). */
    void (*say)(const char *module, uint64_t vaddr, enum sonde__raw_result result);
    uint64_t stub; /* where struct sonde__raw_words goes on */
};

/* Call before sonde__hook_start(). Null, the default: no code is changed. */
void sonde__hook_set_raw_options(const struct sonde__hook_raw_options *options);

/* As text; null: it was patched. */
const char *sonde__hook_raw_text(uint32_t result);

#endif
