// SPDX-License-Identifier: Apache-2.0
/* Stacks at random instants of a busy program, against two unwinders that are not ours: libunwind
 * (opened by path: linking it would replace backtrace()) and glibc's backtrace(). A timer
 * interrupts the work anywhere: in prologues, linkage stubs, assembler of libc. Each has gaps of
 * its own, so a stack counts as right when it equals one of the two; most must equal both. */
#include <dlfcn.h>
#include <execinfo.h>
#include <math.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "live.h"
#include "test.h"

#define FRAMES_MAX  256
#define SAMPLES_MIN 400

static struct live live;
static int (*unw_backtrace)(void **, int);

static struct sonde_stack ours;
static uint64_t pcs[FRAMES_MAX];
static uint8_t how[FRAMES_MAX];
static void *theirs[2][FRAMES_MAX];
static int their_counts[2];

static volatile unsigned samples, wrong, differ_from_one;
static char first_wrong[1 << 14];

static bool equals(unsigned which)
{
    if (their_counts[which] != (int)ours.count) {
        return false;
    }
    for (uint32_t i = 1; i < ours.count; i++) {
        if (pcs[i] != (uint64_t)(uintptr_t)theirs[which][i]) {
            return false;
        }
    }
    return true;
}

static void describe(void)
{
    size_t at = 0;
    for (uint32_t i = 0; i < FRAMES_MAX && at + 128 < sizeof first_wrong; i++) {
        bool any = i < ours.count || (int)i < their_counts[0] || (int)i < their_counts[1];
        if (!any) {
            break;
        }
        at += (size_t)snprintf(first_wrong + at, sizeof first_wrong - at,
                               "%2u ours %#llx libunwind %p backtrace %p\n", i,
                               i < ours.count ? (unsigned long long)pcs[i] : 0,
                               (int)i < their_counts[0] ? theirs[0][i] : NULL,
                               (int)i < their_counts[1] ? theirs[1][i] : NULL);
    }
}

static void take_sample(int number)
{
    struct sonde__regs regs;
    (void)number;
    live_regs_here(&regs);
    their_counts[0] = unw_backtrace(theirs[0], FRAMES_MAX);
    their_counts[1] = backtrace(theirs[1], FRAMES_MAX);
    struct sonde__walk walk = live_walk(&live, &regs);
    sonde_stack_init(&ours, pcs, how, FRAMES_MAX, 0);
    sonde__unwind_walk(&walk, &ours);
    bool first = equals(0);
    bool second = equals(1);
    differ_from_one += !first || !second;
    if (!first && !second && wrong++ == 0) {
        describe();
    }
    samples++;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Some of everything: callbacks, formatting, searching, floating point, the heap. */
static void work(unsigned round)
{
    char *texts[64];
    regex_t expression;
    double sum = 0;
    for (unsigned i = 0; i < 64; i++) {
        char text[64];
        snprintf(text, sizeof text, "%u %s %.17g", (i * 7919 + round) % 1000, "word", i / 3.0);
        texts[i] = strdup(text);
        sum += strtod(text, NULL) + pow(i + 1.5, 1.1);
    }
    qsort(texts, 64, sizeof texts[0], compare_texts);
    CHECK_OK(regcomp(&expression, "^([0-9]+) (wo+rd|[a-z]*) ([0-9.]+)$", REG_EXTENDED));
    for (unsigned i = 0; i < 64; i++) {
        regmatch_t matches[4];
        (void)regexec(&expression, texts[i], 4, matches, 0);
        free(texts[i]);
    }
    regfree(&expression);
    CHECK(sum > 0);
}

static void sample_work(enum live_mode mode)
{
    struct sigaction action = {.sa_handler = take_sample, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, 500}, {0, 500}};
    struct sonde__regs regs;
    void *warm[8];
    work(0);
    (void)unw_backtrace(warm, 8);
    live_open(&live, mode);
    live_regs_here(&regs);
    (void)live_walk(&live, &regs); /* asks for the stack's bounds, which a handler must not */
    CHECK_OK(sigaction(SIGPROF, &action, NULL));
    CHECK_OK(setitimer(ITIMER_PROF, &timer, NULL));
    for (unsigned round = 0; samples < SAMPLES_MIN; round++) {
        work(round);
    }
    timer.it_value.tv_usec = 0;
    CHECK_OK(setitimer(ITIMER_PROF, &timer, NULL));
    printf("     %u samples, %u wrong, %u differ from one of the two\n", samples, wrong,
           differ_from_one);
    if (wrong != 0) {
        FAIL("a stack that neither has:\n%s", first_wrong);
    }
    CHECK(differ_from_one <= samples / 20);
    live_close(&live);
}

TEST(sampled_stacks_by_table)
{
    sample_work(LIVE_TABLE);
}
TEST(sampled_stacks_in_place)
{
    sample_work(LIVE_IN_PLACE);
}

/* Before the harness counts the heap. */
static __attribute__((constructor)) void open_peers(void)
{
    void *warm[8];
    void *libunwind = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    if (libunwind == NULL) {
        return;
    }
    *(void **)&unw_backtrace = dlsym(libunwind, "unw_backtrace");
    (void)unw_backtrace(warm, 8);
    (void)backtrace(warm, 8);
    setvbuf(stdout, NULL, _IONBF, 0);
}
