// SPDX-License-Identifier: Apache-2.0
/* The run loop of the main thread, watched: input that is handled too slowly, a timer, a nested
 * run, each with the stack, the step of the loop and its mode; and none for a loop that waits, or
 * for a nested run that turns. Before CoreFoundation is loaded, a status says that it is missing.
 * Other stalls, of a loaded machine, are not looked at. */
#include <dispatch/dispatch.h>
#include <pthread/qos.h>
#include <string.h>
#include <unistd.h>

#include <sonde/thread.h>
#include <sonde/watch.h>

#include "loop.h"
#include "told.h"
#include "workers.h"

#define THRESHOLD_NS 150000000u
#define STALL_NS     500000000u
#define DEFAULT      "kCFRunLoopDefaultMode"
#define TRACKING     "EventTrackingMode"

static void *tracking;

static void load(void)
{
    CHECK(load_loop());
    tracking = cf.make_string(NULL, TRACKING, UTF8);
}

/* --- what the loop calls --- */

static volatile uint64_t sum;
static void spin(void)
{
    struct stalling stalling = begin_stalling();
    while (is_stalling(&stalling, STALL_NS)) {
        for (unsigned i = 0; i < 10000; i++) {
            sum += i;
        }
    }
}

#define HANDLER(name)                                                                              \
    __attribute__((noinline)) static void name##_inside(void)                                      \
    {                                                                                              \
        spin();                                                                                    \
        sum++;                                                                                     \
    }
HANDLER(slow_input)
HANDLER(slow_timer)
HANDLER(slow_tracking)
HANDLER(slow_after)

static void parse(void *unused)
{
    (void)unused;
    slow_input_inside();
    sum++;
}

static void slow_input(void *info)
{
    static dispatch_queue_t queue;
    (void)info;
    if (queue == NULL) {
        queue = dispatch_queue_create("mail", NULL);
    }
    dispatch_sync_f(queue, NULL, parse);
    sum++;
}

static void slow_timer(void *timer, unsigned long unused, void *info)
{
    (void)timer, (void)unused, (void)info;
    slow_timer_inside();
}

static void slow_tracking(void *timer, unsigned long unused, void *info)
{
    (void)timer, (void)unused, (void)info;
    slow_tracking_inside();
}

/* As a control that tracks a finger: it runs the loop in a mode of its own until the end. */
__attribute__((noinline)) static void track(void *info)
{
    cf.add_timer(cf.get_main(), cf.make_timer(NULL, cf.now() + 0.8, 0, 0, 0, slow_tracking, NULL),
                 tracking);
    CHECK(cf.run(tracking, 2.0, 0) != 0);
    slow_after_inside();
    (void)info;
}

static void run_all(void)
{
    cf.run(*cf.standard, 0.1, 0);
    add_input(slow_input);
    cf.run(*cf.standard, 0.3, 0);
    cf.add_timer(cf.get_main(), cf.make_timer(NULL, cf.now() + 0.1, 0, 0, 0, slow_timer, NULL),
                 *cf.common);
    cf.run(*cf.standard, 1.0, 0);
    add_input(track);
    cf.run(*cf.standard, 0.3, 0);
    cf.run(*cf.standard, 1.0, 0); /* and waits */
}

static int all_are_told(void)
{
    return find_stall(0, "slow_input_inside", "loop was  before sources, mode " DEFAULT "\n") &&
           find_stall(0, "slow_timer_inside", "loop was  after waiting, mode " DEFAULT "\n") &&
           find_stall(0, "slow_tracking_inside", "loop was  after waiting, mode " TRACKING "\n") &&
           find_stall(0, "slow_after_inside", "loop was  after a nested run, mode " DEFAULT "\n");
}

static struct sonde_watch *start(void)
{
    const struct sonde_watch_options options = {.struct_bytes = sizeof options,
                                                .threshold_ns = THRESHOLD_NS,
                                                .on_stall = take_stall,
                                                .on_begin = take_begin};
    struct sonde_watch *watch = NULL;
    CHECK(sonde_watch_start(&options, &watch, NULL) == SONDE_OK);
    return watch;
}

int main(void)
{
    struct sonde_error error = {0};
    CHECK(pthread_set_qos_class_self_np(QOS_CLASS_USER_INTERACTIVE, 0) == 0);
    struct sonde_watch *watch = start();
    CHECK(sonde_watch_run_loop(&error) == SONDE_UNSUPPORTED);
    CHECK(strstr(error.what, "CoreFoundation is not loaded") != NULL);
    CHECK(sonde_watch_run_loop(NULL) == SONDE_UNSUPPORTED);
    load();
    CHECK(sonde_watch_run_loop(&error) == SONDE_OK && sonde_watch_run_loop(NULL) == SONDE_OK);
    /* again: a watch that had no processor for long does not know what it missed */
    while (!all_are_told() && !is_too_late()) {
        run_all();
    }
    usleep(2 * STALL_NS / 1000); /* out of the loop: nobody waits for it */
    sonde_watch_stop(watch);
    CHECK(all_are_told());
    CHECK(find_stall(0, "slow_input_inside", "run loop of the main thread"));
    CHECK(find_stall(0, "slow_input_inside", "  worked for  queue mail  QoS user interactive\n"));
    CHECK(find_stall(0, "slow_timer_inside", "  worked for  QoS user interactive\n"));
    CHECK(sim_labels_while_running == 0);
    CHECK(!find_stall(0, "sleep_until", NULL) && !find_stall(0, "main ← start", NULL) &&
          !find_stall(0, " usleep+", NULL));
    CHECK(sim_handlers == 0); /* crash reporters keep theirs */
    CHECK(sim_port_references == 0 && sim_lists == 0 && sim_suspended == 0);
    for (unsigned i = 0; i < told_count && mistakes != 0; i++) {
        printf("%s\n", told[i].text);
    }
    told_count = 0;
    cf.run(*cf.standard, 0.1, 0); /* the observers stay, without a watch */
    CHECK(told_count == 0);
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
