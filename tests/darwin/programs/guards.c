// SPDX-License-Identifier: Apache-2.0
/* What looks like a stall and is none: a debugger is attached, the app is in the background, the
 * process is suspended. Each beside a stall that is told, on the same loop. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/watch.h>

#include "loop.h"
#include "told.h"
#include "workers.h"

extern int sim_traced;

#define THRESHOLD_NS 150000000u
#define STALL_NS     500000000u
#define SUSPENDED_US 1500000u

static volatile uint64_t sum;
static void spin(void)
{
    struct stalling stalling = begin_stalling();
    while (is_stalling(&stalling, STALL_NS)) {
        sum++;
    }
}

static void spin_untold(void)
{
    uint64_t begin_ns = told_now();
    while (told_now() - begin_ns < STALL_NS) {
        sum++;
    }
}

/* A handler of input, with a name of its own in the stack. */
#define HANDLER(name, spin)                                                                        \
    __attribute__((noinline)) static void name##_inside(void)                                      \
    {                                                                                              \
        spin();                                                                                    \
        sum++;                                                                                     \
    }                                                                                              \
    static void name(void *info)                                                                   \
    {                                                                                              \
        (void)info;                                                                                \
        name##_inside();                                                                           \
        sum++;                                                                                     \
    }
HANDLER(in_foreground, spin)
HANDLER(debugged, spin_untold)
HANDLER(after_debugger, spin)
HANDLER(in_background, spin_untold)
HANDLER(back_again, spin)

__attribute__((noinline)) static void enter_inside(void)
{
    post_event("UIApplicationDidEnterBackgroundNotification");
    spin(); /* iOS ends an app that takes too long for it */
    sum++;
}

static void enter(void *info)
{
    (void)info;
    enter_inside();
    sum++;
}

/* The whole process is stopped, as iOS does it to an app in the background; another process lets it
 * go on, again and again, because it does not know when the stop comes. */
static void be_suspended(void *info)
{
    (void)info;
    CHECK(kill(getpid(), SIGSTOP) == 0);
}

static pid_t start_waker(void)
{
    pid_t parent = getpid(), child = fork();
    for (unsigned i = 0; child == 0 && i < 100; i++) {
        usleep(SUSPENDED_US);
        (void)kill(parent, SIGCONT);
    }
    if (child == 0) {
        _exit(0);
    }
    CHECK(child > 0);
    return child;
}

static void run(void (*handler)(void *info))
{
    add_input(handler);
    cf.run(*cf.standard, 0.3, 0);
}

static int all_are_told(void)
{
    return find_stall(0, "in_foreground_inside", "app was   active") &&
           find_stall(0, "after_debugger_inside", "") &&
           find_stall(0, "enter_inside", "app was   in the background") &&
           find_stall(0, "back_again_inside", "app was   active");
}

static void run_all(void)
{
    int status;
    post_event("UIApplicationDidBecomeActiveNotification");
    run(in_foreground);
    sim_traced = 1;
    run(debugged);
    sim_traced = 0;
    cf.run(*cf.standard, 0.5, 0);
    run(after_debugger);
    run(enter);
    run(in_background);
    post_event("UIApplicationWillEnterForegroundNotification");
    post_event("UIApplicationDidBecomeActiveNotification");
    run(back_again);
    pid_t waker = start_waker();
    run(be_suspended);
    CHECK(kill(waker, SIGKILL) == 0 && waitpid(waker, &status, 0) == waker);
    cf.run(*cf.standard, 0.5, 0);
}

int main(void)
{
    const struct sonde_watch_options options = {.struct_bytes = sizeof options,
                                                .threshold_ns = THRESHOLD_NS,
                                                .on_stall = take_stall,
                                                .on_begin = take_begin};
    struct sonde_watch *watch = NULL;
    CHECK(load_loop() && sonde_watch_start(&options, &watch, NULL) == SONDE_OK &&
          sonde_watch_run_loop(NULL) == SONDE_OK);
    /* again: a watch that had no processor for long does not know what it missed */
    while (!all_are_told() && !is_too_late()) {
        run_all();
    }
    sonde_watch_stop(watch);
    CHECK(all_are_told());
    CHECK(!find_stall(0, "debugged_inside", "") && !find_stall(0, "in_background_inside", ""));
    CHECK(!find_stall(0, "be_suspended", ""));
    CHECK(sim_handlers == 0); /* crash reporters keep theirs */
    for (unsigned i = 0; i < told_count && mistakes != 0; i++) {
        printf("%s\n", told[i].text);
    }
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
