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
#include "workers.h"

enum { TOLD_MAX = 64, TEXT_MAX = 4096, ATTEMPTS = 6 };
#define THRESHOLD_NS 150000000u
#define STALL_NS     500000000u
#define DEFAULT      "kCFRunLoopDefaultMode"
#define TRACKING     "EventTrackingMode"

static char told[TOLD_MAX][TEXT_MAX];
static unsigned count;

static void on_stall(void *ctx, const struct sonde_stall *stall)
{
    (void)ctx;
    if (count < TOLD_MAX) {
        const char *others = strstr(stall->text, "\nthread ");
        size_t size = others != NULL ? (size_t)(others - stall->text) : stall->text_bytes;
        size = size < TEXT_MAX ? size : TEXT_MAX - 1;
        memcpy(told[count], stall->text, size);
        told[count][size] = '\0';
        __atomic_store_n(&count, count + 1, __ATOMIC_SEQ_CST);
    }
}

/* A stall with this function in the stack, told as of this step of the loop; both may be null. */
static int has(const char *function, const char *step)
{
    unsigned known = __atomic_load_n(&count, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < known; i++) {
        if (strstr(told[i], function) != NULL && (step == NULL || strstr(told[i], step) != NULL)) {
            return 1;
        }
    }
    return 0;
}

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
    uint64_t end = clock_gettime_nsec_np(CLOCK_UPTIME_RAW) + STALL_NS;
    while (clock_gettime_nsec_np(CLOCK_UPTIME_RAW) < end) {
        for (unsigned i = 0; i < 1000; i++) {
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
    return has("slow_input_inside", "loop was  before sources, mode " DEFAULT "\n") &&
           has("slow_timer_inside", "loop was  after waiting, mode " DEFAULT "\n") &&
           has("slow_tracking_inside", "loop was  after waiting, mode " TRACKING "\n") &&
           has("slow_after_inside", "loop was  after a nested run, mode " DEFAULT "\n");
}

static struct sonde_watch *start(void)
{
    const struct sonde_watch_options options = {
        .struct_bytes = sizeof options, .threshold_ns = THRESHOLD_NS, .on_stall = on_stall};
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
    for (unsigned i = 0; i < ATTEMPTS && !all_are_told(); i++) {
        run_all();
    }
    usleep(2 * STALL_NS / 1000); /* out of the loop: nobody waits for it */
    sonde_watch_stop(watch);
    CHECK(all_are_told());
    CHECK(has("slow_input_inside", "run loop of the main thread"));
    CHECK(has("slow_input_inside", "  worked for  queue mail  QoS user interactive\n"));
    CHECK(has("slow_timer_inside", "  worked for  QoS user interactive\n"));
    CHECK(sim_labels_while_running == 0);
    CHECK(!has("sleep_until", NULL) && !has("main ← start", NULL) && !has(" usleep+", NULL));
    CHECK(sim_handlers == 0); /* crash reporters keep theirs */
    CHECK(sim_port_references == 0 && sim_lists == 0 && sim_suspended == 0);
    for (unsigned i = 0; i < count && mistakes != 0; i++) {
        printf("%s\n", told[i]);
    }
    count = 0;
    cf.run(*cf.standard, 0.1, 0); /* the observers stay, without a watch */
    CHECK(count == 0);
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
