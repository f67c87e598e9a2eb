// SPDX-License-Identifier: Apache-2.0
/* System calls that loaded objects make themselves, led through ours (arch_raw_site.h): their code
 * is changed, as the only thing in this library that does so, and only where it was wished.
 *
 * Objects are looked at once, when a sweep meets them first, but for the C library and the loader,
 * whose calls are reached through the functions that they export, and ours. Only while no other
 * thread runs: none can be between the instructions that go. sonde__hook_stop() writes back what
 * was there; the code that was made stays, for whoever is in it. Context: as hook.h. */
#ifndef SONDE_HOOK_RAW_H
#define SONDE_HOOK_RAW_H

#include <stdbool.h>
#include <stdint.h>

#include "arch_raw_site.h"

struct sonde__hook_raw_options {
    /* Is a call of this number to be led? One whose number is not told always is. */
    bool (*is_wanted)(uint32_t number);
    /* Does no other thread run? */
    bool (*is_alone)(void);
    /* What became of the call at `vaddr` of `module` ("" is the main program). */
    void (*say)(const char *module, uint64_t vaddr, enum sonde__raw_result result);
    uint64_t stub; /* what struct sonde__raw_words leads to */
};

/* Before sonde__hook_start(). Null, as at first: no code is changed. */
void sonde__hook_lead_raw(const struct sonde__hook_raw_options *options);

/* For people; null: it is led. */
const char *sonde__hook_raw_text(uint32_t result);

#endif
