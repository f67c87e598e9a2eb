// SPDX-License-Identifier: Apache-2.0
/* What watching the main run loop costs: "NAME VALUE UNIT" a line. bench_watch MODE: sonde's watch;
 * seed, the way of the article about QiStackFrameLogger, written anew from its idea; or none.
 *
 *     bench_watch MODE turns    CPU time of the main thread for a pass of the loop that finds
 * nothing to do: the least of some rounds bench_watch MODE wakes    wake-ups of other threads in a
 * second of a loop that turns, and of one that has been idle for three; and a stall of a second
 *
 * The article's way: an observer of the common modes notes each activity and signals a semaphore. A
 * thread waits for the semaphore, 50 ms at a time. Five waits in a row without a signal, in
 * BeforeSources or AfterWaiting, are a stall: it takes the main thread's stack once and appends it
 * to a file. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <mach/mach_init.h>
#include <mach/task.h>
#include <mach/thread_act.h>
#include <mach/vm_map.h>

#include <sonde/watch.h>

#include "../sim/foundation.h"
#include "loop.h"

/* as <dispatch/dispatch.h>, which includes classes of its own */
void *dispatch_semaphore_create(intptr_t value);
intptr_t dispatch_semaphore_signal(void *semaphore);
intptr_t dispatch_semaphore_wait(void *semaphore, uint64_t until);
uint64_t dispatch_time(uint64_t when, int64_t delta_ns);

/* of the simulated libSystem */
extern uint64_t sim_calls, sim_wakes;

enum { PASSES = 20000, ROUNDS = 5, WAIT_MS = 50, WAITS = 5, FRAMES = 50 };
#define STALL_NS     1000000000u
#define THRESHOLD_NS 250000000u

static const char *mode_name;
static unsigned samples, stalls;

/* --- the article's way --- */

@interface StallMonitor : NSObject {
  @public
    void *_changed;
    volatile unsigned long _activity;
    unsigned _timeouts;
    int _file;
}
- (void)observe;
- (void)monitor;
- (void)save;
@end

static void seed_activity(void *observer, unsigned long activity, void *info);

@implementation StallMonitor
- (void)observe
{
    void *(*create)(const void *, unsigned long, unsigned char, long,
                    void (*)(void *, unsigned long, void *), void *) = NULL;
    void (*add)(void *, void *, const void *) = NULL;
    *(void **)&create = dlsym(RTLD_DEFAULT, "CFRunLoopObserverCreate");
    *(void **)&add = dlsym(RTLD_DEFAULT, "CFRunLoopAddObserver");
    _changed = dispatch_semaphore_create(0);
    _file = open("/dev/null", O_WRONLY, 0);
    add(cf.get_main(), create(NULL, 0x0fffffffu, 1, 0, seed_activity, NULL), *cf.common);
}
- (void)monitor
{
    for (;;) {
        if (dispatch_semaphore_wait(_changed, dispatch_time(0, WAIT_MS * 1000000ll)) == 0) {
            _timeouts = 0;
        } else if (_activity == 4 || _activity == 64) { /* before sources, after waiting */
            if (++_timeouts == WAITS) {
                stalls++;
                [self save];
            }
        }
    }
}
/* The frame records of the main thread, which is the first of the list, through the kernel. */
- (void)save
{
    thread_act_array_t list;
    mach_msg_type_number_t count;
    uint64_t pcs[FRAMES], record[2] = {0, 0};
    unsigned depth = 0;
    vm_size_t got;
    if (task_threads(mach_task_self(), &list, &count) != KERN_SUCCESS ||
        thread_suspend(list[0]) != KERN_SUCCESS) {
        return;
    }
#if defined(__x86_64__)
    x86_thread_state64_t state;
    mach_msg_type_number_t words = x86_THREAD_STATE64_COUNT;
    (void)thread_get_state(list[0], x86_THREAD_STATE64, (thread_state_t)&state, &words);
    pcs[depth++] = state.__rip;
    record[0] = state.__rbp;
#else
    arm_thread_state64_t state;
    mach_msg_type_number_t words = ARM_THREAD_STATE64_COUNT;
    (void)thread_get_state(list[0], ARM_THREAD_STATE64, (thread_state_t)&state, &words);
    pcs[depth++] = arm_thread_state64_get_pc(state);
    record[0] = arm_thread_state64_get_fp(state);
#endif
    while (depth < FRAMES && record[0] != 0 &&
           vm_read_overwrite(mach_task_self(), record[0], sizeof record, (vm_address_t)record,
                             &got) == KERN_SUCCESS &&
           record[1] != 0) {
        pcs[depth++] = record[1];
    }
    (void)thread_resume(list[0]);
    samples++;
    (void)write(_file, pcs, depth * sizeof *pcs);
}
@end

