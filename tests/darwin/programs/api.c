// SPDX-License-Identifier: Apache-2.0
/* The public functions about threads, and nothing else of sonde: one thread, all in turn, all of
 * one moment, lists and names; then what can fail. */
#include <string.h>
#include <unistd.h>

#include <sonde/thread.h>

#include "workers.h"

enum { FRAMES = 100, ALL = WORKERS + 1, SIM_PATIENCE_US = 2000 };

static uint64_t pcs[FRAMES];
static uint8_t how[FRAMES];
static struct sonde_stack stack;
static struct sonde_captured captured = {.struct_bytes = sizeof captured};

static enum sonde_status capture(uint64_t tid)
{
    sonde_stack_init(&stack, pcs, how, FRAMES, 0);
    return sonde_thread_capture(tid, NULL, &stack, &captured);
}

/* --- captures --- */

__attribute__((noinline)) static void check_itself(void)
{
    uint64_t caller = (uint64_t)(uintptr_t)__builtin_return_address(0);
    sonde_stack_init(&stack, pcs, how, FRAMES, 0);
    CHECK(sonde_thread_capture(sonde_thread_self(), NULL, &stack, &captured) == SONDE_OK);
    CHECK(captured.by == SONDE_CAPTURED_SELF && stack.end == SONDE_END_ROOT);
    CHECK(pcs[0] - (uint64_t)(uintptr_t)check_itself < 400 && pcs[1] == caller);
}

static void check_others(void)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        CHECK(capture(workers[i].tid) == SONDE_OK && captured.status == SONDE_OK);
        CHECK(captured.by == SONDE_CAPTURED_STOP && captured.note[0] == '\0');
        CHECK(captured.syscall == -1 && is_right_at(i, &stack));
    }
    CHECK(capture(1) == SONDE_ABSENT && captured.status == SONDE_ABSENT && stack.count == 0);
    check_nothing_is_left();
}

/* The threads come in order: the main one, then the workers. */
static unsigned taken, right, by_stop;
static int take(void *ctx, const struct sonde_thread *thread, const struct sonde_stack *of,
                const struct sonde_captured *with)
{
    unsigned index = taken++ - 1;
    (void)ctx;
    CHECK(thread->is_main == (taken == 1) && thread->is_self == (taken == 1));
    CHECK(with->status == SONDE_OK && of->end == SONDE_END_ROOT);
    if (taken > 1 && index < WORKERS) {
        CHECK(thread->tid == workers[index].tid && strcmp(thread->name, "") == 0);
        CHECK(index < SPINNERS ? thread->state == SONDE_THREAD_RUNNING
                               : thread->state == SONDE_THREAD_BLOCKED);
        right += is_right_at(index, of);
        by_stop += with->by == SONDE_CAPTURED_STOP;
    } else {
        CHECK(with->by == SONDE_CAPTURED_SELF && thread->tid == sonde_thread_main());
    }
    return 0;
}

static void check_all(void)
{
    struct sonde_snapshot snapshot = {.struct_bytes = sizeof snapshot};
    sonde_stack_init(&stack, pcs, how, FRAMES, 0);
    for (unsigned round = 0; round < 20; round++) {
        taken = right = by_stop = 0;
        if (round % 2 == 0) {
            CHECK(sonde_threads_capture(NULL, &stack, take, NULL) == SONDE_OK);
        } else {
            CHECK(sonde_threads_snapshot(NULL, &stack, take, NULL, &snapshot) == SONDE_OK);
            CHECK(snapshot.consistent && snapshot.threads == ALL && snapshot.held == WORKERS);
            CHECK(snapshot.unread == 0 && snapshot.stop_ns > 0);
        }
        CHECK(taken == ALL && right == WORKERS && by_stop == WORKERS);
        check_nothing_is_left();
    }
}

/* --- lists and names --- */

static void *wait_named(void *argument)
{
    struct worker *worker = argument;
    worker->tid = sonde_thread_self();
    CHECK(pthread_setname_np("com.example.a queue with a lon\xc3\xbc name of bytes") == 0);
    worker->is_ready = 1;
    while (!worker->is_over) {
        usleep(100);
    }
    return NULL;
}

static void check_names(void)
{
    static const char name[] = "com.example.a queue with a lon"; /* the next byte begins a letter */
    struct sonde_thread threads[ALL + 1] = {{.struct_bytes = sizeof threads[0]}};
    struct worker named = {.tid = 0};
    uint32_t count = 0;
    uint64_t tid = 0;
    CHECK(pthread_create(&named.thread, NULL, wait_named, &named) == 0);
    while (!named.is_ready) {
        usleep(10);
    }
    CHECK(sonde_threads_list(threads, ALL + 1, &count) == SONDE_OK && count == ALL + 1);
    CHECK(threads[0].is_main && threads[0].is_self && threads[0].tid == sonde_thread_main());
    unsigned at = 1; /* numbers of threads may start again: it need not be the last one */
    while (at < ALL && threads[at].tid != named.tid) {
        at++;
    }
    CHECK(threads[at].tid == named.tid && strcmp(threads[at].name, name) == 0);
    CHECK(sonde_threads_list(threads, 1, &count) == SONDE_LIMIT && count == ALL + 1);
    CHECK(sonde_thread_find_name(name, &tid) == SONDE_OK && tid == named.tid);
    CHECK(sonde_thread_find_name("nobody", &tid) == SONDE_ABSENT);
    CHECK(sonde_thread_find_pthread(named.thread, &tid) == SONDE_OK && tid == named.tid);
    named.is_over = 1;
    pthread_join(named.thread, NULL);
    CHECK(sonde_thread_find_pthread(named.thread, &tid) == SONDE_ABSENT);
    check_nothing_is_left();
}

