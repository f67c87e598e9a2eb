// SPDX-License-Identifier: Apache-2.0
/* `sonde run --audit --spool`: counts survive a kill of any process. The program notes each call
 * that it has finished, so a report is checked against the program itself. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

static char sonde_path[512], program_path[512], spool_path[600], err_path[600], rules_path[600],
    done_path[600];

struct watched {
    pid_t program, supervisor, spare;
    const _Atomic uint64_t *done;
};

enum { ROUNDS = 5 };

static void pause_ms(unsigned ms)
{
    const struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

static void set_paths(void)
{
    snprintf(sonde_path, sizeof sonde_path, "%s/cli/sonde", test_build_dir());
    snprintf(program_path, sizeof program_path, "%s/tests/integration/run/run_kept",
             test_build_dir());
    snprintf(spool_path, sizeof spool_path, "%s/spool", test_folder());
    snprintf(err_path, sizeof err_path, "%s/err", test_folder());
    snprintf(rules_path, sizeof rules_path, "%s/rules.ini", test_folder());
    snprintf(done_path, sizeof done_path, "%s/done", test_folder());
    static const char rules[] = "[rule \"environment\"]\napi = getenv\n";
    test_write_file(rules_path, rules, sizeof rules - 1);
}

static pid_t parent_of(pid_t pid)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    CHECK(f != NULL && fgets(line, sizeof line, f) != NULL);
    fclose(f);
    const char *end = strrchr(line, ')');
    return end != NULL ? (pid_t)atoi(end + 4) : 0;
}

/* The number after this text in sonde's messages. */
static int await_message(const char *text)
{
    for (unsigned i = 0; i < 1200; i++) {
        char *err = access(err_path, R_OK) == 0 ? test_read_file(err_path, NULL) : NULL;
        const char *at = err != NULL ? strstr(err, text) : NULL;
        bool is_whole = at != NULL && strchr(at, '\n') != NULL;
        int number = is_whole ? atoi(at + strlen(text)) : 0;
        free(err);
        if (is_whole) {
            return number;
        }
        pause_ms(25);
    }
    FAIL("no message \"%s\"", text);
    return 0;
}

