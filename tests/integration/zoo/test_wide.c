// SPDX-License-Identifier: Apache-2.0
/* Programs of many kinds; no code of ours knows their names. sonde finds stalls that an intruder
 * injects, with the durations of its stamps, and blames their longest phase by its stamps. Idle
 * programs give no report, all at once, even when stopped and continued.
 *
 * The figures are those of --long, which installs all programs: the whole zoo twice, alone and with
 * eight busy threads, and ten minutes idle. The short form uses installed programs.
 * ZOO_ONLY=NAME,NAME selects some; ZOO_IDLE_MS sets the idle time. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "display.h"
#include "wide.h"
#include "wide_victim.h"

enum { TOGETHER = 64, STOPS = 4 };

static bool is_asked(const struct wide_program *what)
{
    /* every kind of wait once, and quick to start */
    static const char few[] = "Xvfb,asyncore,bash,emacs,node,tclsh,dbus-daemon,";
    char name[64];
    const char *only = getenv("ZOO_ONLY");
    snprintf(name, sizeof name, "%s,", what->name);
    return only != NULL ? strstr(only, what->name) != NULL
                        : (test_long() || strstr(few, name) != NULL) && wide_is_here(what);
}

static unsigned start_all(struct wide_run runs[TOGETHER], const struct wide_program **next,
                          unsigned at_once, const struct wide_plan *plan)
{
    unsigned n = 0;
    for (; (*next)->name != NULL && n < at_once; (*next)++) {
        if (is_asked(*next)) {
            runs[n++] = wide_start(*next, plan);
        }
    }
    return n;
}

static void make_stalls(const struct wide_plan *plan, unsigned at_once, struct wide_counts *counts)
{
    struct wide_run runs[TOGETHER];
    const struct wide_program *next = wide_programs;
    unsigned n;
    memset(counts, 0, sizeof *counts);
    while ((n = start_all(runs, &next, at_once, plan)) > 0) {
        for (unsigned i = 0; i < n; i++) {
            wide_await(&runs[i], 60);
        }
        for (unsigned i = 0; i < n; i++) {
            wide_compare(&runs[i], counts);
        }
    }
}

static void check_stalls(const char *how, unsigned at_once)
{
    bool all = test_long(), display = display_start();
    unsigned slack = test_slack();
    const struct wide_plan plan = {.stalls = all ? 20 : 5,
                                   .min_ms = 180 * slack,
                                   .max_ms = 600 * slack,
                                   .threshold_ms = 150 * slack,
                                   .seed = 7 * slack};
    struct wide_counts c;
    make_stalls(&plan, at_once, &c);
    if (display) {
        display_end();
    }
    fprintf(stderr,
            "  %s: %u programs, %u more not stalled, %u of %u stalls found, %u reports of none, %u "
            "durations off by up to %.0f ms, %u of %u with phases blamed right\n",
            how, c.programs, c.unstalled, c.found, c.made, c.wrong, c.off, c.worst_ms, c.blamed,
            c.phased);
    CHECK(c.programs >= (all ? 30 : 5) || getenv("ZOO_ONLY") != NULL);
    CHECK_EQ(c.unstalled, 0);
    CHECK_EQ(c.wrong, 0);
    CHECK(c.found * 100 >= c.made * (all ? 97 : 95));
    CHECK(c.off * 100 <= c.found * (all ? 3 : 15));
    CHECK(c.blamed * 100 >= c.phased * (all ? 97 : 65));
}

TIMED_TEST(stalls_of_programs_of_many_kinds, 1200)
{
    if (!test_long()) {
        SKIP("with --long: half a minute, and figures that need many stalls");
    }
    check_stalls("on a machine at rest", 1);
}

TIMED_TEST(stalls_beside_busy_threads, 1200)
{
    if (!test_long() || !program_on_path("stress-ng")) {
        SKIP("with --long, and stress-ng");
    }
    struct program load =
        program_start((const char *[]){"stress-ng", "--quiet", "--cpu", "8", NULL});
    check_stalls("beside stress-ng --cpu 8", 2);
    (void)program_stop(&load, 20);
}

/* The intruder stalls programs that do little between two waits: dnsmasq only waits again when a
 * wait ends by a signal, and PHP calls nothing but what FD_SET() calls. */