/* --- threads that capture each other: neither must stop while it has stopped the other --- */

#ifndef DUELS
#    define DUELS 300
#endif
static struct duel {
    uint64_t tid, other;
    unsigned captured;
} duels[2];
static unsigned duels_over;

static void *fight(void *argument)
{
    struct duel *duel = argument;
    uint64_t own_pcs[FRAMES];
    uint8_t own_how[FRAMES];
    struct sonde_stack own;
    __atomic_store_n(&duel->tid, sonde_thread_self(), __ATOMIC_SEQ_CST);
    while ((duel->other = __atomic_load_n(&duels[duel == duels].tid, __ATOMIC_SEQ_CST)) == 0) {
        usleep(10);
    }
    for (unsigned i = 0; i < DUELS; i++) {
        sonde_stack_init(&own, own_pcs, own_how, FRAMES, 0);
        duel->captured += sonde_thread_capture(duel->other, NULL, &own, NULL) == SONDE_OK;
    }
    /* neither ends while the other one, which may not even have begun, captures it */
    __atomic_fetch_add(&duels_over, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&duels_over, __ATOMIC_SEQ_CST) < 2) {
        usleep(10);
    }
    return NULL;
}

static void check_duel(void)
{
    pthread_t threads[2];
    for (unsigned i = 0; i < 2; i++) {
        CHECK(pthread_create(&threads[i], NULL, fight, &duels[i]) == 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        CHECK(duels[i].captured == DUELS);
    }
    check_nothing_is_left();
}

/* --- many threads: the calls of Mach grow as their number --- */

enum { MORE = 24, ROUNDS = 3 };
static volatile int are_over;

static void *wait_until_over(void *argument)
{
    while (!are_over) {
        usleep(1000);
    }
    return argument;
}

static int go_on(void *ctx, const struct sonde_thread *thread, const struct sonde_stack *of,
                 const struct sonde_captured *with)
{
    (void)ctx, (void)thread, (void)of, (void)with;
    return 0;
}

static uint64_t count_calls(unsigned which)
{
    uint64_t before = sim_calls, tid;
    uint32_t count = 0;
    sonde_stack_init(&stack, pcs, how, FRAMES, 0);
    switch (which) {
    case 0:
        CHECK(sonde_threads_list(NULL, 0, &count) == SONDE_LIMIT && count > WORKERS);
        break;
    case 1:
        CHECK(sonde_thread_find_name("nobody", &tid) == SONDE_ABSENT);
        break;
    case 2:
        CHECK(sonde_threads_capture(NULL, &stack, go_on, NULL) == SONDE_OK);
        break;
    default:
        CHECK(sonde_threads_snapshot(NULL, &stack, go_on, NULL, NULL) == SONDE_OK);
    }
    return sim_calls - before;
}

static void check_linear(void)
{
    /* a list that finds no room is made again */
    enum { WAYS = 4, EACH_LISTED = 6, EACH_CAPTURED = 24 };
    static pthread_t more[MORE * ROUNDS];
    uint64_t calls[ROUNDS + 1][WAYS];
    for (unsigned round = 0; round <= ROUNDS; round++) {
        for (unsigned way = 0; way < WAYS; way++) {
            calls[round][way] = count_calls(way);
            CHECK(calls[round][way] <=
                  (ALL + MORE * round) * (way == 1 ? EACH_LISTED : EACH_CAPTURED));
        }
        for (unsigned i = 0; i < MORE && round < ROUNDS; i++) {
            CHECK(pthread_create(&more[round * MORE + i], NULL, wait_until_over, NULL) == 0);
        }
    }
    printf("calls of Mach with %u and %u threads: list %u %u, name %u %u, captures %u %u, of one "
           "moment %u %u\n",
           ALL, ALL + MORE * ROUNDS, (unsigned)calls[0][0], (unsigned)calls[ROUNDS][0],
           (unsigned)calls[0][1], (unsigned)calls[ROUNDS][1], (unsigned)calls[0][2],
           (unsigned)calls[ROUNDS][2], (unsigned)calls[0][3], (unsigned)calls[ROUNDS][3]);
    are_over = 1;
    for (unsigned i = 0; i < MORE * ROUNDS; i++) {
        pthread_join(more[i], NULL);
    }
    check_nothing_is_left();
}

/* --- faults --- */

static unsigned failed;
static int count_failed(void *ctx, const struct sonde_thread *thread, const struct sonde_stack *of,
                        const struct sonde_captured *with)
{
    (void)ctx;
    CHECK(thread->is_self ? with->status == SONDE_OK
                          : with->status == SONDE_OS && of->count == 0 && with->note[0] != '\0');
    failed += with->status == SONDE_OS;
    return 0;
}

static void check_refused(kern_return_t *injected)
{
    struct sonde_snapshot snapshot = {.struct_bytes = sizeof snapshot};
    *injected = KERN_FAILURE;
    CHECK(capture(workers[0].tid) == SONDE_OS && stack.count == 0 && captured.note[0] != '\0');
    failed = 0;
    CHECK(sonde_threads_capture(NULL, &stack, count_failed, NULL) == SONDE_OK);
    CHECK(sonde_threads_snapshot(NULL, &stack, count_failed, NULL, &snapshot) == SONDE_OK);
    CHECK(failed == 2 * WORKERS && snapshot.unread == WORKERS && !snapshot.consistent);
    *injected = KERN_SUCCESS;
    check_nothing_is_left();
}

static void check_reads_fail(void)
{
    sim_reads_left = 0;
    CHECK(capture(workers[0].tid) == SONDE_OK && stack.end != SONDE_END_ROOT);
    CHECK(stack.count > 0 && stack.count <= 2);
    sim_reads_left = -1;
    check_nothing_is_left();
}

static void check_list_fails(void)
{
    uint32_t count = 77;
    sim_list_result = KERN_FAILURE;
    CHECK(sonde_threads_list(NULL, 0, &count) == SONDE_UNREADABLE && count == 77);
    CHECK(sonde_threads_capture(NULL, &stack, take, NULL) == SONDE_UNREADABLE);
    CHECK(sonde_threads_snapshot(NULL, &stack, take, NULL, NULL) != SONDE_OK);
    sim_list_result = KERN_SUCCESS;
    CHECK(capture(workers[0].tid) == SONDE_OK && stack.count > 0);
    sim_list_result = KERN_FAILURE;
    CHECK(sonde_thread_capture(workers[0].tid, NULL, &stack, &captured) == SONDE_OS);
    CHECK(stack.count == 0 && strstr(captured.note, "list the threads") != NULL);
    sim_list_result = KERN_SUCCESS;
    check_nothing_is_left();
}

/* Another thread unloads an image: its memory must stay until the walk is over. */
static volatile int is_asked, is_unloaded, was_unloaded_inside;

static void *unload(void *argument)
{
    while (!is_asked) {
        usleep(10);
    }
    sim_tell_image(1, 0);
    is_unloaded = 1;
    return argument;
}

static void wait_for_unload(void)
{
    sim_on_read = NULL;
    is_asked = 1;
    usleep(SIM_PATIENCE_US);
    was_unloaded_inside = is_unloaded;
}

static void check_unload(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, unload, NULL) == 0);
    sim_on_read = wait_for_unload;
    CHECK(capture(workers[0].tid) == SONDE_OK && is_right_at(0, &stack));
    CHECK(is_asked && !was_unloaded_inside);
    pthread_join(thread, NULL);
    CHECK(is_unloaded);
    CHECK(capture(workers[0].tid) == SONDE_OK && stack.count > 0);
    for (uint32_t i = 1; i < stack.count; i++) {
        CHECK((how[i] & SONDE_HOW_FOUND_MASK) != SONDE_FOUND_CFI);
    }
    sim_tell_image(1, 1);
    CHECK(capture(workers[0].tid) == SONDE_OK && is_right_at(0, &stack));
    check_nothing_is_left();
}

