// SPDX-License-Identifier: Apache-2.0
/* The interface between a program and the watch inside it: notes and phases, pauses, the report of
 * a stall's begin. Also what outlives the program: the spool folder, fork children. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/note.h>
#include <sonde/report.h>
#include <sonde/scope.h>

#include "test.h"
#include "watches.h"

/* --- notes --- */

TEST_TIMEOUT(notes_and_phases_are_in_the_report, 60)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    CHECK_OK(sonde_watch_note("document", "old"));
    struct sonde_watch *watch = start(&told, 100 * MS, -1);
    CHECK_OK(sonde_watch_note("document", "annual report"));
    CHECK_OK(sonde_watch_note("gone", "soon"));
    CHECK_OK(sonde_watch_note("gone", NULL));
    sonde_watch_phase("login", SONDE_CONSENT_BEFORE);
    wait_idle(1);
    sonde_loop_phase("drawing");
    stall_until_told(&told, watch_test_blocks);
    sonde_watch_stop(watch);
    CHECK_CONTAINS(told.text, "noted     document = annual report\n");
    CHECK(strstr(told.text, "gone") == NULL);
    CHECK_CONTAINS(told.text, "in        \"login\", before consent\n");
    CHECK_CONTAINS(told.text, "loop was  drawing\n");
    free(told.text);
}

TEST_TIMEOUT(notes_are_bounded, 60)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    char key[64], value[300] = "";
    CHECK_EQ(sonde_watch_note(NULL, "x"), SONDE_USAGE);
    CHECK_EQ(sonde_watch_note("", "x"), SONDE_USAGE);
    memset(key, 'k', sizeof key);
    key[SONDE_NOTE_KEY_BYTES + 1] = '\0';
    CHECK_EQ(sonde_watch_note(key, "x"), SONDE_USAGE);
    key[SONDE_NOTE_KEY_BYTES] = '\0';
    for (unsigned i = 0; i < 63; i++) {
        strcat(value, "\xc3\xa9");
    }
    CHECK_OK(sonde_watch_note(key, value)); /* 126 bytes: the next whole character does not fit */
    strcat(value, "\xc3\xa9xyz");
    CHECK_OK(sonde_watch_note(key, value));
    for (unsigned i = 1; i < SONDE_NOTES_MAX; i++) {
        snprintf(key, sizeof key, "number %u", i);
        CHECK_OK(sonde_watch_note(key, "some"));
    }
    CHECK_EQ(sonde_watch_note("one more", "x"), SONDE_LIMIT);
    CHECK_OK(sonde_watch_note("number 1", NULL));
    CHECK_OK(sonde_watch_note("one more", "x"));
    struct sonde_watch *watch = start(&told, 100 * MS, -1);
    stall_until_told(&told, watch_test_blocks);
    sonde_watch_stop(watch);
    CHECK_CONTAINS(told.text, "\xc3\xa9\xc3\xa9\n"); /* cut between two characters */
    CHECK(strstr(told.text, "xyz") == NULL);
    CHECK_CONTAINS(told.text, "noted     one more = x\n");
    CHECK_CONTAINS(told.text, "noted     number 15 = some\n");
    free(told.text);
}

static void *set_notes(void *stop)
{
    for (unsigned i = 0; *(_Atomic unsigned *)stop == 0; i++) {
        (void)!sonde_watch_note("pair", i % 2 == 0 ? "QQQQQQQQQQQQQQQQ" : "ZZZZZZZZZZZZZZZZ");
        sonde_watch_phase(i % 2 == 0 ? "XXXXXXXX" : "YYYYYYYY", SONDE_CONSENT_UNKNOWN);
    }
    return NULL;
}

