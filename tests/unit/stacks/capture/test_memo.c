// SPDX-License-Identifier: Apache-2.0
/* When a memo may be trusted (memo_check.h): random call trees, and stacks made to mislead it. */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "capture_memo.h"
#include "memo_check.h"
#include "test.h"

enum { DEPTH = MEMO_DEPTH, FIBER_BYTES = 64 * 1024, KINDS = 12 };

/* --- random trees of calls --- */

typedef int node_function(int depth);
static node_function *const nodes[KINDS];

static __attribute__((noinline)) int visit(int depth)
{
    int sum = 0;
    if (next_random(3) == 0) {
        check_here();
    }
    if (own->signals_left > 0 && next_random(40) == 0) {
        own->signals_left--;
        raise(SIGUSR1);
    }
    if (own->yields_left > 0 && own->fiber != NULL && next_random(10) == 0) {
        own->yields_left--;
        swapcontext(own->fiber, own->back);
    }
    if (own->escape != NULL && next_random(300) == 0) {
        longjmp(*own->escape, 1);
    }
    for (uint32_t i = 1 + next_random(2); depth > 0 && i > 0; i--) {
        sum += nodes[next_random(KINDS)](depth - 1);
    }
    if (depth == 0 || next_random(4) == 0) {
        check_here();
    }
    return sum;
}

#define NODE(name, ...)                                                                            \
    static __attribute__((noinline)) int name(int depth)                                           \
    {                                                                                              \
        volatile int kept = depth;                                                                 \
        __VA_ARGS__ return kept;                                                                   \
    }
#define FRAME(bytes)                                                                               \
    volatile char room[bytes];                                                                     \
    room[0] = 1;                                                                                   \
    kept += visit(depth) + room[0];

NODE(node_small, kept += visit(depth);)
NODE(node_16, FRAME(16))
NODE(node_48, FRAME(48))
NODE(node_same, FRAME(48) kept++;) /* another function with a frame of the same size */
NODE(node_200, FRAME(200))
NODE(node_3000, FRAME(3000))
/* the CFA is relative to the frame pointer */
NODE(node_alloca, volatile char *room = alloca(16 + 16 * next_random(20)); room[0] = 1;
     kept += visit(depth) + room[0];)
NODE(node_alloca_later, kept += visit(depth / 2);
     volatile char *room = alloca(1 + next_random(300)); room[0] = 1;
     kept += visit(depth / 2) + room[0];)
/* two calls: the same frame, another return address */
NODE(node_twice, kept += visit(depth / 2); kept += visit(depth / 2);)
/* many registers live across the call: callees save them */
static __attribute__((noinline)) int node_busy(int depth)
{
    uint32_t a = next_random(9), b = next_random(9), c = next_random(9), d = next_random(9),
             e = next_random(9), f = next_random(9);
    int sum = visit(depth);
    return sum + (int)(a + b * 2 + c * 3 + d * 5 + e * 7 + f * 11);
}
static int compare(const void *a, const void *b)
{
    if (*(const int *)a == 0 && *(const int *)b == 1) {
        visit(0);
    }
    return *(const int *)a - *(const int *)b;
}
NODE(node_libc, int numbers[] = {1, 0, 3}; qsort(numbers, 3, sizeof numbers[0], compare);
     kept += visit(depth);)
/* locals that need more alignment than the stack has */
NODE(
    node_aligned, volatile struct { char room[64]; } __attribute__((aligned(64))) big;
    big.room[0] = 1; kept += visit(depth) + big.room[0];)

static node_function *const nodes[KINDS] = {
    node_small,  node_16,           node_48,    node_same, node_200,  node_3000,
    node_alloca, node_alloca_later, node_twice, node_busy, node_libc, node_aligned,
};

static void on_signal(int signal, siginfo_t *info, void *ucontext)
{
    static __thread struct taken stacks[2];
    struct taken *table = &stacks[0], *memo = &stacks[1];
    (void)signal, (void)info;
    for (volatile int round = 0; round < 3; round++) {
        struct taken *taken = round == 0 ? table : memo;
        sonde__capture_memo_disable(round == 0);
        memset(taken->pcs, 0, sizeof taken->pcs);
        memset(taken->how, 0xee, sizeof taken->how);
        sonde_stack_init(&taken->stack, taken->pcs, taken->how, 400, 0);
        CHECK_OK(sonde_stack_capture_ucontext(&taken->stack, ucontext, 0));
        if (round > 0) {
            check_equal(table, memo);
        }
    }
    nodes[next_random(KINDS)](2);
}

