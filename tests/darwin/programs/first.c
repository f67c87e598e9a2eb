// SPDX-License-Identifier: Apache-2.0
/* No thread calls a function for the first time while it has suspended another one: its lazy
 * pointer would be bound then, for which dyld takes a lock that the suspended thread may have. (The
 * watch's thread that looks for names may do so meanwhile: nobody waits for it, also when the
 * stalled thread has that lock.) first WAY, in a process of its own, because only the first capture
 * shows it: `one` thread, `all` in turn, all of one `moment`, or the `watch`. */
#include <dispatch/dispatch.h>
#include <string.h>

#include <sonde/thread.h>
#include <sonde/watch.h>

#include "told.h"
#include "workers.h"

extern void (*sim_on_lazy_bind)(const char *name);
uint32_t sim_own_suspended(void);
void sim_hold_dyld(int is_held);

enum { FRAMES = 100, NAMES_MAX = 64 };
#define THRESHOLD_NS 100000000u
#define STALL_NS     400000000u

static const char *bound[NAMES_MAX]; /* not printed before the end: that binds, too */
static unsigned bound_count, binds;
static uint64_t pcs[FRAMES];
static uint8_t how[FRAMES];
static struct sonde_stack stack;
static struct sonde_captured captured = {.struct_bytes = sizeof captured};

static void see(const char *name)
{
    __atomic_fetch_add(&binds, 1, __ATOMIC_RELAXED);
    if (sim_own_suspended() != 0 && bound_count < NAMES_MAX) {
        bound[bound_count++] = name;
    }
}

static int take(void *ctx, const struct sonde_thread *thread, const struct sonde_stack *of,
                const struct sonde_captured *with)
{
    (void)ctx;
    CHECK(with->status == SONDE_OK && of->end == SONDE_END_ROOT && thread->tid != 0);
    return 0;
}

static volatile uint64_t sum;
static void spin(void *unused)
{
    struct stalling stalling = begin_stalling();
    (void)unused;
    sim_hold_dyld(1);
    while (told_now() - stalling.since_ns < STALL_NS) {
        sum++;
    }
    sim_hold_dyld(0);
    while (is_stalling(&stalling, STALL_NS)) {
        sum++;
    }
}

static void stall(void)
{
    const struct sonde_watch_options options = {.struct_bytes = sizeof options,
                                                .threshold_ns = THRESHOLD_NS,
                                                .on_stall = take_stall,
                                                .on_begin = take_begin};
    struct sonde_watch *watch = NULL;
    CHECK(sonde_watch_start(&options, &watch, NULL) == SONDE_OK);
    sonde_idle_leave();
    dispatch_sync_f(dispatch_queue_create("mail", NULL), NULL, spin);
    sonde_idle_enter();
    sonde_watch_stop(watch);
    CHECK(find_stall(0, "spin", "queue mail") != NULL);
}

int main(int argc, char **argv)
{
    const char *way = argc == 2 ? argv[1] : "";
    struct sonde_snapshot snapshot = {.struct_bytes = sizeof snapshot};
    start_workers();
    sonde_stack_init(&stack, pcs, how, FRAMES, 0);
    CHECK(sim_own_suspended() == 0); /* its pointer is bound: see() calls it */
    sim_on_lazy_bind = see;
    if (strcmp(way, "one") == 0) {
        CHECK(sonde_thread_capture(workers[0].tid, NULL, &stack, &captured) == SONDE_OK);
    } else if (strcmp(way, "all") == 0) {
        CHECK(sonde_threads_capture(NULL, &stack, take, NULL) == SONDE_OK);
    } else if (strcmp(way, "moment") == 0) {
        CHECK(sonde_threads_snapshot(NULL, &stack, take, NULL, &snapshot) == SONDE_OK);
    } else {
        stall();
    }
    sim_on_lazy_bind = NULL;
    CHECK(binds > 0);
    for (unsigned i = 0; i < bound_count; i++) {
        printf("%s is bound while a thread is suspended\n", bound[i]);
    }
    CHECK(bound_count == 0);
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