/* Each report has one value or the other, or none if it could not be read; never parts of two. */
TEST_TIMEOUT(notes_change_while_they_are_read, 60)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    _Atomic unsigned stop = 0;
    pthread_t threads[2];
    for (unsigned i = 0; i < 2; i++) {
        CHECK_OK(pthread_create(&threads[i], NULL, set_notes, &stop));
    }
    struct sonde_watch *watch = start(&told, 100 * MS, -1);
    stall_until_told(&told, watch_test_blocks);
    stop = 1;
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    sonde_watch_stop(watch);
    CHECK(strstr(told.text, "QZ") == NULL && strstr(told.text, "ZQ") == NULL);
    CHECK(strstr(told.text, "XY") == NULL && strstr(told.text, "YX") == NULL);
    free(told.text);
}

/* --- pauses, the begin --- */

TEST_TIMEOUT(no_turn_is_a_stall_in_a_pause, 60)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct sonde_watch *watch = start(&told, 100 * MS, -1);
    wait_idle(1);
    sonde_watch_pause();
    watch_test_blocks(300 * MS);
    wait_idle(1);
    uint32_t scope = sonde_scope_enter("in the pause", 50 * MS);
    watch_test_blocks(300 * MS);
    sonde_watch_pause(); /* pauses nest */
    sonde_watch_resume();
    watch_test_blocks(200 * MS);
    sonde_watch_resume(); /* the turn and the scope that began before stay unwatched */
    watch_test_blocks(300 * MS);
    sonde_scope_leave(scope);
    wait_idle(30);
    CHECK_EQ(told.count, 0);
    stall_until_told(&told, watch_test_blocks);
    sonde_watch_stop(watch);
    sonde_watch_resume(); /* one resume too many is harmless */
    CHECK(told.count > 0);
    free(told.text);
}

struct both {
    struct told begun, ended;
    _Atomic unsigned stalled, ended_first;
};

static void on_begin(void *ctx, const struct sonde_stall *stall)
{
    struct both *both = ctx;
    both->stalled = sonde_watch_stalled();
    CHECK_EQ(stall->open, 1);
    watches_on_stall(&both->begun, stall);
}

static void on_end(void *ctx, const struct sonde_stall *stall)
{
    struct both *both = ctx;
    both->ended_first |= both->begun.count <= both->ended.count;
    watches_on_stall(&both->ended, stall);
}

TIMED_TEST(begin_of_a_stall_is_told_with_a_stack, 60)
{
    static struct both both = {.begun = {.mutex = PTHREAD_MUTEX_INITIALIZER},
                               .ended = {.mutex = PTHREAD_MUTEX_INITIALIZER}};
    const struct sonde_watch_options options = {.struct_bytes = sizeof options,
                                                .threshold_ns = 100 * MS,
                                                .on_stall = on_end,
                                                .on_begin = on_begin,
                                                .ctx = &both};
    CHECK_EQ(sonde_watch_stalled(), 0);
    struct sonde_watch *watch = watches_start(&options);
    wait_idle(1);
    for (unsigned i = 0; i < 20 && (both.stalled == 0 || both.ended.count == 0); i++) {
        watch_test_blocks(800 * MS);
        wait_idle(200);
    }
    sonde_idle_enter();
    sonde_watch_stop(watch);
    CHECK_EQ(sonde_watch_stalled(), 0);
    CHECK_EQ(both.stalled, 1);
    CHECK_EQ(both.ended_first, 0);
    CHECK_EQ(both.begun.last.tid, syscall(SYS_gettid));
    CHECK_CONTAINS(both.begun.text, "watch_test_blocks");
    CHECK(both.begun.last.duration_ns <= both.ended.last.duration_ns);
    free(both.begun.text);
    free(both.ended.text);
}

/* --- what outlives the program --- */

static int append(void *ctx, const void *bytes, size_t size)
{
    char *text = ctx;
    size_t length = strlen(text);
    CHECK(length + size < 1u << 20);
    memcpy(text + length, bytes, size);
    text[length + size] = '\0';
    return 0;
}

static char *show_report(const char *path)
{
    struct sonde_report *report;
    struct sonde_error error;
    size_t size;
    char *bytes = test_read_file(path, &size);
    char *text = calloc(1, 1u << 20);
    CHECK_OK(sonde_report_read(bytes, size, &report, &error));
    CHECK_OK(sonde_report_text(report, append, text, &error));
    sonde_report_destroy(report);
    free(bytes);
    return text;
}

