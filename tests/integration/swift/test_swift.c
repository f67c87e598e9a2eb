// SPDX-License-Identifier: Apache-2.0
/* The chain of Swift's async functions, on frames that clang makes from C. The fixture gives the
 * truth: the addresses of its functions. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <sonde/stack.h>

#include "fixture.h"
#include "test.h"

enum { DEPTH = 64, CHAIN = 8 };

struct seen {
    struct sonde_stack stack, plain;
    uint64_t pcs[DEPTH], async[CHAIN], plain_pcs[DEPTH];
    uint8_t how[DEPTH], plain_how[DEPTH];
    uint32_t room;
};

static struct seen seen[3];
static struct swift_task task = {.id = 4711};
static void (*on_observe)(int where);

/* Replaces the runtime's function: its answer for a thread that runs a task. */
__attribute__((visibility("default"))) void *swift_task_getCurrent(void);
void *swift_task_getCurrent(void)
{
    return &task;
}

void observe(int where)
{
    on_observe(where);
    __asm__ volatile(""); /* keeps a frame of its own, no tail call */
}

static void capture(int where)
{
    struct seen *s = &seen[where];
    sonde_stack_init(&s->stack, s->pcs, s->how, DEPTH, 0);
    sonde_stack_set_async(&s->stack, s->async, s->room);
    CHECK_OK(sonde_stack_capture(&s->stack, 0));
    sonde_stack_init(&s->plain, s->plain_pcs, s->plain_how, DEPTH, 0);
    CHECK_OK(sonde_stack_capture(&s->plain, 0));
}

static void run_with(void (*run)(void), void (*each)(int where), uint32_t room)
{
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < 3; i++) {
        memset(seen[i].async, 0xee, sizeof seen[i].async);
        seen[i].room = room;
    }
    on_observe = each;
    run();
}

/* Three continuations wait at `inner`, two at `middle_resume`, then one: always the same ones. */
TEST(chain_is_who_awaits)
{
    uint64_t expected[3];
    always_continuations(expected);
    run_with(always_run, capture, CHAIN);
    for (uint32_t where = 0; where < 3; where++) {
        const struct sonde_stack *stack = &seen[where].stack;
        CHECK_EQ(stack->async_met, 1);
        CHECK_EQ(stack->async_cut, 0);
        CHECK_EQ(stack->async_count, 3 - where);
        for (uint32_t i = 0; i < stack->async_count; i++) {
            CHECK_EQ(stack->async_pcs[i], expected[where + i]);
        }
        CHECK_EQ(stack->task_id, 4711);
    }
}

/* Both exist: the physical stack goes on to the executor, main and the process' entry. */
TEST(physical_stack_is_whole)
{
    uint64_t expected[3];
    always_continuations(expected);
    run_with(always_run, capture, CHAIN);
    for (uint32_t where = 0; where < 3; where++) {
        const struct sonde_stack *stack = &seen[where].stack, *plain = &seen[where].plain;
        CHECK_EQ(stack->end, SONDE_END_ROOT);
        CHECK(stack->count > 5);
        /* frame 0 is capture(), above it observe(), then the async function */
        CHECK_EQ(stack->async_at, 2);
        if (where > 0) {
            uint64_t start = expected[where - 1];
            CHECK(stack->pcs[2] > start && stack->pcs[2] < start + 256);
        }
        /* a capture of the physical stack alone reports that there is a chain */
        CHECK_EQ(plain->async_met, 1);
        CHECK_EQ(plain->async_cut, 1);
        CHECK_EQ(plain->async_count, 0);
        CHECK_EQ(plain->task_id, 4711);
        CHECK_EQ(plain->count, stack->count);
        CHECK(memcmp(plain->pcs + 1, stack->pcs + 1, (stack->count - 1) * sizeof *stack->pcs) == 0);
    }
}

