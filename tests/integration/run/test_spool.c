// SPDX-License-Identifier: Apache-2.0
/* `sonde run --spool`: stalls survive a kill of any process, and the next start finishes their
 * report. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

static char sonde_path[512], loop_path[512], spool_path[600], err_path[600];

static void set_paths(void)
{
    snprintf(sonde_path, sizeof sonde_path, "%s/cli/sonde", test_build_dir());
    snprintf(loop_path, sizeof loop_path, "%s/tests/integration/run/run_loop", test_build_dir());
    snprintf(spool_path, sizeof spool_path, "%s/spool", test_folder());
    snprintf(err_path, sizeof err_path, "%s/err", test_folder());
}

static void pause_ms(unsigned ms)
{
    const struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* Start the loop under sonde, in the background; returns the program's pid. */
static pid_t start(const char *const turns[])
{
    const char *argv[16] = {sonde_path, "run", "-v", "--spool", spool_path, "--", loop_path};
    unsigned n = 7;
    for (unsigned i = 0; turns[i] != NULL; i++) {
        argv[n++] = turns[i];
    }
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR),
            err = open(err_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(null, 0);
        dup2(null, 1);
        dup2(err, 2);
        execv(sonde_path, (char **)(uintptr_t)argv);
        _exit(127);
    }
    return pid;
}

/* The number after this text in sonde's messages; 0: no such message in time. */
static int number_said(const char *text)
{
    for (unsigned i = 0; i < 400; i++) {
        char *err = access(err_path, R_OK) == 0 ? test_read_file(err_path, NULL) : NULL;
        const char *at = err != NULL ? strstr(err, text) : NULL;
        int number = at != NULL ? atoi(at + strlen(text)) : 0;
        free(err);
        if (number != 0) {
            return number;
        }
        pause_ms(25);
    }
    return 0;
}