/* The text of all reports in a folder; counts reports and live files. */
static char *show_folder(const char *path, unsigned *ret_reports, unsigned *ret_live)
{
    char *all = calloc(1, 1u << 22), file[4096];
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    *ret_reports = *ret_live = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        size_t length = strlen(entry->d_name);
        *ret_live += length > 5 && strcmp(entry->d_name + length - 5, ".live") == 0;
        if (length > 6 && strcmp(entry->d_name + length - 6, ".sonde") == 0) {
            snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
            char *text = show_report(file);
            CHECK(strlen(all) + strlen(text) < 1u << 22);
            strcat(all, text);
            free(text);
            ++*ret_reports;
        }
    }
    closedir(folder);
    return all;
}

static void tell_pipe(void *ctx, const struct sonde_stall *stall)
{
    (void)stall;
    ssize_t written = write(*(int *)ctx, "b", 1);
    (void)written;
}

static struct sonde_watch_options spooled(const char *folder, int *pipe_end)
{
    return (struct sonde_watch_options){.struct_bytes = sizeof(struct sonde_watch_options),
                                        .threshold_ns = 100 * MS,
                                        .spool = folder,
                                        .on_begin = pipe_end != NULL ? tell_pipe : NULL,
                                        .ctx = pipe_end};
}

/* The program is killed during a stall; the next watch of the folder finishes its report. */
TEST_TIMEOUT(a_killed_program_leaves_its_stall, 60)
{
    char folder[4096], byte;
    int ends[2], status;
    unsigned reports, live;
    snprintf(folder, sizeof folder, "%s/spool", test_folder());
    CHECK_OK(pipe2(ends, O_CLOEXEC));
    if (!CAN_START_IN_CHILD) {
        SKIP("a fork child cannot start a thread here");
    }
    pid_t pid = fork();
    if (pid == 0) {
        struct sonde_watch_options options = spooled(folder, &ends[1]);
        CHECK_OK(sonde_watch_note("document", "unsaved"));
        sonde_watch_phase("editing", SONDE_CONSENT_GIVEN);
        (void)watches_start(&options);
        wait_idle(1);
        watch_test_blocks(60000 * MS);
        _exit(1);
    }
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 1) {
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        SKIP("no watch");
    }
    kill(pid, SIGKILL);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    close(ends[0]);
    struct sonde_watch_options options = spooled(folder, NULL);
    sonde_watch_stop(watches_start(&options)); /* this watch has no stall, so it leaves no report */
    char *text = show_folder(folder, &reports, &live);
    CHECK_EQ(reports, 1);
    CHECK_EQ(live, 0);
    CHECK_CONTAINS(text, "not over when the watch was killed; the program ended, too");
    CHECK_CONTAINS(text, "watch_test_blocks");
    CHECK_CONTAINS(text, "noted     document = unsaved\n");
    CHECK_CONTAINS(text, "in        \"editing\", consent given\n");
    free(text);
}

TEST(a_spool_folder_that_cannot_be_is_refused)
{
    struct sonde_watch_options options = spooled("/proc/no/such/place", NULL);
    struct sonde_watch *watch = NULL;
    struct sonde_error error = {0};
    enum sonde_status status = sonde_watch_start(&options, &watch, &error);
    CHECK(status != SONDE_OK);
    CHECK(watch == NULL);
    CHECK(error.what[0] != '\0');
    options.spool = NULL; /* with no spool either, no report could go anywhere */
    CHECK_EQ(sonde_watch_start(&options, &watch, &error), SONDE_USAGE);
}

static void *loop_beside(void *stop)
{
    while (*(_Atomic unsigned *)stop == 0) {
        SONDE_SCOPE("beside", 10000 * MS);
        (void)!sonde_watch_note("beside", "x");
        wait_idle(1);
    }
    sonde_idle_enter();
    return NULL;
}

