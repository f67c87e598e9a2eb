// SPDX-License-Identifier: Apache-2.0
/* Real stalls of several phases, on an idle machine and next to busy processes: each is found with
 * the duration of the program's own clock, and the longest phase is blamed. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

struct outcome {
    unsigned stalls, found, right;
    unsigned beyond; /* stalls whose duration is more than 40 ms beyond what is allowed */
    double worst_ms; /* beyond what is allowed */
};

static struct test_run run_phases(unsigned seed, unsigned count)
{
    char sonde[512], phases[512], numbers[2][16];
    snprintf(sonde, sizeof sonde, "%s/cli/sonde", test_build_dir());
    snprintf(phases, sizeof phases, "%s/tests/integration/run/run_phases", test_build_dir());
    snprintf(numbers[0], sizeof numbers[0], "%u", seed);
    snprintf(numbers[1], sizeof numbers[1], "%u", count);
    const char *argv[] = {sonde,  "run",      "--stall=250ms", "--equal=0", "--",
                          phases, numbers[0], numbers[1],      NULL};
    return test_run(argv, NULL, NULL, 300);
}

/* "stall 3: 412 ms", "1.02 s". */
static double milliseconds(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    return strncmp(end, " s", 2) == 0 ? value * 1000 : value;
}

/* Stall by stall, in the order of both outputs. */
static struct outcome compare(const struct test_run *run)
{
    struct outcome outcome = {0};
    const char *truth = run->out, *told = strstr(run->err, "\nstall ");
    for (; *truth != '\0'; truth = strchr(truth, '\n') + 1) {
        char longest[16];
        double ms;
        char letter;
        CHECK_EQ(sscanf(truth, "%lf %c", &ms, &letter), 2);
        snprintf(longest, sizeof longest, "  phase_%c", letter);
        outcome.stalls++;
        const char *number = told != NULL ? strstr(told, ": ") : NULL;
        if (number == NULL) {
            continue;
        }
        double allowed = ms * 0.02 > 10 ? ms * 0.02 : 10;
        double beyond = fabs(milliseconds(number + 2) - ms) - allowed;
        outcome.beyond += beyond > 40;
        outcome.worst_ms = beyond > outcome.worst_ms ? beyond : outcome.worst_ms;
        const char *next = strstr(told + 1, "\nstall ");
        const char *blamed = strstr(told, "heaviest app function");
        outcome.found++;
        if (blamed != NULL && (next == NULL || blamed < next)) {
            blamed += strlen("heaviest app function");
            outcome.right += strncmp(blamed, longest, strlen(longest)) == 0;
        }
        told = next;
    }
    return outcome;
}

static struct outcome play(unsigned seed, unsigned count)
{
    struct test_run run = run_phases(seed, count);
    CHECK_EQ(run.status, 0);
    struct outcome outcome = compare(&run);
    test_run_done(&run);
    return outcome;
}

/* The error of a duration, and the blame of phases a tenth apart, depend on the machine's free
 * processors: figures are from --long, on a machine at rest. (Blame in virtual time:
 * unit_watch.) */
TIMED_TEST(phases_of_real_stalls, 360)
{
    unsigned count = test_long() ? 200 : 24;
    struct outcome outcome = play(4711 * test_slack(), count);
    fprintf(stderr, "%u stalls: %u found, %u blamed right, %.0f ms beyond the limit\n",
            outcome.stalls, outcome.found, outcome.right, outcome.worst_ms);
    CHECK_EQ(outcome.stalls, count);
    CHECK_EQ(outcome.found, count);
    CHECK(outcome.right * 100 >= count * (test_long() ? 97 : 75));
    CHECK(test_long() ? outcome.worst_ms <= 0 : outcome.beyond * 10 <= count * 3);
}

static pid_t start_busy(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        for (volatile unsigned long n = 0;; n++) {
        }
    }
    return pid;
}

/* Not a TIMED_TEST: a loaded machine must not change this. Only the scheduler may separate the
 * stamps of test and probe: 40 ms cover that. If the machine itself is slower, most stalls still
 * fit. */
TEST_TIMEOUT(stalls_beside_busy_processes, 360)
{
    enum { BUSY = 8 };
    unsigned count = test_long() ? 60 : 10;
    pid_t busy[BUSY];
    for (unsigned i = 0; i < BUSY; i++) {
        busy[i] = start_busy();
    }
    struct outcome outcome = play(99, count);
    for (unsigned i = 0; i < BUSY; i++) {
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
    }
    fprintf(stderr, "%u stalls: %u found, %u blamed right, %.0f ms beyond the limit\n",
            outcome.stalls, outcome.found, outcome.right, outcome.worst_ms);
    CHECK_EQ(outcome.found, count);
    CHECK(outcome.beyond * 10 <= (test_long() ? 0 : count * 3));
}