static void check_intruder(const char *how)
{
    char log[128], claim[140], words[200], preload[512];
    snprintf(log, sizeof log, "%s/log", test_folder());
    snprintf(claim, sizeof claim, "%s.claim", log);
    snprintf(words, sizeof words, "ZOO_INTRUDER=%s 1 2 20 40 1", log);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", program_built("zoo/libzoo_intruder.so"));
    (void)unlink(claim);
    test_write_file(log, "", 0);
    struct program program = program_start(
        (const char *[]){"env", words, preload, program_built("zoo/zoo_again"), how, NULL});
    char *text = test_read_file(log, NULL);
    for (unsigned i = 0; i < 600 && strstr(text, "done") == NULL; i++) {
        free(text);
        program_pause_ms(100);
        text = test_read_file(log, NULL);
    }
    (void)program_stop(&program, 20);
    CHECK_CONTAINS(text, "stall ");
    CHECK_CONTAINS(text, "done");
    free(text);
}

TEST(programs_that_do_little_between_waits_are_stalled)
{
    check_intruder("poll");
    check_intruder("select");
}

/* Thread 7 waits for thread 5 from 1.0 to 1.4 s, if the report has that edge. */
static bool is_victim_of(int64_t tid, const char *edge, int64_t begin_ms)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"tid\": 7, \"begin_ns\": 1000000000, \"duration_ns\": 400000000, \"waits\": [%s]}",
             edge);
    struct json *stall = json_parse(text);
    bool is = wide_is_victim(stall, tid, begin_ms * 1000000, 400000000);
    json_free(stall);
    return is;
}

TEST(only_a_thread_that_waits_for_the_injected_one_is_a_victim)
{
    static const char mutex[] = "{\"tid\": 7, \"kind\": \"mutex\", \"owner\": {\"tid\": 5}}";
    CHECK(is_victim_of(5, mutex, 900));
    CHECK(is_victim_of(5, mutex, 1150));
    CHECK(!is_victim_of(5, "", 1000));
    CHECK(!is_victim_of(6, mutex, 1000));
    CHECK(!is_victim_of(7, "{\"tid\": 7, \"kind\": \"mutex\", \"owner\": {\"tid\": 7}}", 1000));
    CHECK(!is_victim_of(5, "{\"tid\": 8, \"kind\": \"mutex\", \"owner\": {\"tid\": 5}}", 1000));
    CHECK(!is_victim_of(5, "{\"tid\": 7, \"kind\": \"pipe\", \"owner\": {\"tid\": 5}}", 1000));
    CHECK(!is_victim_of(5, "{\"tid\": 7, \"kind\": \"mutex\"}", 1000));
    CHECK(!is_victim_of(5, mutex, 750));
    CHECK(!is_victim_of(5, mutex, 1250));
}

/* Stop all together, as closing a laptop's lid does. */
static void stop_all(const struct wide_run *runs, unsigned n)
{
    for (unsigned round = 0; round < STOPS; round++) {
        for (unsigned i = 0; i < n; i++) {
            kill(runs[i].program.pid, SIGSTOP);
        }
        program_pause_ms(400 * test_slack());
        for (unsigned i = 0; i < n; i++) {
            kill(runs[i].program.pid, SIGCONT);
        }
        program_pause_ms(200 * test_slack());
    }
}

TIMED_TEST(idle_programs_of_many_kinds, 1200)
{
    const struct wide_plan plan = {.threshold_ms = 150 * test_slack()};
    const struct wide_program *next = wide_programs;
    const char *asked = getenv("ZOO_IDLE_MS");
    unsigned idle_ms = asked != NULL ? (unsigned)atoi(asked) : test_long() ? 600000 : 4000;
    struct wide_counts c = {0};
    struct wide_run runs[TOGETHER];
    bool display = display_start();
    unsigned n = start_all(runs, &next, TOGETHER, &plan);
    program_pause_ms(idle_ms / 2);
    stop_all(runs, n);
    program_pause_ms(idle_ms / 2);
    for (unsigned i = 0; i < n; i++) {
        wide_stop(&runs[i]);
        wide_compare(&runs[i], &c);
    }
    if (display) {
        display_end();
    }
    fprintf(stderr, "  %u programs idle for %u s: %u reports, and %u of threads without a CPU\n", n,
            idle_ms / 1000, c.wrong, c.starved);
    CHECK(n >= (test_long() ? 30 : 5) || getenv("ZOO_ONLY") != NULL);
    CHECK_EQ(c.wrong, 0);
}
