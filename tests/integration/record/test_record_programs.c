// SPDX-License-Identifier: Apache-2.0
/* Stock programs with some of their functions recorded, mostly fifty or more: same output, same
 * exit status. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"

static const char fifty[] =
    "getenv\nsecure_getenv\nopen\nopen64\nopenat\nopenat64\nfopen\nfopen64\nread\nwrite\npread\n"
    "pread64\nstat\nstat64\nfstat\nfstat64\nlstat\nlstat64\naccess\nreadlink\nopendir\nreaddir\n"
    "readdir64\nclose\nfcntl\nfcntl64\nioctl\nsocket\nconnect\ngetaddrinfo\ngetpid\ngetuid\n"
    "geteuid\nuname\ngethostname\nsysconf\ntime\ngettimeofday\nclock_gettime\nmmap\nmmap64\n"
    "munmap\nqsort\nsnprintf\nfwrite\npthread_create\nsigaction\ndup2\npipe2\neventfd\nprctl\n"
    "sched_getaffinity\nepoll_ctl\nmalloc\nfree\nstrlen\nstrchr\nmemcpy\nmemset\n";

static void check_same(const char *const argv[], const char *functions)
{
    const char *recorded[32] = {program_sonde(), "run", "--record", NULL, "--"};
    char list[512];
    size_t n = 5;
    if (argv[0][0] == '/' ? access(argv[0], X_OK) != 0 : !program_on_path(argv[0])) {
        SKIP("%s is not installed", argv[0]);
    }
    snprintf(list, sizeof list, "%s/list", test_folder());
    test_write_file(list, functions, strlen(functions));
    recorded[3] = list;
    for (size_t i = 0; argv[i] != NULL; i++) {
        recorded[n++] = argv[i];
    }
    struct test_run plain = test_run(argv, NULL, "one\ntwo\n", 60);
    struct test_run run = test_run(recorded, NULL, "one\ntwo\n", 120);
    CHECK_EQ(run.status, plain.status);
    CHECK_STR(run.out, plain.out);
    CHECK_CONTAINS(run.err, " recorded, ");
    CHECK(strstr(run.err, "sonde run: 0 calls") == NULL);
    test_run_done(&plain);
    test_run_done(&run);
}

TEST(perl)
{
    const char *argv[] = {"perl", "-e",
                          "my %h; for (1..300) { open(F, '<', '/etc/passwd'); my @l = <F>; close F;"
                          " $h{$_} = @l . $ENV{PATH}; } print join(' ', sort keys %h), <STDIN>;"
                          " exit 3",
                          NULL};
    check_same(argv, fifty);
}

TEST(python)
{
    const char *argv[] = {
        "/usr/bin/python3", "-c",
        "import json, ssl, threading\n"
        "t = [threading.Thread(target=lambda: sum(range(1000))) for _ in range(4)]\n"
        "[x.start() for x in t]; [x.join() for x in t]\n"
        "print(json.dumps(list(range(9)))); raise SystemExit(5)",
        NULL};
    check_same(argv, fifty);
}

/* A million calls, most of them through its own builtins, which have no call frame information. */
TEST(node)
{
    const char *argv[] = {"node", "-e", "console.log(process.env.HOME); process.exit(4)", NULL};
    check_same(argv, fifty);
}

TEST(git)
{
    const char *argv[] = {"git", "--version", NULL};
    check_same(argv, fifty);
}

/* "lstat64  27 calls ..." of a program that makes a repository. */
static long calls_of_lstat64(const char *listed, const char *folder)
{
    char list[512], repository[512];
    snprintf(list, sizeof list, "%s/%s.list", test_folder(), folder);
    snprintf(repository, sizeof repository, "%s/%s", test_folder(), folder);
    test_write_file(list, listed, strlen(listed));
    const char *argv[] = {program_sonde(), "run",  "--record", list,       "--",
                          "git",           "init", "-q",       repository, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    const char *line = strstr(run.err, "\nlstat64  ");
    long calls = line != NULL ? strtol(line + 10, NULL, 10) : 0;
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    return calls;
}

/* A program built with 64-bit offsets calls lstat64, which is lstat: a list with one of the names
 * means both. */
TEST(other_names_of_a_listed_function)
{
    if (!program_on_path("git")) {
        SKIP("git is not installed");
    }
    long calls = calls_of_lstat64("lstat64\n", "one");
    if (calls == 0) {
        SKIP("this git does not call lstat64");
    }
    CHECK_EQ(calls_of_lstat64("lstat\n", "two"), calls);
}

TEST(curl)
{
    const char *argv[] = {"curl", "-s", "file:///etc/passwd", NULL};
    check_same(argv, fifty);
}

/* A program is recorded until it executes another one, however it ends. Its children's calls are
 * not its own. */
TEST(recorded_until_another_program_is_executed)
{
    static const char *const ends[] = {"exec 'true'", "kill 9, $$", "POSIX::_exit(0)", "exit 0"};
    char list[512], script[300];
    if (!program_on_path("perl")) {
        SKIP("perl is not installed");
    }
    snprintf(list, sizeof list, "%s/list", test_folder());
    test_write_file(list, "getppid\n", 8);
    for (unsigned i = 0; i < 4; i++) {
        snprintf(script, sizeof script,
                 "use POSIX (); for (1..7) { getppid() } "
                 "if (fork() == 0) { getppid(); exit } wait; %s",
                 ends[i]);
        const char *argv[] = {program_sonde(), "run", "--record", list, "--",
                              "perl",          "-e",  script,     NULL};
        struct test_run run = test_run(argv, NULL, NULL, 60);
        for (unsigned k = 0; k < 100 && strstr(run.err, "7 calls of 1 function ") == NULL; k++) {
            /* for a killed program, the report is written after its end */
            test_run_done(&run);
            run = test_run(argv, NULL, NULL, 60);
        }
        CHECK_CONTAINS(run.err, "7 calls of 1 function recorded, 1 different stack");
        test_run_done(&run);
    }
}

static void check_sanitized(const char *program)
{
    char list[512];
    const char *path = program_built(program);
    const char *plain[] = {path, NULL}, *watched[] = {program_sonde(), "run", "--", path, NULL};
    const char *recorded[] = {program_sonde(), "run", "--record", list, "--", path, NULL};
    if (access(path, X_OK) != 0) {
        SKIP("the compiler has no such runtime to link with");
    }
    struct test_run run = test_run(plain, NULL, NULL, 60);
    if (run.status != 0) {
        SKIP("its sanitizer does not work here: %s", run.err);
    }
    CHECK_STR(run.out, "right\n");
    test_run_done(&run);
    snprintf(list, sizeof list, "%s/list", test_folder());
    test_write_file(list, "getppid\n", 8);
    run = test_run(recorded, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.out, "right\n");
    CHECK_CONTAINS(run.err, "\ngetppid  100 calls from 2 stacks");
    test_run_done(&run);
    run = test_run(watched, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.out, "right\n");
    test_run_done(&run);
}

/* ThreadSanitizer's functions work only after its start, which comes after the first
 * constructor. */
TEST(with_thread_sanitizer)
{
    check_sanitized("record/sanitized_thread");
}

TEST(with_address_sanitizer)
{
    check_sanitized("record/sanitized_address");
}
