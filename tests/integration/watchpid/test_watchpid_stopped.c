// SPDX-License-Identifier: Apache-2.0
/* A wait with a time limit that a stop has interrupted is no stall, though the kernel resumes it by
 * another call. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zoo.h"

/* Has the kernel resumed the main thread's call? */
static bool is_resumed(pid_t pid)
{
    char path[40], text[64] = "";
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)pid);
    FILE *file = fopen(path, "r");
    bool got = file != NULL && fgets(text, sizeof text, file) != NULL;
    if (file != NULL) {
        fclose(file);
    }
    return got && strncmp(text, "219 ", 4) == 0; /* restart_syscall of x86-64 */
}

static void no_stall(const char *kind)
{
    char number[16], mark[16];
    unsigned resumed = 0;
    struct program program =
        program_start((const char *[]){program_built("watchpid/watchpid_resumed"), kind, NULL});
    program_await(&program, "started", 30);
    snprintf(number, sizeof number, "%d", (int)program.pid);
    struct program watch = program_start(
        (const char *[]){program_sonde(), "watch", "--stall", zoo_stall(), number, NULL});
    for (int round = 1; round <= 3; round++) {
        snprintf(mark, sizeof mark, "long %d", round);
        program_await(&program, mark, 60);
        usleep(400000);
        CHECK_OK(kill(program.pid, SIGSTOP));
        usleep(100000);
        CHECK_OK(kill(program.pid, SIGCONT));
        usleep(100000);
        resumed += is_resumed(program.pid);
    }
    CHECK_EQ(program_end(&program, 30), 0);
    CHECK_EQ(program_end(&watch, 30), 0);
    char *output = program_output(&watch);
    CHECK_CONTAINS(output, "watched 1 loop");
    CHECK_CONTAINS(output, ", 0 stalls");
    free(output);
    if (resumed == 0) {
        SKIP("no call was resumed by restart_syscall");
    }
}

TIMED_TEST(poll, 90)
{
    no_stall("poll");
}

TIMED_TEST(sleep_of_time, 90)
{
    no_stall("sleep");
}

TIMED_TEST(semaphore, 90)
{
    no_stall("semaphore");
}
