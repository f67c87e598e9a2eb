// SPDX-License-Identifier: Apache-2.0
/* Programs of musl, whose libc has no call frame information: each thread is blocked in libc,
 * called by known functions. Every stack must reach the thread's entry, with these functions in
 * their order and no false frame between them. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "start.h"
#include "test.h"

static pid_t start_musl(const char *flags)
{
    char command[2048], path[1024];
    snprintf(path, sizeof path, "%s/blocked", test_folder());
    snprintf(command, sizeof command,
             "musl-gcc %s -g -o '%s' '%s/tests/integration/musl/blocked.c'", flags, path,
             test_source_dir());
    if (system("command -v musl-gcc >/dev/null 2>&1") != 0) {
        SKIP("no musl-gcc");
    }
    CHECK_EQ(system(command), 0);
    const char *const program[] = {path, NULL};
    pid_t pid = start_program(program);
    wait_blocked(pid);
    usleep(50000);
    wait_blocked(pid);
    return pid;
}

struct frames {
    const char *names[64];
    unsigned count;
};

static struct frames frames_of(const struct json *thread)
{
    struct frames frames = {.count = 0};
    JSON_EACH(frame, json_need(thread, "frames"))
    {
        CHECK(frames.count < 64);
        frames.names[frames.count++] = json_text(frame, "function");
    }
    return frames;
}

static int find(const struct frames *frames, const char *name)
{
    for (unsigned i = 0; i < frames->count; i++) {
        if (strcmp(frames->names[i], name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void check_main(const struct frames *frames)
{
    int main_at = find(frames, "main"), enter = find(frames, "enter");
    CHECK(main_at > 0);
    CHECK_EQ(enter, main_at - 1);
    /* libc's start, which calls main by pointer, and _start in its two halves or in one */
    CHECK(frames->count - (unsigned)main_at >= 3);
    CHECK(frames->count - (unsigned)main_at <= 4);
}

/* work_NAME <- enter <- thread <- libc's start <- clone, and above work_NAME libc only, with the
 * callback where there is one. */
static void check_worker(const struct frames *frames, const char *name)
{
    char work[32];
    int at, thread = find(frames, "thread"), enter = find(frames, "enter");
    snprintf(work, sizeof work, "work_%s", name);
    at = find(frames, work);
    if (at < 1 || enter != at + 1 || thread != at + 2 || (int)frames->count != thread + 3) {
        FAIL("%s: %s at %d, enter at %d, thread at %d of %u", name, work, at, enter, thread,
             frames->count);
    }
    if (strcmp(name, "qsort") == 0 || strcmp(name, "bsearch") == 0) {
        int compare = find(frames, "compare");
        CHECK(compare > 0 && compare < at - 0 && find(frames, "nanosleep") == compare - 1);
        CHECK(strncmp(frames->names[at - 1], name, strlen(name)) == 0);
    } else if (strcmp(name, "once") == 0) {
        CHECK(find(frames, "only_once") > 0 && find(frames, "only_once") < at);
    } else if (strcmp(name, "vfprintf") == 0) {
        CHECK_EQ(find(frames, "work_variadic"), at - 1);
    } else if (strcmp(name, "signal") == 0) {
        CHECK(find(frames, "on_signal") > 0 && find(frames, "on_signal") < at);
    }
}

static void check_all(const char *flags)
{
    pid_t pid = start_musl(flags);
    char pid_text[16];
    const char *const argv[] = {sonde_program(), "stacks", pid_text, "--json", NULL};
    unsigned workers = 0;
    snprintf(pid_text, sizeof pid_text, "%d", (int)pid);
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    struct json *report = json_parse(run.out);
    JSON_EACH(thread, json_need(report, "threads"))
    {
        const char *name = json_text(thread, "name");
        struct frames frames = frames_of(thread);
        if (strcmp(json_text(thread, "end"), "root") != 0) {
            FAIL("%s: %u frames, then %s", name, frames.count, json_text(thread, "end"));
        }
        if (json_bool(thread, "main")) {
            check_main(&frames);
        } else if (strcmp(name, "blocked") != 0) {
            check_worker(&frames, name);
            workers++;
        }
    }
    CHECK_EQ(workers, 30);
    json_free(report);
    test_run_done(&run);
    stop_program(pid);
}

TEST_TIMEOUT(dynamic_program, 120)
{
    check_all("-O2");
}

TEST_TIMEOUT(dynamic_program_with_frame_pointers, 120)
{
    check_all("-O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls");
}

/* Neither libc nor the program has call frame information. */
TEST_TIMEOUT(no_information_at_all, 120)
{
    check_all("-O1 -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions");
}

TEST_TIMEOUT(static_program, 120)
{
    check_all("-O2 -static");
}