static char *run_sonde(const char *verb, const char *what, const char *file)
{
    const char *argv[] = {sonde_path, verb, what, file, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    free(run.err);
    return run.out;
}

static char *list(void)
{
    return run_sonde("spool", "list", spool_path);
}

/* Count the names in the folder with this suffix; ret_path gets the last one. */
static unsigned count_files(const char *suffix, char ret_path[1024])
{
    unsigned count = 0;
    DIR *folder = opendir(spool_path);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        size_t length = strlen(entry->d_name), end = strlen(suffix);
        if (length > end && strcmp(entry->d_name + length - end, suffix) == 0) {
            count++;
            if (ret_path != NULL) {
                snprintf(ret_path, 1024, "%s/%s", spool_path, entry->d_name);
            }
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

static void await_files(const char *suffix, unsigned count)
{
    for (unsigned i = 0; i < 400 && count_files(suffix, NULL) != count; i++) {
        pause_ms(25);
    }
    CHECK_EQ(count_files(suffix, NULL), count);
}

/* A process with several threads becomes a zombie before its last thread closes its files: so its
 * lock may last a little longer. */
static void await_lock(void)
{
    for (unsigned i = 0; i < 400; i++) {
        char *listed = list();
        bool is_running = strstr(listed, "running") != NULL;
        free(listed);
        if (!is_running) {
            return;
        }
        pause_ms(25);
    }
    FAIL("the files of the run stay locked");
}

static void await_end(int pid)
{
    char path[64], line[512] = "";
    for (unsigned i = 0; i < 400; i++) {
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        FILE *f = fopen(path, "re");
        bool is_zombie =
            f != NULL && fgets(line, sizeof line, f) != NULL && strstr(line, ") Z ") != NULL;
        if (f != NULL) {
            fclose(f);
        }
        if (f == NULL || is_zombie) {
            await_lock();
            return;
        }
        pause_ms(25);
    }
    FAIL("process %d did not end", pid);
}

static unsigned samples_shown(const char *text)
{
    const char *at = strstr(text, "  samples   ");
    return at != NULL ? (unsigned)atoi(at + strlen("  samples   ")) : 0;
}

/* Start a stall of six seconds and let the watch sample a part of it. */
static pid_t start_stall(int *ret_supervisor)
{
    static const char *const turns[] = {"idle:100", "burn:6000", NULL};
    set_paths();
    pid_t pid = start(turns);
    *ret_supervisor = number_said("supervisor ");
    CHECK(*ret_supervisor > 1);
    CHECK(number_said("has not been back in its loop for ") != 0);
    pause_ms(1500);
    return pid;
}

static char *finish_and_show(const char *wanted)
{
    char path[1024];
    char *said = run_sonde("spool", "finish", spool_path);
    CHECK_CONTAINS(said, wanted);
    CHECK_EQ(count_files(".live", NULL), 0);
    CHECK_EQ(count_files(".sonde", path), 1);
    free(said);
    return run_sonde("show", path, NULL);
}

/* `show` of a file whose run is not over: its exit status, and what it says about that. */
static void check_unfinished(const char *suffix, const char *why)
{
    char path[1024];
    CHECK_EQ(count_files(suffix, path), 1);
    struct test_run run =
        test_run((const char *[]){sonde_path, "show", path, NULL}, NULL, NULL, 60);
    CHECK_EQ(run.status, 5);
    CHECK_CONTAINS(run.out, " in the part that was written\n");
    CHECK_CONTAINS(run.out, "\nunfinished: the report has no end");
    CHECK(strstr(run.out, "damaged") == NULL);
    CHECK_CONTAINS(run.err, why);
    CHECK_CONTAINS(run.err, ".live");
    test_run_done(&run);
}

/* Kill both at once, as the out-of-memory killer or the end of a container does. */
TEST_TIMEOUT(stall_survives_a_kill_of_all, 60)
{
    char path[1024];
    int supervisor, status;
    pid_t pid = start_stall(&supervisor);
    CHECK_EQ(count_files(".live", path), 1);
    char *before = run_sonde("show", path, NULL); /* a live file can be read as a report */
    CHECK_CONTAINS(before, "and not over");
    check_unfinished(".sonde", "the program still runs: its current stalls are in ");
    kill(supervisor, SIGKILL);
    kill(pid, SIGKILL);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    await_end(supervisor);
    char *listed = list();
    CHECK_CONTAINS(listed, "killed");
    check_unfinished(".sonde", "its watch was killed, and its last stalls are in ");
    check_unfinished(".live", ": complete the report with `sonde spool finish ");
    /* the next start of any program finishes it */
    const char *argv[] = {sonde_path, "run", "--spool", spool_path, "--", "/bin/true", NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    await_files(".live", 0);
    await_files(".sonde", 1);
    CHECK_EQ(count_files(".sonde", path), 1);
    char *after = run_sonde("show", path, NULL);
    CHECK_CONTAINS(after, "not over when the watch was killed; the program ended, too");
    CHECK_CONTAINS(strstr(after, "dominant path"), "stall_burn");
    CHECK_CONTAINS(after, "  stall_burn+");
    CHECK(samples_shown(before) > 10);
    CHECK(samples_shown(after) >= samples_shown(before));
    free(before);
    free(after);
    free(listed);
    listed = list();
    CHECK_CONTAINS(listed, "1 fatal");
    free(listed);
    test_run_done(&run);
}

TEST_TIMEOUT(stall_survives_a_kill_of_the_program, 60)
{
    int supervisor, status;
    char path[1024];
    pid_t pid = start_stall(&supervisor);
    kill(pid, SIGKILL);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    await_files(".live", 0); /* the supervisor lives, and writes the report */
    CHECK_EQ(count_files(".sonde", path), 1);
    char *after = run_sonde("show", path, NULL);
    CHECK_CONTAINS(after, "stall 1: ");
    CHECK(strstr(after, ", in which the program was killed") != NULL || !test_kernel_is(6, 15));
    CHECK_CONTAINS(after, "stall_burn");
    CHECK(samples_shown(after) > 10);
    free(after);
}

/* The program goes on undisturbed. The known part of the stall is kept, and not called fatal. */
TEST_TIMEOUT(stall_survives_a_kill_of_the_supervisor, 60)
{
    int supervisor, status;
    pid_t pid = start_stall(&supervisor);
    kill(supervisor, SIGKILL);
    await_end(supervisor);
    char *after = finish_and_show("was in a stall when its watch was killed");
    CHECK_CONTAINS(after, "and not over");
    CHECK_CONTAINS(after, "stall_burn");
    CHECK(samples_shown(after) > 10);
    CHECK(strstr(after, "killed\n") == NULL);
    free(after);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

/* A stall that had ended has its names from the run itself. */
TEST_TIMEOUT(stalls_before_the_kill_are_kept, 60)
{
    static const char *const turns[] = {"idle:100", "sleep:800", "idle:1500", "sleep:6000", NULL};
    char path[1024];
    int status;
    set_paths();
    pid_t pid = start(turns);
    int supervisor = number_said("supervisor ");
    for (unsigned i = 0; i < 400; i++) {
        char *listed = list();
        bool is_second = strstr(listed, "2 stalls") != NULL;
        free(listed);
        if (is_second) {
            break;
        }
        pause_ms(50);
    }
    kill(supervisor, SIGKILL);
    kill(pid, SIGKILL);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    await_end(supervisor);
    free(run_sonde("spool", "finish", spool_path));
    CHECK_EQ(count_files(".sonde", path), 1);
    char *after = run_sonde("show", path, NULL);
    CHECK_CONTAINS(after, "stall 1: ");
    CHECK_CONTAINS(after, "waited for at run_loop+");
    CHECK_CONTAINS(strstr(after, "stall 2: "),
                   "not over when the watch was killed; the program ended, too");
    CHECK_CONTAINS(strstr(after, "stall 2: "), "stall_sleep");
    CHECK(strstr(after, "stall 3: ") == NULL);
    free(after);
}

/* A damaged file gives no data, and no counts. */
TEST(damaged_files_are_listed_as_damaged)
{
    static const char *const names[] = {"20261123T164012Z-4242.sonde", "counts.sonde"};
    char path[1024], expected[64];
    set_paths();
    CHECK_EQ(mkdir(spool_path, 0700), 0);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", spool_path, names[i]);
        test_write_file(path, "nothing", 7);
    }
    char *listed = list();
    for (unsigned i = 0; i < 2; i++) {
        snprintf(expected, sizeof expected, "%-34s damaged ", names[i]);
        CHECK_CONTAINS(listed, expected);
    }
    free(listed);
}

/* A run without a stall leaves nothing; another one leaves a whole report. */
TEST_TIMEOUT(runs_that_end_leave_what_they_had, 60)
{
    char path[1024];
    set_paths();
    const char *idle[] = {sonde_path, "run",     "--spool",  spool_path,
                          "--",       loop_path, "idle:300", NULL};
    struct test_run run = test_run(idle, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    await_files(".live", 0);
    await_files(".sonde", 0);
    const char *stall[] = {sonde_path, "run",       "--spool",   spool_path, "--",
                           loop_path,  "sleep:900", "idle:3000", NULL};
    run = test_run(stall, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    await_files(".live", 0);
    CHECK_EQ(count_files(".sonde", path), 1);
    const char *show[] = {sonde_path, "show", path, NULL};
    run = test_run(show, NULL, NULL, 60);
    CHECK_EQ(run.status, 0); /* the report has its end */
    CHECK_CONTAINS(run.out, "1 stall in ");
    test_run_done(&run);
}

TEST_TIMEOUT(folders_that_cannot_be_used_stop_the_start, 60)
{
    char shared[700], made[700];
    set_paths();
    snprintf(shared, sizeof shared, "%s/shared", test_folder());
    snprintf(made, sizeof made, "%s/made", test_folder());
    CHECK_EQ(mkdir(shared, 0700), 0);
    CHECK_EQ(chmod(shared, 0777), 0);
    const char *argv[] = {sonde_path, "run", "--spool", shared, "--", "/usr/bin/touch", made, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 125);
    CHECK_CONTAINS(run.err, "other users may write in the folder");
    CHECK(access(made, F_OK) != 0);
    test_run_done(&run);
}

/* No data of a program with more rights than its user is kept. */
TEST_TIMEOUT(privileged_programs_leave_nothing, 60)
{
    struct stat st;
    set_paths();
    if (stat("/bin/su", &st) != 0 || (st.st_mode & S_ISUID) == 0) {
        SKIP("no setuid program here");
    }
    const char *argv[] = {sonde_path, "run",     "--spool",   spool_path,
                          "--",       "/bin/su", "--version", NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    pause_ms(300);
    CHECK_EQ(count_files(".sonde", NULL) + count_files(".live", NULL), 0);
}

static long switches_of(int pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    char *text = test_read_file(path, NULL);
    const char *at = strstr(text, "\nvoluntary_ctxt_switches:");
    long switches = at != NULL ? strtol(strchr(at, ':') + 1, NULL, 10) : -1;
    free(text);
    return switches;
}

/* The spool adds no wake-ups: the watch of an idle program sleeps, also after a stall. */
TEST_TIMEOUT(idle_programs_cost_no_wake_up, 60)
{
    static const char *const turns[] = {"sleep:600", "idle:60000", NULL};
    char path[1024];
    int status;
    set_paths();
    pid_t pid = start(turns);
    int supervisor = number_said("supervisor ");
    CHECK(number_said("stall 1: ") != 0);
    long before = -1, now = -2;
    for (unsigned i = 0; i < 20 && before != now; i++) { /* until the supervisor sleeps */
        before = switches_of(supervisor);
        pause_ms(1500);
        now = switches_of(supervisor);
    }
    CHECK_EQ(now, before);
    /* the live file drops what is in the run's report */
    CHECK_EQ(count_files(".live", path), 1);
    char *live = run_sonde("show", path, NULL);
    CHECK(strstr(live, "stall 1") == NULL);
    free(live);
    kill(pid, SIGTERM);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    await_files(".live", 0);
    await_files(".sonde", 1);
}
