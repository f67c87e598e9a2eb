// SPDX-License-Identifier: Apache-2.0
/* The run loop of the main thread, watched: input that is handled too slowly, a timer, a nested
 * run, each with the stack, the step of the loop and its mode; and none for a loop that waits, or
 * for a nested run that turns. Before CoreFoundation is loaded, a status says that it is missing.
 * Other stalls, of a loaded machine, are not looked at. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonde/thread.h>
#include <sonde/watch.h>

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

/* --- CoreFoundation --- */

static struct {
    int32_t (*run)(const void *mode, double seconds, unsigned char after_source);
    void *(*get_main)(void);
    void *(*make_source)(const void *allocator, long order, void *context);
    void (*add_source)(void *loop, void *source, const void *mode);
    void (*signal)(void *source);
    void *(*make_timer)(const void *allocator, double due, double interval, unsigned long flags,
                        long order, void (*call)(void *timer, unsigned long unused, void *info),
                        void *context);
    void (*add_timer)(void *loop, void *timer, const void *mode);
    double (*now)(void);
    void *(*make_string)(const void *allocator, const char *text, uint32_t encoding);
    const void *const *common, *const *standard;
} cf;
static void *tracking;

static void *get(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    CHECK(found != NULL);
    return found;
}

static void load(void)
{
    CHECK(dlopen(getenv("SONDE_COREFOUNDATION"), RTLD_NOW) != NULL);
    *(void **)&cf.run = get("CFRunLoopRunInMode");
    *(void **)&cf.get_main = get("CFRunLoopGetMain");
    *(void **)&cf.make_source = get("CFRunLoopSourceCreate");
    *(void **)&cf.add_source = get("CFRunLoopAddSource");
    *(void **)&cf.signal = get("CFRunLoopSourceSignal");
    *(void **)&cf.make_timer = get("CFRunLoopTimerCreate");
    *(void **)&cf.add_timer = get("CFRunLoopAddTimer");
    *(void **)&cf.now = get("CFAbsoluteTimeGetCurrent");
    *(void **)&cf.make_string = get("CFStringCreateWithCString");
    cf.common = get("kCFRunLoopCommonModes");
    cf.standard = get("kCFRunLoopDefaultMode");
    tracking = cf.make_string(NULL, TRACKING, 0x08000100);
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

static void slow_input(void *info)
{
    (void)info;
    slow_input_inside();
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

static void add_source(void (*perform)(void *info))
{
    void *context[10] = {0};
    *(void (**)(void *)) & context[9] = perform;
    void *source = cf.make_source(NULL, 0, context);
    cf.add_source(cf.get_main(), source, *cf.common);
    cf.signal(source);
}

static void run_all(void)
{
    cf.run(*cf.standard, 0.1, 0);
    add_source(slow_input);
    cf.run(*cf.standard, 0.3, 0);
    cf.add_timer(cf.get_main(), cf.make_timer(NULL, cf.now() + 0.1, 0, 0, 0, slow_timer, NULL),
                 *cf.common);
    cf.run(*cf.standard, 1.0, 0);
    add_source(track);
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
    CHECK(!has("sleep_until", NULL) && !has("main ← start", NULL) && !has(" usleep+", NULL));
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