static void set_handler(int flags)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER};
    action.sa_flags |= flags;
    sigaction(SIGUSR1, &action, NULL);
}

TEST(random_trees)
{
    CHECK_OK(sonde_stack_prepare());
    begin_state(1);
    for (int i = 0; i < shapes(); i++) {
        nodes[next_random(KINDS)]((int)next_random(9));
    }
    end_state();
}

TEST(random_trees_before_there_are_tables)
{
    begin_state(2);
    for (int i = 0; i < shapes() / 20; i++) {
        nodes[next_random(KINDS)]((int)next_random(9));
    }
    end_state();
}

TEST(random_trees_with_signals)
{
    CHECK_OK(sonde_stack_prepare());
    begin_state(3);
    set_handler(0);
    own->signals_left = shapes() < 1000 ? 600 : 3000;
    for (int i = 0; i < shapes() / 2; i++) {
        nodes[next_random(KINDS)]((int)next_random(9));
    }
    end_state();
}

static char *map_stack(size_t size)
{
    char *pages = mmap(NULL, size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    CHECK_OK(mprotect(pages + 4096, size, PROT_READ | PROT_WRITE));
    return pages + 4096;
}

static void *run_with_alternate_stack(void *pages)
{
    stack_t alternate = {.ss_sp = pages, .ss_size = 512 * 1024};
    begin_state(4);
    CHECK_OK(sigaltstack(&alternate, NULL));
    own->signals_left = shapes() < 1000 ? 400 : 2000;
    for (int i = 0; i < shapes() / 2; i++) {
        nodes[next_random(KINDS)]((int)next_random(9));
    }
    end_state();
    return NULL;
}

/* The stack lies below the main thread's, and above that of a thread mapped later. */
TEST(random_trees_with_signals_on_another_stack)
{
    char *stack = map_stack(2048 * 1024);
    char *pages = stack + 1024 * 1024;
    pthread_attr_t attr;
    pthread_t thread;
    CHECK_OK(sonde_stack_prepare());
    set_handler(SA_ONSTACK);
    run_with_alternate_stack(pages);
    CHECK_OK(pthread_attr_init(&attr));
    CHECK_OK(pthread_attr_setstack(&attr, stack, 1024 * 1024));
    CHECK_OK(pthread_create(&thread, &attr, run_with_alternate_stack, pages));
    CHECK_OK(pthread_join(thread, NULL));
    pthread_attr_destroy(&attr);
}

TEST(random_trees_left_by_longjmp)
{
    jmp_buf escape;
    volatile int left = 0;
    CHECK_OK(sonde_stack_prepare());
    begin_state(5);
    own->escape = &escape;
    for (volatile int i = 0; i < shapes(); i++) {
        if (setjmp(escape) == 0) {
            nodes[next_random(KINDS)]((int)next_random(9));
        } else {
            left++;
        }
    }
    CHECK(left > 20);
    end_state();
}

static void fiber_main(void)
{
    for (;;) {
        nodes[next_random(KINDS)]((int)next_random(6));
        own->yields_left = 0; /* the tree has ended: return for good */
        swapcontext(own->fiber, own->back);
        own->yields_left = 3;
    }
}

/* Stacks are switched, unmapped, and mapped again at another size. */
TEST(random_trees_on_coroutines)
{
    enum { FIBERS = 5 };
    ucontext_t fibers[FIBERS], back;
    char *stacks[FIBERS] = {NULL};
#ifdef SONDE_SANITIZED
    SKIP("a sanitizer does not follow stacks that are switched");
#endif
    CHECK_OK(sonde_stack_prepare());
    begin_state(6);
    for (int i = 0; i < shapes(); i++) {
        uint32_t k = next_random(FIBERS);
        if (stacks[k] == NULL || next_random(30) == 0) {
            size_t size = FIBER_BYTES * (1 + next_random(3));
            if (stacks[k] == NULL) {
                stacks[k] =
                    mmap(NULL, 4 * FIBER_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                CHECK(stacks[k] != MAP_FAILED);
            }
            CHECK_OK(mprotect(stacks[k], 4 * FIBER_BYTES, PROT_NONE));
            CHECK_OK(mprotect(stacks[k], size, PROT_READ | PROT_WRITE));
            CHECK_OK(getcontext(&fibers[k]));
            fibers[k].uc_stack.ss_sp = stacks[k];
            fibers[k].uc_stack.ss_size = size;
            makecontext(&fibers[k], fiber_main, 0);
        }
        own->fiber = &fibers[k];
        own->back = &back;
        own->yields_left = 3;
        CHECK_OK(swapcontext(&back, &fibers[k]));
        check_here();
    }
    end_state();
}

static void *run_trees(void *seed)
{
    begin_state((uint64_t)(uintptr_t)seed);
    for (int i = 0; i < 200; i++) {
        nodes[next_random(KINDS)]((int)next_random(8));
    }
    end_state();
    return NULL;
}

/* All threads share the switch of check_with(), so a comparison may get two captures of one kind.
 * Enough others get both kinds. */
TEST(random_trees_on_threads)
{
    enum { THREADS = 4, ROUNDS = 6 };
    CHECK_OK(sonde_stack_prepare());
    for (uintptr_t round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        for (uintptr_t i = 0; i < THREADS; i++) {
            CHECK_OK(pthread_create(&threads[i], NULL, run_trees, (void *)(round * 10 + i + 1)));
        }
        for (int i = 0; i < THREADS; i++) {
            CHECK_OK(pthread_join(threads[i], NULL));
        }
    }
}

/* --- what a memo must not believe --- */

static __attribute__((noinline)) void inner(int n)
{
    volatile char room[40];
    room[0] = (char)n;
    if (n == 0) {
        check_with(DEPTH, 0, 0);
    } else {
        inner(n - 1);
    }
    room[1] = room[0];
}

#define MIDDLE(name, number, inside)                                                               \
    static __attribute__((noinline)) void name(int n)                                              \
    {                                                                                              \
        volatile char room[72];                                                                    \
        room[0] = (char)(n + number);                                                              \
        inside(n);                                                                                 \
        room[1] = room[0];                                                                         \
    }
MIDDLE(middle_a, 1, inner)
MIDDLE(middle_b, 2, inner)

static __attribute__((noinline)) void outer_frames(int n, void (*middle)(int), int depth)
{
    volatile char room[24];
    room[0] = (char)n;
    if (n == 0) {
        middle(depth);
    } else {
        outer_frames(n - 1, middle, depth);
    }
    room[1] = room[0];
}

/* Only the frame in the middle changes. All frames inside and outside of it keep their places. */
TEST(one_frame_in_the_middle_is_another)
{
    CHECK_OK(sonde_stack_prepare());
    begin_state(7);
    for (int depth = 0; depth < 40; depth++) {
        void (*middles[])(int) = {middle_a, middle_b, middle_a};
        uint64_t seen[3] = {0};
        for (int i = 0; i < 3; i++) {
            outer_frames(20, middles[i], depth);
            seen[i] = own->memo.pcs[depth + 3]; /* take, check_with, inner (depth + 1 times) */
        }
        CHECK(seen[0] != seen[1]);
        CHECK_EQ(seen[0], seen[2]);
    }
    own->checks = 1000;
    end_state();
}

/* Runs inside a frame that only its frame pointer locates. */
typedef void inside_function(int depth);

/* Saves the frame pointer and uses the register for a number. */
static __attribute__((noinline)) void save_fp(int depth)
{
    volatile int sink = depth;
    int a = sink, b = sink + 1, c = sink + 2, d = sink + 3, e = sink + 4, f = sink + 5;
    inner(depth);
    sink = a * b * c * d * e * f;
}

static __attribute__((noinline)) void keep_fp(int depth)
{
    volatile char room[56];
    room[0] = 1;
    save_fp(depth);
    room[1] = room[0];
}

#define PADDED(name)                                                                               \
    static __attribute__((noinline)) void name(int n, int depth, inside_function *inside)          \
    {                                                                                              \
        volatile char *room = alloca((size_t)n);                                                   \
        room[0] = 1;                                                                               \
        inside(depth);                                                                             \
        room[1] = room[0];                                                                         \
    }
PADDED(padded)

/* pc and sp inside of padded() are the same for each n, but its caller's frame is elsewhere. An
 * unwritten word keeps its place. */
#define PAD(name, number)                                                                          \
    static __attribute__((noinline)) void name(int n, int depth, inside_function *inside)          \
    {                                                                                              \
        volatile char *room = alloca((size_t)n);                                                   \
        room[0] = number; /* so that the compiler does not merge them */                           \
        padded(512 - n, depth, inside);                                                            \
        room[1] = room[0];                                                                         \
    }
PAD(pad_a, 1)
PAD(pad_b, 2)

static void forget(void)
{
    struct sonde__memo *memo = sonde__capture_memo_enter();
    CHECK(memo != NULL);
    sonde__unwind_memo_reset(memo, 0, UINT64_MAX);
    sonde__capture_memo_leave(memo);
}

TEST(a_frame_pointer_is_another)
{
    static inside_function *const insides[] = {inner, save_fp, keep_fp};
    CHECK_OK(sonde_stack_prepare());
    begin_state(8);
    for (int depth = 0; depth < 12; depth++) {
        for (int n = 16; n < 512; n += 16) {
            for (unsigned i = 0; i < 3; i++) {
                pad_a(n, depth, insides[i]);
                pad_b(512 - n, depth, insides[i]);
                pad_a(n, depth, insides[i]);
                pad_a(n, depth, insides[(i + 1) % 3]);
                pad_b(512 - n, depth, insides[(i + 1) % 3]);
            }
            forget();
            pad_a(n, depth, save_fp);
            pad_b(512 - n, depth, save_fp);
        }
    }
    own->checks = 1000;
    end_state();
}

/* Frame pointers locate each frame, as in code that keeps them. */
static __attribute__((noinline)) void keep_all(int depth)
{
    volatile char *room = alloca(16);
    room[0] = (char)depth;
    if (depth > 0) {
        keep_all(depth - 1);
    } else {
        check_with(DEPTH, 0, 0);
    }
    room[1] = room[0];
}

/* One frame's frame pointer changes. However many frames are inside of it, they keep their
 * places. */
TEST(frames_with_frame_pointers)
{
    CHECK_OK(sonde_stack_prepare());
    begin_state(16);
    for (int depth = 0; depth < 24; depth++) {
        for (int n = 16; n < 512; n += 80) {
            pad_a(n, depth, keep_all);
            pad_b(512 - n, depth, keep_all);
            pad_a(n, depth, keep_all);
            pad_a(512 - n, depth, keep_all);
            padded(n, depth, keep_all);
        }
    }
    own->checks = 1000;
    end_state();
}

/* An inner frame saves the frame pointer, the stack changes in the middle, and an outer frame is
 * located by that pointer. */
TEST(a_frame_pointer_is_found_again_behind_a_change)
{
    CHECK_OK(sonde_stack_prepare());
    begin_state(12);
    for (int depth = 0; depth < 12; depth++) {
        for (int n = 16; n < 512; n += 48) {
            padded(n, depth, keep_fp);
            padded(n, depth, middle_a);
            padded(n, depth, middle_b);
            padded(n, depth, keep_fp);
        }
    }
    own->checks = 1000;
    end_state();
}

MIDDLE(middle_c, 3, keep_fp)
MIDDLE(middle_d, 4, keep_fp)

TEST(a_frame_in_the_middle_is_another_inside_of_a_frame_pointer)
{
    CHECK_OK(sonde_stack_prepare());
    begin_state(13);
    for (int depth = 0; depth < 12; depth++) {
        for (int i = 0; i < 4; i++) {
            padded(64, depth, middle_c);
            padded(64, depth, middle_d);
            outer_frames(5, i % 2 == 0 ? middle_c : middle_d, depth);
        }
    }
    own->checks = 1000;
    end_state();
}

static __attribute__((noinline)) void limited(int n)
{
    volatile char room[40];
    room[0] = (char)n;
    if (n == 0) {
        check_with(4, 0, 0);
        check_with(DEPTH, 0, 0);
        check_with(9, 3, 0);
        check_with(DEPTH, 0, 2);
    } else {
        limited(n - 1);
    }
    room[1] = room[0];
}

static __attribute__((noinline)) void big(int n)
{
    volatile char room[3000];
    room[0] = (char)n;
    inner(n);
    room[1] = room[0];
}

/* The memo's outer frames were not reached from its inner ones. */
TEST(frames_that_were_not_reached)
{
    CHECK_OK(sonde_stack_prepare());
    begin_state(14);
    for (int i = 0; i < 10; i++) {
        outer_frames(3, big, i);
        outer_frames(3, limited, 4 + i); /* the whole stack is inside of the former big frame */
        outer_frames(4, i % 2 == 0 ? limited : middle_b, 20);
    }
    own->checks = 1000;
    end_state();
}
