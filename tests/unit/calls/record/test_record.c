// SPDX-License-Identifier: Apache-2.0
/* Counts and stacks of the recorder against what the test itself knows that it called. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#include <sonde/depot.h>
#include <sonde/stack.h>

#include "os.h"
#include "record.h"
#include "test.h"

/* SAME: counted by a handler and by the code that it interrupts, of one and the same stack. */
enum { LEVELS = 8, PATHS = 1 << LEVELS, THREADS = 4, LABEL = 7, HANDLER_LABEL = 8, SAME = 9 };
enum { HANDLED_AT_LEAST = 11 };

#if defined(SONDE_EMULATED) /* a signal there costs as much as thousands of calls */
enum { CALLS = 40000, OFTEN_US = 2000 };
#elif defined(SONDE_SANITIZED)
enum { CALLS = 10000, OFTEN_US = 2000 };
#else
enum { CALLS = 100000, OFTEN_US = 100 };
#endif

static struct sonde_depot *depot;
static uint64_t at_left, at_right; /* return addresses of the two calls of descend() */

/* No tail call, and no two functions merged into one. */
#define HERE(text) __asm__ volatile("# " text : : : "memory")

static void descend(unsigned path, unsigned level);

/* The two ways down differ in their return addresses. */
__attribute__((noinline)) static void left(unsigned path, unsigned level)
{
    descend(path, level + 1);
    HERE("left");
}

__attribute__((noinline)) static void right(unsigned path, unsigned level)
{
    descend(path, level + 1);
    HERE("right");
}

__attribute__((noinline)) static void descend(unsigned path, unsigned level)
{
    if (level == LEVELS) {
        if (sonde_audit_record(depot, LABEL, 0) != SONDE_OK) {
            abort();
        }
    } else if ((path >> level & 1) != 0) {
        left(path, level);
    } else {
        right(path, level);
    }
    HERE("descend");
}

/* Which path did a stack take? Frame 0 is descend at the last level; above it left or right, and
 * descend, in turn. */
static unsigned path_of(uint32_t id)
{
    uint64_t pcs[SONDE_DEPOT_DEPTH];
    uint8_t how[SONDE_DEPOT_DEPTH];
    struct sonde_stack stack;
    unsigned path = 0;
    sonde_stack_init(&stack, pcs, how, SONDE_DEPOT_DEPTH, 0);
    CHECK_EQ(sonde_depot_stack(depot, id, &stack), SONDE_OK);
    CHECK_EQ(stack.end, SONDE_END_ROOT);
    CHECK(stack.count > 2 * LEVELS);
    for (unsigned level = 0; level < LEVELS; level++) {
        uint64_t pc = pcs[2 * (LEVELS - level) - 1];
        CHECK(pc == at_left || pc == at_right);
        path |= (unsigned)(pc == at_left) << level;
    }
    return path;
}

static int note_side(void *ctx, const struct sonde_audit_entry *entry)
{
    uint64_t pcs[SONDE_DEPOT_DEPTH];
    uint8_t how[SONDE_DEPOT_DEPTH];
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, SONDE_DEPOT_DEPTH, 0);
    CHECK_EQ(sonde_depot_stack(depot, entry->stack, &stack), SONDE_OK);
    *(uint64_t *)ctx = pcs[1];
    return 1;
}

/* Learn the two return addresses by going down one way only. */
static void learn_sides(void)
{
    uint64_t *const at[] = {&at_right, &at_left};
    CHECK_EQ(sonde_stack_prepare(), SONDE_OK); /* without tables no stack is remembered */
    for (unsigned side = 0; side < 2; side++) {
        CHECK_EQ(sonde_depot_create(0, &depot), SONDE_OK);
        descend(side != 0 ? PATHS - 1 : 0, 0);
        CHECK_EQ(sonde_audit_entries(depot, note_side, at[side]), SONDE_OK);
        sonde_depot_destroy(depot);
    }
    CHECK(at_left != at_right);
}

static uint64_t counted[PATHS], handled, same;
static unsigned entries;

static int add_entry(void *ctx, const struct sonde_audit_entry *entry)
{
    (void)ctx;
    entries++;
    if (entry->label == HANDLER_LABEL) {
        handled += entry->count;
        return 1;
    }
    if (entry->label == SAME) {
        same += entry->count;
        return 1;
    }
    CHECK_EQ(entry->label, LABEL);
    counted[path_of(entry->stack)] += entry->count;
    return 1;
}