TEST(chain_longer_than_the_buffer_is_cut)
{
    uint64_t expected[3];
    always_continuations(expected);
    run_with(always_run, capture, 2);
    CHECK_EQ(seen[0].stack.async_count, 2);
    CHECK_EQ(seen[0].stack.async_cut, 1);
    CHECK_EQ(seen[0].async[1], expected[1]);
    CHECK_EQ(seen[0].async[2], 0xeeeeeeeeeeeeeeee);
    CHECK_EQ(seen[1].stack.async_cut, 0);
}

/* Frames without the tag look like others: no chain, the usual physical stack. */
TEST(untagged_frames_are_plain_frames)
{
    run_with(never_run, capture, CHAIN);
    CHECK_EQ(seen[0].stack.async_met, 0);
    CHECK_EQ(seen[0].stack.async_at, SONDE_NO_FRAME);
    CHECK_EQ(seen[0].stack.task_id, 0);
    CHECK_EQ(seen[0].stack.end, SONDE_END_ROOT);
}

static void on_signal(int number, siginfo_t *info, void *ucontext)
{
    struct seen *s = &seen[0];
    (void)number, (void)info;
    sonde_stack_init(&s->stack, s->pcs, s->how, DEPTH, 0);
    sonde_stack_set_async(&s->stack, s->async, s->room);
    (void)!sonde_stack_capture_ucontext(&s->stack, ucontext, 0);
}

static void interrupt(int where)
{
    if (where == 0) {
        raise(SIGUSR1);
    }
}

TEST(chain_is_found_from_a_handler)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    uint64_t expected[3];
    always_continuations(expected);
    sigaction(SIGUSR1, &action, NULL);
    run_with(always_run, interrupt, CHAIN);
    CHECK_EQ(seen[0].stack.end, SONDE_END_ROOT);
    CHECK_EQ(seen[0].stack.async_count, 3);
    CHECK_EQ(seen[0].async[0], expected[0]);
    CHECK_EQ(seen[0].async[2], expected[2]);
}

struct raw_context {
    uint64_t parent, resume;
};

static struct raw_context *hostile;

static void return_from(int where)
{
    capture(where);
    /* the walk saw forged contexts; the real return needs true ones */
    uint64_t expected[3];
    always_continuations(expected);
    hostile->parent = 0;
    hostile->resume = expected[2];
}

static void run_hostile(void)
{
    always_run_chain((struct context *)hostile);
}

/* Contexts are the program's data. */
TEST(hostile_chains_end)
{
    uint64_t code[3], page = (uint64_t)sysconf(_SC_PAGESIZE);
    char *gone = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct raw_context own = {0};
    struct {
        uint64_t parent, resume;
        uint32_t count, met, cut;
    } cases[] = {
        {(uint64_t)(uintptr_t)&own, 0, CHAIN, 1, 1},        /* a ring */
        {1, 0, 1, 1, 0},                                    /* no address */
        {UINT64_MAX - 3, 0, 1, 1, 0},                       /* the very last bytes */
        {(uint64_t)(uintptr_t)gone + page - 8, 0, 1, 1, 0}, /* half is readable */
        {(uint64_t)(uintptr_t)gone, 0, 1, 1, 0},            /* then data as code */
        {0, (uint64_t)(uintptr_t)&own, 0, 0, 0},            /* data as code */
        {0, 12345, 0, 0, 0},
    };
    CHECK(gone != MAP_FAILED);
    memset(gone, 0x41, page);
    CHECK_OK(mprotect(gone + page, page, PROT_NONE));
    always_continuations(code);
    hostile = &own;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        own.parent = cases[i].parent;
        own.resume = cases[i].resume != 0 ? cases[i].resume : code[0];
        run_with(run_hostile, return_from, CHAIN);
        CHECK_EQ(seen[0].stack.async_count, cases[i].count);
        CHECK_EQ(seen[0].stack.async_met, cases[i].met);
        CHECK_EQ(seen[0].stack.async_cut, cases[i].cut);
        CHECK_EQ(seen[0].stack.end, SONDE_END_ROOT);
    }
    munmap(gone, 2 * page);
}

