// SPDX-License-Identifier: Apache-2.0
/* sonde_stack_capture() of the calling thread. Each function of the chain notes its return address
 * by the compiler's builtin. The stack must have exactly these, and end at a root, also when a memo
 * knows most of it. Compiler options select all kinds of frames that __unwind_info describes. */
#include <stdint.h>
#include <stdio.h>

#include <sonde/stack.h>

enum { CHAIN_MAX = 600, DEEP = 500 };

extern uint64_t sim_reads;

static uint64_t noted[CHAIN_MAX], pcs[CHAIN_MAX];
static uint8_t how[CHAIN_MAX];
static unsigned note_count, mistakes;
static volatile long zero;

#define NOTE() (noted[note_count++] = (uint64_t)(uintptr_t)__builtin_return_address(0))

/* Keep a function from being merged with its caller or ending in a tail call: it works after the
 * call. */
#define FUNCTION __attribute__((noinline)) static long

/* The stack from this function's caller on. */
__attribute__((noinline)) static void capture(const char *what)
{
    struct sonde_stack stack;
    uint64_t reads = sim_reads;
    NOTE();
    sonde_stack_init(&stack, pcs, how, CHAIN_MAX, 0);
    if (sonde_stack_capture(&stack, 1) != SONDE_OK) {
        mistakes++;
    }
    reads = sim_reads - reads;
    unsigned wrong = stack.count != note_count;
    for (unsigned i = 0; i < stack.count && i < note_count; i++) {
        wrong += pcs[i] != noted[note_count - 1 - i];
    }
    wrong += stack.end != SONDE_END_ROOT;
    printf("%s: %u frames, %u wanted, %u wrong, end %u, %lu reads\n", what, stack.count, note_count,
           wrong, (unsigned)stack.end, (unsigned long)reads);
    mistakes += wrong != 0 || reads > 1;
    note_count--;
}

FUNCTION small(long a)
{
    char x[40];
    NOTE();
    x[a & 31] = (char)a;
    capture("small frames");
    note_count--;
    return x[zero & 31] + a;
}

FUNCTION many(long a, long b, long c, long d, long e, long f)
{
    NOTE();
    long r = small(a) + b * c;
    note_count--;
    return r + a + b + c + d + e + f;
}

FUNCTION large(long a)
{
    volatile char x[70000];
    NOTE();
    x[a & 31] = (char)a;
    long r = many(a, 1, 2, 3, 4, 5);
    capture("a large frame");
    note_count--;
    return r + x[zero & 31];
}

FUNCTION dynamic(long a)
{
    volatile char x[a + 100];
    NOTE();
    x[a] = (char)a;
    long r = large(a);
    note_count--;
    return r + x[zero];
}

FUNCTION deep(long left)
{
    NOTE();
    if (left == 0) {
        capture("a deep stack");
        capture("the same again");
    }
    long r = left == 0 ? dynamic(3) : deep(left - 1) + 1;
    note_count--;
    return r;
}

__attribute__((noinline)) static void capture_all(void)
{
    NOTE();
    capture("main");
    deep(DEEP);
    dynamic(7);
    dynamic(9);
    note_count--;
}

int main(void)
{
    NOTE();
    capture_all();
#if !defined(WITHOUT_PREPARE)
    if (sonde_stack_prepare() != SONDE_OK) {
        mistakes++;
    }
#endif
    capture_all(); /* by the thread's memo */
    capture_all();
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