static void start(struct watched *w)
{
    const char *const argv[] = {sonde_path, "run", "-v",         "--audit", rules_path, "--spool",
                                spool_path, "--",  program_path, done_path, NULL};
    char zeros[4096] = {0};
    test_write_file(done_path, zeros, sizeof zeros);
    int fd = open(done_path, O_RDONLY | O_CLOEXEC);
    w->done = mmap(NULL, sizeof zeros, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    (void)unlink(err_path);
    w->program = fork();
    if (w->program == 0) {
        int err = open(err_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(err, 2);
        execv(sonde_path, (char **)(uintptr_t)argv);
        _exit(127);
    }
    w->supervisor = await_message("supervisor ");
    w->spare = parent_of(w->supervisor);
}

static uint64_t done_by_now(const struct watched *w)
{
    return w->done[0] + w->done[1];
}

static bool find_file(const char *suffix, char ret_path[1024])
{
    bool is_found = false;
    DIR *folder = opendir(spool_path);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        size_t length = strlen(entry->d_name), end = strlen(suffix);
        if (length > end && strcmp(entry->d_name + length - end, suffix) == 0) {
            snprintf(ret_path, 1024, "%s/%s", spool_path, entry->d_name);
            is_found = true;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return is_found;
}

static ino_t live_inode(void)
{
    char path[1024];
    struct stat st;
    return find_file(".live", path) && stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Wait for two looks: the second one began after this call. */
static void await_look(void)
{
    for (unsigned looks = 0; looks < 2; looks++) {
        ino_t before = live_inode();
        unsigned i = 0;
        while (live_inode() == before && i++ < 2400) {
            pause_ms(10);
        }
        CHECK(live_inode() != before);
    }
}

static char *run_sonde(const char *verb, const char *what, const char *file)
{
    const char *const argv[] = {sonde_path, verb, what, file, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    free(run.err);
    return run.out;
}

static void finish(void)
{
    char live[1024];
    for (unsigned i = 0; i < 400 && find_file(".live", live); i++) {
        free(
            run_sonde("spool", "finish", spool_path)); /* a lock may outlive its process a little */
        pause_ms(25);
    }
    CHECK(!find_file(".live", live));
}

/* The sum of the report's calls; removes it. */
static uint64_t calls_of_report(void)
{
    char path[1024];
    uint64_t sum = 0;
    CHECK(find_file(".sonde", path));
    char *json = run_sonde("show", "--json", path);
    CHECK(strstr(json, "\"kind\": \"audit\"") != NULL ||
          strstr(json, "\"kind\":\"audit\"") != NULL);
    for (const char *at = json; (at = strstr(at, "\"count\"")) != NULL;) {
        at += strcspn(at, "0123456789");
        sum += strtoull(at, NULL, 10);
    }
    free(json);
    (void)unlink(path);
    return sum;
}

static void done_with(struct watched *w)
{
    (void)waitpid(w->program, NULL, 0);
    munmap((void *)(uintptr_t)w->done, 4096);
}

/* All at once: what was done before the last look is there, and nothing that was not done. A call
 * of each thread may have been counted and not noted. */
TEST_TIMEOUT(calls_survive_a_kill_of_all, 300)
{
    set_paths();
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct watched w;
        start(&w);
        pause_ms((unsigned)(getpid() * 7 + (int)round * 131) % 700);
        uint64_t least = done_by_now(&w);
        await_look();
        kill(w.spare, SIGKILL);
        kill(w.supervisor, SIGKILL);
        kill(w.program, SIGKILL);
        (void)waitpid(w.program, NULL, 0);
        uint64_t most = done_by_now(&w) + 2;
        finish();
        uint64_t calls = calls_of_report();
        CHECK(least > 0 && calls >= least);
        CHECK(calls <= most);
        done_with(&w);
    }
}

/* Something in the way of the new file. */
TEST_TIMEOUT(calls_are_kept_again_when_the_file_can_be_written_again, 120)
{
    struct watched w;
    char live[1024], part[1040];
    set_paths();
    start(&w);
    await_look();
    CHECK(find_file(".live", live));
    snprintf(part, sizeof part, "%.*s.part", (int)(strlen(live) - strlen(".live")), live);
    while (mkdir(part, 0700) != 0) { /* a look has its own there for a moment */
        pause_ms(1);
    }
    (void)await_message("the live file could not be written: ");
    CHECK_EQ(rmdir(part), 0);
    uint64_t least = done_by_now(&w);
    await_look();
    kill(w.spare, SIGKILL);
    kill(w.supervisor, SIGKILL);
    kill(w.program, SIGKILL);
    (void)waitpid(w.program, NULL, 0);
    finish();
    CHECK(calls_of_report() >= least);
    done_with(&w);
}

/* The other processes go on: the report is exact. */
static void check_exact(bool with_supervisor)
{
    set_paths();
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct watched w;
        char live[1024];
        start(&w);
        pause_ms((unsigned)(getpid() * 3 + (int)round * 97) % 300);
        if (with_supervisor) {
            kill(w.supervisor, SIGKILL);
            pause_ms((unsigned)(getpid() + (int)round * 71) % 400);
        }
        kill(w.program, SIGKILL);
        (void)waitpid(w.program, NULL, 0);
        for (unsigned i = 0; i < 2400 && find_file(".live", live); i++) {
            pause_ms(25);
        }
        CHECK(!find_file(".live", live));
        uint64_t calls = calls_of_report(), done = done_by_now(&w);
        CHECK(calls >= done && calls <= done + 2);
        done_with(&w);
    }
}

TEST_TIMEOUT(calls_survive_a_kill_of_the_program, 300)
{
    check_exact(false);
}

TEST_TIMEOUT(calls_survive_a_kill_of_the_supervisor, 300)
{
    check_exact(true);
}

TEST_TIMEOUT(calls_are_listed_while_the_program_runs, 120)
{
    struct watched w;
    set_paths();
    start(&w);
    await_look();
    char *listed = run_sonde("spool", "list", spool_path);
    CHECK(strstr(listed, "running") != NULL);
    CHECK(strstr(listed, " calls ") != NULL);
    free(listed);
    kill(w.program, SIGKILL);
    done_with(&w);
}
