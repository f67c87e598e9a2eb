// SPDX-License-Identifier: Apache-2.0
/* An app's own audit in a spool folder, against what the app notes of its calls (spooled.c):
 * killed, forked, without room. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "json.h"
#include "programs.h"
#include "spooled.h"
#include "test.h"

static char app_path[512], rules_path[512], spool_path[512], done_path[512];
enum { ROUNDS = 3, LOOK_TRIES = 2400 };

static void prepare(void)
{
    static const char rules[] = "[rule \"environment\"]\napi = getenv\nwhen = name ~ SPOOLED\n";
    char source[512];
    snprintf(app_path, sizeof app_path, "%s", program_built("audit/spooled"));
    snprintf(source, sizeof source, "%s/rules.ini", test_folder());
    snprintf(rules_path, sizeof rules_path, "%s/rules.audit", test_folder());
    snprintf(spool_path, sizeof spool_path, "%s/spool", test_folder());
    snprintf(done_path, sizeof done_path, "%s/done", test_folder());
    test_write_file(source, rules, sizeof rules - 1);
    const char *const argv[] = {program_sonde(), "audit", "compile", source, "-o",
                                rules_path,      NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}

/* The newest file with this suffix; returns how many there are. */
static unsigned find_files(const char *suffix, char ret_path[1024])
{
    unsigned count = 0;
    DIR *folder = opendir(spool_path);
    struct dirent *entry;
    ret_path[0] = '\0';
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        size_t length = strlen(entry->d_name), end = strlen(suffix);
        if (length > end && strcmp(entry->d_name + length - end, suffix) == 0) {
            char path[1024];
            snprintf(path, sizeof path, "%s/%s", spool_path, entry->d_name);
            if (strcmp(path, ret_path) > 0) {
                memcpy(ret_path, path, sizeof path);
            }
            count++;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

static ino_t live_inode(void)
{
    char path[1024];
    struct stat st;
    return find_files(".live", path) != 0 && stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Wait for two looks: the second one began after this call. */
static void await_look(void)
{
    for (unsigned looks = 0; looks < 2; looks++) {
        ino_t before = live_inode();
        unsigned i = 0;
        while (live_inode() == before && i++ < LOOK_TRIES) {
            program_pause_ms(10);
        }
        CHECK(live_inode() != before);
    }
}

struct app {
    struct program program;
    const _Atomic uint64_t *done;
};

static struct app start(const char *mode)
{
    char zeros[4096] = {0};
    test_write_file(done_path, zeros, sizeof zeros);
    int fd = open(done_path, O_RDONLY | O_CLOEXEC);
    const char *const argv[] = {app_path, mode, rules_path, spool_path, done_path, NULL};
    struct app app = {.done = mmap(NULL, sizeof zeros, PROT_READ, MAP_SHARED, fd, 0)};
    close(fd);
    CHECK(app.done != MAP_FAILED);
    app.program = program_start(argv);
    for (unsigned i = 0; app.done[0] == 0; i++) {
        CHECK(i < LOOK_TRIES && !program_has_ended(&app.program));
        program_pause_ms(10);
    }
    return app;
}

static uint64_t done_by_now(const struct app *app)
{
    return app->done[0] + app->done[1];
}

/* Returns how many calls were noted then. */
static uint64_t kill_app(struct app *app)
{
    kill(app->program.pid, SIGKILL);
    (void)program_end(&app->program, 60);
    uint64_t noted = done_by_now(app);
    munmap((void *)(uintptr_t)app->done, 4096);
    return noted;
}

/* The calls of a report; removes it. */
static uint64_t calls_of(const char *path)
{
    const char *const argv[] = {program_sonde(), "show", "--json", path, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    struct json *report = json_parse(run.out);
    uint64_t calls = 0;
    CHECK_STR(json_text(report, "kind"), "audit");
    CHECK_STR(json_text(report, "build"), "1.2.3");
    CHECK_STR(json_text(json_need(report, "tags")->first, "value"), "7");
    JSON_EACH(call, json_need(report, "calls"))
    {
        bool is_named = strcmp(json_text(call, "rule_name"), "environment") == 0;
        CHECK(is_named || json_int(call, "count") == 0); /* another says what may be missing */
        calls += (uint64_t)json_int(call, "count");
    }
    CHECK_CONTAINS(run.out, "call_");
    json_free(report);
    test_run_done(&run);
    CHECK_OK(unlink(path));
    return calls;
}

static struct test_run run_app(const char *mode, const char *spool)
{
    const char *const argv[] = {app_path, mode, rules_path, spool, NULL};
    return test_run(argv, NULL, NULL, 100);
}

/* Killed: what was done before the last look is there, and nothing that was not done. A call of
 * each thread may have been counted and not noted. The next app makes the report. */
TEST_TIMEOUT(calls_survive_a_kill, 300)
{
    char path[1024];
    prepare();
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct app app = start("calls");
        uint64_t least = done_by_now(&app);
        await_look();
        uint64_t most = kill_app(&app) + 2;
        CHECK_EQ(find_files(".live", path), 1);
        struct test_run next = run_app("some", spool_path);
        CHECK_EQ(next.status, 0);
        CHECK_CONTAINS(next.out, "its recording was killed after ");
        test_run_done(&next);
        CHECK_EQ(find_files(".live", path), 0);
        CHECK_EQ(find_files(".sonde", path), 2);
        CHECK_EQ(calls_of(path), SOME_CALLS);
        CHECK_EQ(find_files(".sonde", path), 1);
        uint64_t calls = calls_of(path);
        CHECK(least > 0 && calls >= least);
        CHECK(calls <= most);
    }
}

/* The folder's own command makes the report, too, also while a child of the killed app lives. */
TEST_TIMEOUT(a_fork_child_does_not_hold_the_files, 120)
{
    char path[1024];
    int child = 0;
    prepare();
    CHECK_OK(prctl(PR_SET_CHILD_SUBREAPER, 1));
    struct app app = start("fork");
    await_look();
    uint64_t most = kill_app(&app) + 2;
    char *output = program_output(&app.program);
    CHECK_EQ(sscanf(output, "child %d", &child), 1);
    free(output);
    CHECK_OK(kill(child, 0));
    const char *const argv[] = {program_sonde(), "spool", "finish", spool_path, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    CHECK_EQ(find_files(".live", path), 0);
    CHECK_EQ(find_files(".sonde", path), 1);
    uint64_t calls = calls_of(path);
    CHECK(calls > 0 && calls <= most);
    kill(child, SIGKILL);
    CHECK_EQ(waitpid(child, NULL, 0), child);
}

TEST_TIMEOUT(a_report_that_cannot_be_written_is_made_later, 120)
{
    char path[1024];
    prepare();
    struct test_run run = run_app("full", spool_path);
    CHECK_EQ(run.status, 4);
    CHECK_CONTAINS(run.err, "the audit's report is not complete");
    test_run_done(&run);
    CHECK_EQ(find_files(".live", path), 1);
    const char *const argv[] = {program_sonde(), "spool", "finish", spool_path, NULL};
    run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    CHECK_EQ(find_files(".live", path), 0);
    CHECK_EQ(find_files(".sonde", path), 1);
    CHECK_EQ(calls_of(path), SOME_CALLS);
}

TEST(folders_that_cannot_be_used_are_refused)
{
    char path[1024];
    prepare();
    struct test_run run = run_app("some", "/proc/no/such/folder");
    CHECK_EQ(run.status, 3);
    CHECK(run.out[0] != '\0' && strncmp(run.out, "OK", 2) != 0);
    test_run_done(&run);
    run = run_app("some", rules_path); /* a file */
    CHECK_EQ(run.status, 3);
    CHECK_CONTAINS(run.out, "UNSUPPORTED: ");
    test_run_done(&run);
    CHECK_OK(mkdir(spool_path, 0700));
    CHECK_OK(chmod(spool_path, 0777));
    run = run_app("some", spool_path); /* others may write there */
    CHECK_EQ(run.status, 3);
    CHECK_CONTAINS(run.out, "DENIED: ");
    test_run_done(&run);
    CHECK_EQ(find_files(".sonde", path) + find_files(".live", path), 0);
}
