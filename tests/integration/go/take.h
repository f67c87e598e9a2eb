// SPDX-License-Identifier: Apache-2.0
/* Snapshots of a process with goroutines, for main.go and host.c. */
#ifndef TAKE_H
#define TAKE_H

#include <stdint.h>

enum { TAKE_THREADS = 64, TAKE_FRAMES = 8 };

struct taken {
    int status; /* enum sonde_status */
    uint32_t held;
    uint32_t consistent;
    uint64_t pcs[TAKE_THREADS][TAKE_FRAMES]; /* of the held ones, zero-terminated */
};

void take(struct taken *ret_taken);

/* The action on SIGURG: the handler's address and its flags. */
struct action {
    uintptr_t handler;
    int flags;
};
struct action action_now(void);

#endif