static void read_all(void)
{
    entries = 0;
    handled = same = 0;
    memset(counted, 0, sizeof counted);
    CHECK_EQ(sonde_audit_entries(depot, add_entry, NULL), SONDE_OK);
}

static uint64_t called[THREADS][PATHS];
static _Atomic uint64_t handler_calls;

/* Under an emulator, by what it lacks. */
static bool is_slow(void)
{
    return sonde__os_reader() == SONDE__OS_READER_PIPE;
}

/* Ends when the calls are made and handlers have interrupted them, however fast the machine is. */
static void *call_many(void *arg)
{
    uint64_t *own = arg, state = (uint64_t)(own - called[0]) + 1;
    for (unsigned i = 0; i < (is_slow() ? CALLS / 20 : CALLS) || handler_calls < HANDLED_AT_LEAST;
         i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        unsigned path = (unsigned)(state >> 40) % PATHS;
        own[path]++;
        descend(path, 0);
    }
    return NULL;
}

static void on_tick(int number)
{
    (void)number;
    if (sonde_audit_record(depot, HANDLER_LABEL, 0) != SONDE_OK) {
        abort();
    }
    handler_calls++;
}

/* 400,000 calls or so of four threads, and handlers that interrupt the recorder: every count is
 * exact, and each thread's path is one stack. */
TEST_TIMEOUT(counts_and_stacks_are_exact, 120)
{
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, OFTEN_US}, {0, OFTEN_US}}, never = {{0, 0}, {0, 0}};
    pthread_t threads[THREADS];
    if (is_slow()) {
        often = (struct itimerval){{0, 5000}, {0, 5000}};
    }
    learn_sides();
    CHECK_EQ(sonde_depot_create(1 << 20, &depot), SONDE_OK);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, call_many, called[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    read_all();
    CHECK(handler_calls >= HANDLED_AT_LEAST);
    CHECK_EQ(handled, handler_calls);
    for (unsigned path = 0; path < PATHS; path++) {
        uint64_t expected = 0;
        for (unsigned i = 0; i < THREADS; i++) {
            expected += called[i][path];
        }
        CHECK_EQ(counted[path], expected);
    }
    struct sonde_depot_stat stat = {.struct_bytes = sizeof stat};
    CHECK_EQ(sonde_depot_stat(depot, &stat), SONDE_OK);
    CHECK_EQ(stat.lost, 0);
    CHECK_EQ(stat.dropped, 0);
    sonde_depot_destroy(depot);
}

TEST(a_path_is_one_entry)
{
    learn_sides();
    CHECK_EQ(sonde_depot_create(0, &depot), SONDE_OK);
    for (unsigned i = 0; i < 3 * PATHS; i++) {
        descend(i * 89 % PATHS, 0);
    }
    read_all();
    CHECK_EQ(entries, PATHS);
    for (unsigned path = 0; path < PATHS; path++) {
        CHECK_EQ(counted[path], 3);
    }
    sonde_depot_destroy(depot);
}

/* One call site, whatever becomes of the loop around it. */
static void go_down(unsigned depth, uint32_t *ret_id);
__attribute__((noinline)) static uint32_t id_at(unsigned depth)
{
    uint32_t id = 0;
    go_down(depth, &id);
    HERE("id_at");
    return id;
}

__attribute__((noinline)) static void go_down(unsigned depth, uint32_t *ret_id)
{
    if (depth == 0) {
        CHECK_EQ(sonde_depot_capture(depot, 0, ret_id), SONDE_OK);
    } else {
        go_down(depth - 1, ret_id);
    }
    HERE("go_down");
}

/* Of a stack that is deeper than what is kept, the frames in the middle are left out. */
static void check_cut(uint32_t id, unsigned depth)
{
    uint64_t pcs[SONDE_DEPOT_DEPTH];
    uint8_t how[SONDE_DEPOT_DEPTH];
    static uint64_t outside; /* frames of the stack but those of the recursion */
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, SONDE_DEPOT_DEPTH, 0);
    CHECK_EQ(sonde_depot_stack(depot, id, &stack), SONDE_OK);
    outside = depth == 0 ? stack.count : outside;
    CHECK_EQ(stack.count + stack.lost_count, depth + outside);
    CHECK_EQ(stack.lost_at,
             stack.lost_count == 0 ? stack.count : SONDE_DEPOT_DEPTH - SONDE__RECORD_OUTER);
}

/* Around the depth that is kept: each is a stack of its own, and the same each time, whether the
 * memo of the thread or the table told it. */