static void capture_part(int where)
{
    struct seen *s = &seen[where];
    uint32_t skip = where == 0 ? 3 : 0, depth = where == 0 ? DEPTH : 2;
    sonde_stack_init(&s->stack, s->pcs, s->how, depth, 0);
    sonde_stack_set_async(&s->stack, s->async, s->room);
    CHECK_OK(sonde_stack_capture(&s->stack, skip));
}

/* An async frame left out by skip or depth still leads to the chain. If the walk ended before it,
 * there is none. */
TEST(frames_left_out)
{
    run_with(always_run, capture_part, CHAIN);
    CHECK_EQ(seen[0].stack.async_met, 1);
    CHECK_EQ(seen[0].stack.async_count, 3);
    CHECK_EQ(seen[0].stack.async_at, SONDE_NO_FRAME);
    CHECK_EQ(seen[1].stack.end, SONDE_END_DEPTH);
    CHECK_EQ(seen[1].stack.async_met, 0);
}

#if defined(__x86_64__)
static struct {
    unsigned steps, chains, wrong_chains, broken;
    uint64_t broken_at[8];
    bool stop;
} stepped;

/* The trap flag traps after each instruction until the handler's return clears it. */
enum { TRAP_FLAG = 0x100 };

/* The awaiters of the function of `pc`: a pc outside the continuations is in `inner`. The context's
 * slot still has the previous function's context, which a wrong walk would use. */
static uint32_t expected_count(uint64_t pc, const uint64_t continuations[3])
{
    uint64_t size = continuations[1] - continuations[0]; /* adjacent and of equal size */
    for (uint32_t i = 0; i < 2; i++) {
        if (pc >= continuations[i] && pc - continuations[i] < size) {
            return 2 - i;
        }
    }
    return 3;
}

static void on_step(int number, siginfo_t *info, void *context)
{
    struct seen *s = &seen[0];
    ucontext_t *ucontext = context;
    uint64_t expected[3];
    (void)number, (void)info;
    if (stepped.stop) {
        ucontext->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
        return;
    }
    sonde_stack_init(&s->stack, s->pcs, s->how, DEPTH, 0);
    sonde_stack_set_async(&s->stack, s->async, CHAIN);
    (void)!sonde_stack_capture_ucontext(&s->stack, context, 0);
    always_continuations(expected);
    stepped.steps++;
    if (s->stack.async_met != 0) {
        uint32_t first = 3 - expected_count(s->stack.pcs[s->stack.async_at], expected);
        stepped.chains++;
        stepped.wrong_chains +=
            s->stack.async_count != 3 - first ||
            memcmp(s->async, expected + first, s->stack.async_count * sizeof *s->async) != 0;
    }
    if (s->stack.end != SONDE_END_ROOT && stepped.broken < 8) {
        stepped.broken_at[stepped.broken++] = s->pcs[0];
    }
}

static void nothing(int where)
{
    (void)where;
}

/* A sampler stops a program anywhere: between the instruction that tags the register and the one
 * that stores the context, too. No instant may give a chain that is not there. */
TEST(no_instant_shows_a_wrong_chain)
{
    static const uint8_t untag[] = {0x48, 0x0f, 0xba, 0xf5, 0x3c}; /* btrq $60, %rbp */
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    memset(&stepped, 0, sizeof stepped);
    on_observe = nothing;
    sigaction(SIGTRAP, &action, NULL);
    __asm__ volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" ::: "memory", "cc");
    always_run();
    stepped.stop = true;
    __asm__ volatile("nop\n nop");
    CHECK(stepped.steps > 50);
    CHECK(stepped.chains > 20);
    CHECK_EQ(stepped.wrong_chains, 0);
    /* Clang's CFI is wrong for one instruction of each epilogue: the frame pointer is back, and the
     * CFA is still said to follow it. */
    CHECK(stepped.broken <= 3);
    for (unsigned i = 0; i < stepped.broken; i++) {
        CHECK(memcmp((const void *)(uintptr_t)stepped.broken_at[i], untag, sizeof untag) == 0);
    }
}
#endif
