// SPDX-License-Identifier: Apache-2.0
/* Captures with a memo against captures by the tables alone, of the same stack at the same moment:
 * every byte of the results is equal, whatever the memo held before. Other tests compare the tables
 * with other unwinders. */
#ifndef SONDE_TEST_MEMO_CHECK_H
#define SONDE_TEST_MEMO_CHECK_H

#include <setjmp.h>
#include <ucontext.h>

#include <sonde/stack.h>

enum { MEMO_DEPTH = 1024 };

struct taken {
    struct sonde_stack stack;
    uint64_t pcs[MEMO_DEPTH];
    uint8_t how[MEMO_DEPTH];
};

/* Data of a thread, also for handlers. */
struct state {
    uint64_t random;
    struct taken table, memo;
    uint64_t checks;
    jmp_buf *escape;
    ucontext_t *fiber, *back;
    int signals_left;
    int yields_left;
};
extern __thread struct state *own;

void begin_state(uint64_t seed);
void end_state(void);
uint32_t next_random(uint32_t below);

/* One capture of the caller, in arrays with a known filling. */
void take(struct taken *taken, uint32_t capacity, uint32_t outer, uint32_t skip);
void check_equal(const struct taken *a, const struct taken *b);
/* Capture by the tables, by the memo with its earlier contents, and once more. */
void check_with(uint32_t capacity, uint32_t outer, uint32_t skip);
/* The same, in arrays of a random size. */
void check_here(void);
/* How many stacks a test makes here. */
int shapes(void);

#endif