TEST(deep_stacks)
{
    enum { DEEP = 700 };
    static uint32_t ids[DEEP];
    CHECK_EQ(sonde_stack_prepare(), SONDE_OK);
    CHECK_EQ(sonde_depot_create(1 << 20, &depot), SONDE_OK);
    for (volatile unsigned round = 0; round < 2; round++) {
        for (unsigned depth = 0; depth < DEEP; depth += 1 + depth / 64) {
            uint32_t id = id_at(depth);
            CHECK(round == 0 || ids[depth] == id);
            check_cut(id, depth);
            for (unsigned other = 0; round == 0 && other < depth; other++) {
                CHECK(ids[other] != id);
            }
            ids[depth] = id;
        }
    }
    sonde_depot_destroy(depot);
}

/* A recursion of each depth up to 256, deep ones first or shallow ones first: XOR gives two keys.
 */
TEST(recursions)
{
    enum { DEEP = 256 };
    uint32_t ids[DEEP];
    CHECK_EQ(sonde_stack_prepare(), SONDE_OK);
    CHECK_EQ(sonde_depot_create(1 << 20, &depot), SONDE_OK);
    for (volatile unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < DEEP; i++) {
            unsigned depth = round == 0 ? i : DEEP - 1 - i;
            uint32_t id = id_at(depth);
            CHECK(round == 0 || ids[depth] == id);
            for (unsigned other = 0; round == 0 && other < depth; other++) {
                CHECK(ids[other] != id);
            }
            ids[depth] = id;
        }
    }
    sonde_depot_destroy(depot);
}

/* Five functions that call each other in every order: the same frames, always in another one. */
enum { ORDER_OF = 5, ORDERS = 120 };
static void call_next(const unsigned *order, unsigned left, uint32_t *ret_id);