static int live_in_child(struct sonde_watch *watch, struct told *told)
{
    stall_until_told(told, watch_test_blocks);
    sonde_watch_stop(watch); /* through the parent's handle */
    watch_test_blocks(1 * MS);
    return told->last.tid == (uint64_t)getpid() && strstr(told->text, "watch_test_blocks") != NULL
               ? 0
               : 1;
}

/* Fork children of a process with busy threads have watches of their own. These report what they
 * see, and leave the parent's report and spooled files alone. */
TEST_TIMEOUT(fork_children_have_the_watch_too, 120)
{
    static struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    char folder[4096], path[4096];
    _Atomic unsigned stop = 0;
    pthread_t threads[3];
    unsigned reports, live;
    int status;
#if defined(SONDE_SANITIZED)
    SKIP("a sanitizer's heap may be locked for ever in a fork child of busy threads");
#endif
    snprintf(folder, sizeof folder, "%s/spool", test_folder());
    snprintf(path, sizeof path, "%s/report", test_folder());
    int fd = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    const struct sonde_watch_options options = {.struct_bytes = sizeof options,
                                                .threshold_ns = 100 * MS,
                                                .report_fd = fd,
                                                .on_stall = watches_on_stall,
                                                .ctx = &told,
                                                .spool = folder,
                                                .in_children = 1};
    struct sonde_watch *watch = watches_start(&options);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_OK(pthread_create(&threads[i], NULL, loop_beside, &stop));
    }
    wait_idle(1);
    for (unsigned i = 0; i < 5; i++) {
        unsigned before = told.count;
        pid_t child = fork();
        if (child == 0) {
            _exit(live_in_child(watch, &told));
        }
        pid_t quick = fork(); /* uses no mark, so no watch needs an end */
        if (quick == 0) {
            _exit(0);
        }
        sonde_idle_enter();
        CHECK_EQ(waitpid(quick, &status, 0), quick);
        CHECK_EQ(status, 0);
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
        CHECK_EQ(told.count, before);
    }
    struct stat before, after;
    CHECK_OK(fstat(fd, &before));
    stall_until_told(&told, watch_test_burns);
    CHECK_OK(fstat(fd, &after));
    CHECK(after.st_size > before.st_size);
    stop = 1;
    for (unsigned i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    sonde_watch_stop(watch);
    close(fd);
    char *text = show_report(path);
    CHECK_CONTAINS(text, "watch_test_burns");
    CHECK(strstr(text, "watch_test_blocks") == NULL); /* only the children blocked there */
    free(text);
    text = show_folder(folder, &reports, &live);
    CHECK_EQ(reports, 6); /* the parent's and those of five children */
    CHECK_EQ(live, 0);
    free(text);
    free(told.text);
}

/* --- what it costs --- */

/* Voluntary switches of the watch's thread so far. */
static unsigned long long switches_of_watch(void)
{
    unsigned long long switches = 0, n;
    char path[300], line[256];
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        bool watch = false;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *file = fopen(path, "re");
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            watch = watch || strcmp(line, "Name:\tsonde-watch\n") == 0;
            if (watch && sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1) {
                switches += n;
            }
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    closedir(tasks);
    return switches;
}

/* Find two idle seconds in which the watch did not wake up. A watch that wakes up in each period
 * never has such seconds, however long the test waits. */
TEST_TIMEOUT(an_idle_watch_does_not_wake_up, 90)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct sonde_watch *watch = start(&told, 250 * MS, -1);
    unsigned windows = 0;
    wait_idle(1);
    sonde_scope_leave(sonde_scope_enter("used once", 10000 * MS));
    sonde_idle_enter();
    for (; windows < 20; windows++) {
        unsigned long long before = switches_of_watch();
        CHECK(before > 0);
        poll(NULL, 0, 2000);
        if (switches_of_watch() == before) {
            break;
        }
    }
    CHECK(windows < 20);
    sonde_watch_stop(watch);
    CHECK_EQ(told.count, 0);
}
