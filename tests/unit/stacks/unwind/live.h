// SPDX-License-Identifier: Apache-2.0
/* The images of this process as a snapshot, and a walk from here, for tests of the unwinder. */
#ifndef SONDE_TEST_LIVE_H
#define SONDE_TEST_LIVE_H

#include "unwind_rules.h"
#include "unwind_walk.h"

enum live_mode { LIVE_TABLE, LIVE_IN_PLACE };

struct live {
    struct sonde__image_set set;
    struct sonde__image images[128];
    struct sonde__image_range ranges[256];
    void *tables[128];
    size_t table_sizes[128];
};

/* Read the images of this process; right until one is loaded or unloaded. */
void live_open(struct live *live, enum live_mode mode);
void live_close(struct live *live);

/* The registers of the caller at its return from here; the callee-saved ones are known. */
void live_regs_here(struct sonde__regs *ret_regs);
/* The registers that a signal handler was given. */
void live_regs_of_context(const void *ucontext, struct sonde__regs *ret_regs);

/* A walk from registers: plain loads on this thread's stack, the door elsewhere. */
struct sonde__walk live_walk(const struct live *live, const struct sonde__regs *regs);
/* The door: reads memory of this process by the kernel; ctx is not used. */
bool live_read(void *ctx, uint64_t address, void *ret_bytes, size_t size);

#endif
