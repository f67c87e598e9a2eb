// SPDX-License-Identifier: Apache-2.0
/* The recorder's counts and stacks against the calls that the test makes. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#if defined(__linux__)
#    include <ucontext.h>
#endif

#include <sonde/depot.h>
#include <sonde/stack.h>

#include "os.h"
#include "record.h"
#include "test.h"

/* SAME: a handler and the code that it interrupts record it with one stack. */
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

/* Prevents tail calls and the merging of equal functions. */
#define HERE(text) __asm__ volatile("# " text : : : "memory")

static void descend(unsigned path, unsigned level);

/* left() and right() differ in their return addresses. */
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

/* The path that a stack took. Frame 0 is descend at the last level; further out left or right
 * alternates with descend. */
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
    return 0;
}

/* Learn the two return addresses by descending on one side only. */
static void learn_sides(void)
{
    uint64_t *const at[] = {&at_right, &at_left};
    CHECK_EQ(sonde_stack_prepare(), SONDE_OK); /* without tables, memos are not used */
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
        return 0;
    }
    if (entry->label == SAME) {
        same += entry->count;
        return 0;
    }
    CHECK_EQ(entry->label, LABEL);
    counted[path_of(entry->stack)] += entry->count;
    return 0;
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

/* True under an emulator, which lacks process_vm_readv. */
static bool is_slow(void)
{
    return sonde__os_reader() == SONDE__OS_READER_PIPE;
}

/* Ends after all calls and enough interruptions by handlers, on a machine of any speed. */
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

/* Four threads make about 400,000 calls, and handlers interrupt the recorder. Every count is exact,
 * and each thread's path is one stack. */
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

/* One call site, whatever the compiler does with the loop around it. */
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

/* A stack deeper than the limit lacks frames in the middle. */
static void check_cut(uint32_t id, unsigned depth)
{
    uint64_t pcs[SONDE_DEPOT_DEPTH];
    uint8_t how[SONDE_DEPOT_DEPTH];
    static uint64_t outside; /* frames outside of the recursion */
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, SONDE_DEPOT_DEPTH, 0);
    CHECK_EQ(sonde_depot_stack(depot, id, &stack), SONDE_OK);
    outside = depth == 0 ? stack.count : outside;
    CHECK_EQ(stack.count + stack.lost_count, depth + outside);
    CHECK_EQ(stack.lost_at,
             stack.lost_count == 0 ? stack.count : SONDE_DEPOT_DEPTH - SONDE__RECORD_OUTER);
}

/* Depths around the limit: each is a stack of its own, with the same id each time, from the
 * thread's memo or from the table. */
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

/* Recursions of each depth up to 256, deep or shallow ones first. XOR gives two hash keys. */
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

/* Five functions call each other in every order: the same frames, each time in another order. */
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
            for (unsigned i = ORDER_OF; i > 1; i--) { /* digits of `which`: the order */
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

TEST(stacks_without_room_are_counted)
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

#if defined(__x86_64__) && defined(__linux__) && !defined(SONDE_SANITIZED)
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