static StallMonitor *monitor;

static void seed_activity(void *observer, unsigned long activity, void *info)
{
    (void)observer, (void)info;
    monitor->_activity = activity;
    dispatch_semaphore_signal(monitor->_changed);
}

static void *seed_run(void *unused)
{
    [monitor monitor];
    return unused;
}

static int start_seed(void)
{
    pthread_t thread;
    monitor = [[StallMonitor alloc] init];
    [monitor observe];
    return pthread_create(&thread, NULL, seed_run, NULL) == 0;
}

/* --- sonde --- */

static void on_stall(void *ctx, const struct sonde_stall *stall)
{
    const char *told = strstr(stall->text, "  samples   ");
    (void)ctx;
    stalls++;
    samples += told != NULL ? (unsigned)strtoul(told + strlen("  samples   "), NULL, 10) : 0;
}

static struct sonde_watch *watch;
static int start_sonde(void)
{
    const struct sonde_watch_options options = {
        .struct_bytes = sizeof options, .threshold_ns = THRESHOLD_NS, .on_stall = on_stall};
    return sonde_watch_start(&options, &watch, NULL) == SONDE_OK &&
           sonde_watch_run_loop(NULL) == SONDE_OK;
}

/* --- what is measured --- */

static void nothing(void *timer, unsigned long unused, void *info)
{
    (void)timer, (void)unused, (void)info;
}

static volatile uint64_t sum;
static void stall(void *info)
{
    uint64_t end = clock_gettime_nsec_np(CLOCK_UPTIME_RAW) + STALL_NS;
    (void)info;
    while (clock_gettime_nsec_np(CLOCK_UPTIME_RAW) < end) {
        sum++;
    }
}

static void measure_turns(void)
{
    uint64_t least = UINT64_MAX;
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t before = clock_gettime_nsec_np(CLOCK_THREAD_CPUTIME_ID);
        for (unsigned i = 0; i < PASSES; i++) {
            cf.run(*cf.standard, 0, 0);
        }
        uint64_t taken = clock_gettime_nsec_np(CLOCK_THREAD_CPUTIME_ID) - before;
        least = taken < least ? taken : least;
    }
    printf("%s.pass %lu ns\n", mode_name, (unsigned long)(least / PASSES));
}

/* Counts from outside, because a run of the loop that begins is a turn. */
static uint64_t idle_wakes;
static void *count_idle(void *unused)
{
    usleep(3000000);
    uint64_t before = sim_wakes;
    usleep(1000000);
    idle_wakes = sim_wakes - before;
    return unused;
}

static void measure_wakes(void)
{
    pthread_t counter;
    void *timer = cf.make_timer(NULL, cf.now() + 0.05, 0.05, 0, 0, nothing, NULL);
    void *turning = cf.make_string(NULL, "EventTrackingMode", UTF8);
    cf.add_timer(cf.get_main(), timer, turning);
    uint64_t before = sim_wakes;
    cf.run(turning, 1, 0);
    printf("%s.wakes_turning %lu /s\n", mode_name, (unsigned long)(sim_wakes - before));
    if (pthread_create(&counter, NULL, count_idle, NULL) == 0) {
        cf.run(*cf.standard, 4.2, 0);
        pthread_join(counter, NULL);
    }
    printf("%s.wakes_idle %lu /s\n", mode_name, (unsigned long)idle_wakes);
    samples = stalls = 0;
    before = sim_calls;
    add_input(stall);
    cf.run(*cf.standard, 1.5, 0);
    if (watch != NULL) {
        sonde_watch_stop(watch);
    }
    printf("%s.stall_samples %u samples\n", mode_name, samples);
    printf("%s.stall_calls %lu calls\n", mode_name, (unsigned long)(sim_calls - before));
}

int main(int argc, char **argv)
{
    mode_name = argc == 3 ? argv[1] : "";
    if (argc != 3 || !load_loop() || (strcmp(mode_name, "sonde") == 0 && !start_sonde()) ||
        (strcmp(mode_name, "seed") == 0 && !start_seed())) {
        printf("line: usage, or nothing to watch with\n");
        return 1;
    }
    if (strcmp(argv[2], "turns") == 0) {
        measure_turns();
    } else {
        measure_wakes();
    }
    return 0;
}
