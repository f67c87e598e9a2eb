// SPDX-License-Identifier: Apache-2.0
/* One thread for each kind of blocking call, all blocked at once. */
#ifndef TEST_BLOCKING_CALLS_H
#define TEST_BLOCKING_CALLS_H

#include <stdbool.h>
#include <stdint.h>

enum { CALLS_MAX = 40, TIMED_S = 4 /* duration of a timed call: more than the captures need */ };

struct call {
    const char *name; /* also the thread's */
    void (*block)(struct call *call);
    bool is_timed;      /* ends by itself after TIMED_S; else by release_calls() */
    int expected_errno; /* of its end, 0: success */
    int fds[2];
    int error; /* result: 0 or errno */
    int done;
    uint64_t tid;
    uint64_t began_ns, ended_ns;
};

extern struct call calls[];
extern const unsigned call_count;

/* Functions required in each stack, from the call outward: block, middle, outer. */
void middle(struct call *call);
void *outer(void *call);

void start_calls(void);
void release_calls(void);
/* Fails the test if a call ended early, or with another result than expected. */
void check_calls(void);

#endif