/* A thread ends after the kernel made the list. */
static void check_ended(void)
{
    uint64_t tid = workers[0].tid;
    sim_after_list = end_first_spinner;
    CHECK(capture(tid) == SONDE_ABSENT && captured.status == SONDE_ABSENT && stack.count == 0);
    sim_after_list = NULL;
    CHECK(capture(tid) == SONDE_ABSENT);
    check_nothing_is_left();
}

/* More images than the list has room for: the stack goes by frame pointers, and the note says why.
 */
static void check_lost_images(void)
{
    enum { MORE_THAN_FIT = 4200 };
    sim_tell_image(1, 0);
    for (unsigned i = 0; i < MORE_THAN_FIT; i++) {
        sim_tell_image(0, 1);
    }
    sim_tell_image(1, 1);
    CHECK(capture(workers[1].tid) == SONDE_OK && stack.count > 0);
    CHECK(stack.count == 1 || (how[1] & SONDE_HOW_FOUND_MASK) != SONDE_FOUND_CFI);
    CHECK(strstr(captured.note, "loaded images are not known") != NULL);
    CHECK(captured.note[0] > '0');
    check_nothing_is_left();
}

int main(void)
{
    start_workers();
    check_itself();
    check_others();
    check_all();
    check_names();
    check_duel();
    check_linear();
    check_refused(&sim_suspend_result);
    check_refused(&sim_state_result);
    check_reads_fail();
    check_list_fails();
    check_unload();
    check_ended();
    check_lost_images();
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