#define STEP(name)                                                                                 \
    __attribute__((noinline)) static void name(const unsigned *order, unsigned left,               \
                                               uint32_t *ret_id)                                   \
    {                                                                                              \
        call_next(order, left, ret_id);                                                            \
        HERE(#name);                                                                               \
    }
STEP(step_a)
STEP(step_b)
STEP(step_c)
STEP(step_d)
STEP(step_e)

static void call_next(const unsigned *order, unsigned left, uint32_t *ret_id)
{
    static void (*const volatile steps_of[])(const unsigned *, unsigned,
                                             uint32_t *) = {step_a, step_b, step_c, step_d, step_e};
    if (left == 0) {
        CHECK_EQ(sonde_depot_capture(depot, 0, ret_id), SONDE_OK);
    } else {
        steps_of[*order](order + 1, left - 1, ret_id);
    }
    HERE("call_next");
}

TEST(each_order_of_calls_is_a_distinct_stack)
{
    uint32_t ids[ORDERS];
    CHECK_EQ(sonde_stack_prepare(), SONDE_OK);
    CHECK_EQ(sonde_depot_create(0, &depot), SONDE_OK);
    for (volatile unsigned round = 0; round < 3; round++) {
        for (unsigned k = 0; k < ORDERS; k++) {
            unsigned which = round == 1 ? ORDERS - 1 - k : k, left = which;
            unsigned order[ORDER_OF] = {0, 1, 2, 3, 4};
            uint32_t id = 0;
            for (unsigned i = ORDER_OF; i > 1; i--) { /* the digits of `which` say who is next */
                unsigned other = left % i, last = order[i - 1];
                left /= i;
                order[i - 1] = order[other];
                order[other] = last;
            }
            call_next(order, ORDER_OF, &id);
            CHECK(round == 0 || ids[which] == id);
            for (unsigned other = 0; round == 0 && other < which; other++) {
                CHECK(ids[other] != id);
            }
            ids[which] = id;
        }
    }
    sonde_depot_destroy(depot);
}

__attribute__((noinline)) static uint32_t capture_here(void)
{
    uint32_t id = 0;
    CHECK_EQ(sonde_depot_capture(depot, 0, &id), SONDE_OK);
    HERE("capture_here");
    return id;
}

__attribute__((noinline)) static uint32_t capture_there(void)
{
    uint32_t id = 0;
    CHECK_EQ(sonde_depot_capture(depot, 0, &id), SONDE_OK);
    HERE("capture_there");
    return id;
}

__attribute__((noinline)) static uint32_t below(unsigned depth, bool here)
{
    uint32_t id = depth > 0 ? below(depth - 1, here) : here ? capture_here() : capture_there();
    HERE("below");
    return id;
}

/* One call site, whoever asks. */
__attribute__((noinline)) static uint32_t go_below(unsigned depth, bool here)
{
    uint32_t id = below(depth, here);
    HERE("go_below");
    return id;
}

static void *capture_elsewhere(void *arg)
{
    (void)capture_here();
    return arg;
}

/* The stack of `id` is the one of this function's caller, and so many frames more. */
__attribute__((noinline)) static void check_is_here(uint32_t id, unsigned more)
{
    uint64_t pcs[SONDE_DEPOT_DEPTH], other[SONDE_DEPOT_DEPTH];
    uint8_t how[SONDE_DEPOT_DEPTH];
    struct sonde_stack stack, direct;
    sonde_stack_init(&stack, pcs, how, SONDE_DEPOT_DEPTH, 0);
    CHECK_EQ(sonde_depot_stack(depot, id, &stack), SONDE_OK);
    sonde_stack_init(&direct, other, how, SONDE_DEPOT_DEPTH, 0);
    CHECK_EQ(sonde_stack_capture(&direct, 2), SONDE_OK);
    CHECK_EQ(stack.count, direct.count + more + 1);
    CHECK(memcmp(pcs + more + 1, other, direct.count * sizeof *pcs) == 0);
    HERE("check_is_here");
}

/* Two depots in turn, in which the frames have other ids: the words that the memo keeps are those
 * of one of them. And two functions in turn, whose frames stand at the same place. */
TEST(depots_and_functions_in_turn)
{
    struct sonde_depot *both[2];
    pthread_t thread;
    CHECK_EQ(sonde_stack_prepare(), SONDE_OK);
    for (unsigned which = 0; which < 2; which++) {
        CHECK_EQ(sonde_depot_create(0, &both[which]), SONDE_OK);
    }
    depot = both[1];
    CHECK_EQ(pthread_create(&thread, NULL, capture_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    for (volatile unsigned round = 0; round < 200; round++) {
        unsigned depth = round * 11 % 20;
        depot = both[round / 7 % 2];
        uint32_t ids[4];
        for (volatile unsigned i = 0; i < 4; i++) {
            ids[i] = go_below(depth, i % 2 == 0);
            check_is_here(ids[i], depth + 3);
        }
        CHECK(ids[0] != ids[1]);
        CHECK(ids[0] == ids[2] && ids[1] == ids[3]);
    }
    sonde_depot_destroy(both[0]);
    sonde_depot_destroy(both[1]);
}

static pthread_barrier_t turn;

/* Captures in each of two depots, and says what it was there. */
static void *capture_in_both(void *ret_ids)
{
    for (volatile unsigned i = 0; i < 2; i++) { /* one call site */
        pthread_barrier_wait(&turn);
        ((uint32_t *)ret_ids)[i] = go_below(3, true);
        pthread_barrier_wait(&turn);
    }
    return NULL;
}

/* A depot at the place of one before: the words that another thread kept of that one are ids of
 * other stacks here. */
TEST(a_depot_where_another_was)
{
    const struct sonde_depot *before;
    uint64_t pcs[2][SONDE_DEPOT_DEPTH];
    uint8_t how[SONDE_DEPOT_DEPTH];
    uint32_t ids[2] = {0, 0};
    struct sonde_stack stacks[2];
    pthread_t thread;
    CHECK_EQ(sonde_stack_prepare(), SONDE_OK);
    CHECK_EQ(pthread_barrier_init(&turn, NULL, 2), 0);
    CHECK_EQ(pthread_create(&thread, NULL, capture_in_both, ids), 0);
    CHECK_EQ(sonde_depot_create(0, &depot), SONDE_OK);
    before = depot;
    for (unsigned i = 0; i < 2; i++) {
        if (i > 0) {
            sonde_depot_destroy(depot);
            CHECK_EQ(sonde_depot_create(0, &depot), SONDE_OK);
            if (depot != before) {
                SKIP("the system gave other memory");
            }
            for (unsigned depth = 0; depth < 40; depth++) {
                (void)go_below(depth, depth % 2 == 0);
            }
        }
        pthread_barrier_wait(&turn);
        pthread_barrier_wait(&turn);
        sonde_stack_init(&stacks[i], pcs[i], how, SONDE_DEPOT_DEPTH, 0);
        CHECK_EQ(sonde_depot_stack(depot, ids[i], &stacks[i]), SONDE_OK);
    }
    pthread_join(thread, NULL);
    CHECK_EQ(stacks[0].count, stacks[1].count);
    CHECK(memcmp(pcs[0], pcs[1], stacks[0].count * sizeof pcs[0][0]) == 0);
    sonde_depot_destroy(depot);
    pthread_barrier_destroy(&turn);
}

/* An image was unloaded: what the memo keeps of stacks with its code is not used any more. */
TEST(a_stack_that_was_closed)
{
    CHECK_EQ(sonde_stack_prepare(), SONDE_OK);
    CHECK_EQ(sonde_depot_create(0, &depot), SONDE_OK);
    uint32_t ids[4];
    for (volatile unsigned i = 0; i < 4; i++) {
        ids[i] = go_below(5, true);
        if (i == 1) {
            struct sonde__record *record = (struct sonde__record *)(void *)depot;
            uint64_t start = (uint64_t)(uintptr_t)&below; /* its code and what follows it */
            CHECK(sonde__depot_close(sonde__record_depot(record), start, start + 4096) > 5);
        }
    }
    CHECK(ids[0] == ids[1]);
    CHECK(ids[1] != ids[2]);
    CHECK(ids[2] == ids[3]);
    check_is_here(ids[3], 5 + 3);
    sonde_depot_destroy(depot);
}

/* A stack with frames left out at its inner end is the one of a caller. */
__attribute__((noinline)) static void skip_some(unsigned depth, uint32_t *ret_ids)
{
    if (depth > 0) {
        skip_some(depth - 1, ret_ids);
    } else {
        for (volatile uint32_t skip = 4; skip-- > 0;) { /* the shortest one first */
            CHECK_EQ(sonde_depot_capture(depot, skip, &ret_ids[skip]), SONDE_OK);
        }
    }
    HERE("skip_some");
}

TEST(skipped_frames)
{
    enum { ALL = 100 };
    uint64_t pcs[SONDE_DEPOT_DEPTH];
    uint8_t how[SONDE_DEPOT_DEPTH];
    uint32_t ids[4], none = 0;
    struct sonde_stack stack;
    CHECK_EQ(sonde_stack_prepare(), SONDE_OK);
    CHECK_EQ(sonde_depot_create(0, &depot), SONDE_OK);
    for (volatile unsigned round = 0; round < 3; round++) {
        uint32_t counts[4];
        uint64_t inner[4];
        skip_some(6, ids);
        for (unsigned skip = 0; skip < 4; skip++) {
            sonde_stack_init(&stack, pcs, how, SONDE_DEPOT_DEPTH, 0);
            CHECK_EQ(sonde_depot_stack(depot, ids[skip], &stack), SONDE_OK);
            counts[skip] = stack.count;
            inner[skip] = pcs[0];
            CHECK_EQ(counts[skip] + skip, counts[0]);
            CHECK(skip < 2 || inner[skip] == inner[1]); /* the recursion's call */
        }
        CHECK(inner[0] != inner[1]);
        CHECK_EQ(sonde_depot_capture(depot, ALL, &none), SONDE_OK); /* nothing is left */
        CHECK_EQ(sonde_depot_stack(depot, none, &stack), SONDE_OK);
        CHECK_EQ(stack.count, 0);
    }
    sonde_depot_destroy(depot);
}

TEST(images_without_room_are_counted)
{
    struct sonde_depot_stat stat = {.struct_bytes = sizeof stat};
    learn_sides();
    CHECK_EQ(sonde_depot_create(40, &depot), SONDE_OK);
    uint32_t ids = 0;
    CHECK_EQ(sonde_depot_capture(depot, 0, &ids), SONDE_OK);
    uint64_t kept = 0, refused = 0;
    for (unsigned depth = 0; depth < 60; depth++) {
        uint32_t id = 0;
        go_down(0, &id);
    }
    for (unsigned label = 0; label < 100; label++) {
        enum sonde_status status = sonde_audit_record(depot, label, 0);
        CHECK(status == SONDE_OK || status == SONDE_LIMIT);
        kept += status == SONDE_OK;
        refused += status == SONDE_LIMIT;
    }
    CHECK(kept > 0 && refused > 0);
    CHECK_EQ(sonde_depot_stat(depot, &stat), SONDE_OK);
    CHECK_EQ(stat.lost, refused);
    CHECK_EQ(stat.frames, 40);
    sonde_depot_destroy(depot);
}

TEST(wrong_use_is_an_error)
{
    uint32_t id;
    uint64_t pc;
    uint8_t how;
    struct sonde_stack stack;
    CHECK_EQ(sonde_depot_create(1u << 24, &depot), SONDE_USAGE);
    CHECK_EQ(sonde_depot_create(0, NULL), SONDE_USAGE);
    CHECK_EQ(sonde_depot_create(1000, &depot), SONDE_OK);
    CHECK_EQ(sonde_depot_capture(NULL, 0, &id), SONDE_USAGE);
    CHECK_EQ(sonde_depot_capture(depot, 0, NULL), SONDE_USAGE);
    CHECK_EQ(sonde_audit_record(depot, SONDE_AUDIT_LABELS, 0), SONDE_USAGE);
    sonde_stack_init(&stack, &pc, &how, 1, 0);
    CHECK_EQ(sonde_depot_stack(depot, 0, &stack), SONDE_ABSENT);
    CHECK_EQ(sonde_depot_stack(depot, 12345, &stack), SONDE_ABSENT);
    sonde_depot_destroy(depot);
    sonde_depot_destroy(NULL);
}

#if defined(__x86_64__) && !defined(SONDE_SANITIZED)
static uint64_t steps;
static bool is_over;

enum { TRAP_FLAG = 0x100, STEPPED = 3, SKIP_ALL = 1000 };

static void on_step(int number, siginfo_t *info, void *context)
{
    ucontext_t *ucontext = context;
    (void)number, (void)info;
    if (is_over) {
        ucontext->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
        return;
    }
    steps++;
    if (sonde_audit_record(depot, HANDLER_LABEL, 0) != SONDE_OK ||
        sonde_audit_record(depot, SAME, SKIP_ALL) != SONDE_OK) {
        abort();
    }
}

/* A handler records at every instruction of the recorder, the first call of a thread included. */
static void *step_through(void *arg)
{
    __asm__ volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" ::: "memory", "cc");
    for (unsigned i = 0; i < STEPPED; i++) {
        descend(i * 37 % PATHS, 0);
        if (sonde_audit_record(depot, SAME, SKIP_ALL) != SONDE_OK) {
            abort();
        }
    }
    is_over = true;
    __asm__ volatile("nop\n nop");
    return arg;
}

TEST_TIMEOUT(no_instruction_loses_a_count, 60)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    pthread_t thread;
    learn_sides();
    CHECK_EQ(sonde_depot_create(1 << 20, &depot), SONDE_OK);
    sigaction(SIGTRAP, &action, NULL);
    CHECK_EQ(pthread_create(&thread, NULL, step_through, NULL), 0);
    pthread_join(thread, NULL);
    read_all();
    CHECK(steps > 2000);
    CHECK_EQ(handled, steps);
    CHECK_EQ(same, steps + STEPPED);
    uint64_t sum = 0;
    for (unsigned path = 0; path < PATHS; path++) {
        sum += counted[path];
    }
    CHECK_EQ(sum, STEPPED);
    sonde_depot_destroy(depot);
}
#endif

static struct sonde__record *shared_record;

enum { STRANGERS = 100000 };
static pthread_barrier_t start_together;
static int strangers;

static void *count_as_stranger(void *from)
{
    const struct sonde__regs *regs = from;
    CHECK(sonde__record_call(shared_record, 3, sonde__record_stack(shared_record, regs, 0)));
    pthread_barrier_wait(&start_together);
    for (int i = 0; i < strangers; i++) {
        CHECK(sonde__record_stranger(shared_record, 3, regs));
    }
    return NULL;
}

/* Threads that cannot tell themselves apart count on one stack, and none is lost. */
TEST(strangers_count_together)
{
    struct sonde__regs regs = {.pc = (uint64_t)(uintptr_t)count_as_stranger + 4,
                               .arch = SONDE__ARCH_HOST};
    pthread_t threads[THREADS];
    struct sonde__record_entry entry;
    uint64_t sum = 0;
    CHECK_OK(sonde__record_open(1 << 10, &shared_record));
    pthread_barrier_init(&start_together, NULL, THREADS);
    strangers = is_slow() ? STRANGERS / 50 : STRANGERS;
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, count_as_stranger, &regs), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (uint32_t i = 0; i < sonde__record_numbers(shared_record); i++) {
        sum += sonde__record_entry(shared_record, i, &entry) && entry.label == 3 ? entry.count : 0;
    }
    CHECK_EQ(sum, (uint64_t)THREADS * ((uint64_t)strangers + 1));
    CHECK_EQ(sonde__record_lost(shared_record, 3), 0);
    sonde__record_close(shared_record);
    pthread_barrier_destroy(&start_together);
}
