// SPDX-License-Identifier: Apache-2.0
/* Programs under all default packs: the same output, and the calls that strace sees of the same run
 * (recall.py). */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"
#include "test.h"

/* Which calls a program makes is for strace to say; at least this many should be compared. */
static void compare_how(const char *how, const char *const program[], long at_least)
{
    const char *argv[32] = {"python3", program_source("audit/recall.py"), program_sonde(),
                            test_folder()};
    size_t n = 4;
    if (how != NULL) {
        argv[n++] = how;
    }
    for (size_t i = 0; program[i] != NULL; i++) {
        argv[n++] = program[i];
    }
    bool is_there =
        program[0][0] == '/' ? access(program[0], X_OK) == 0 : program_on_path(program[0]);
    if (!program_on_path("strace") || !program_on_path("python3") || !is_there) {
        SKIP("strace, python3 or %s is not installed", program[0]);
    }
    struct test_run run = test_run(argv, NULL, NULL, 280);
    if (strstr(run.err, "Stack traces") != NULL ||
        strstr(run.err, "invalid option -- 'k'") != NULL) {
        SKIP("this strace prints no stacks");
    }
    if (run.status != 0) {
        FAIL("%s: %d\n%s%s", program[0], run.status, run.out, run.err);
    }
    const char *all = strstr(run.out, "all: ");
    long found = 0, had = 0;
    CHECK(all != NULL && sscanf(all, "all: %ld of %ld", &found, &had) == 2);
    fprintf(stderr, "%s: %s", program[0], all);
    CHECK(had >= at_least);
    test_run_done(&run);
}

static void compare(const char *const program[], long at_least)
{
    compare_how(NULL, program, at_least);
}

TEST_TIMEOUT(perl, 300)
{
    static const char *const argv[] = {
        "perl", "-e",
        "use POSIX; for (1..100) { -e '/x'; open(F, '/etc/passwd'); getppid() } print 7; exit 3",
        NULL};
    compare(argv, 400);
}

TEST_TIMEOUT(python, 300)
{
    static const char *const argv[] = {
        "/usr/bin/python3", "-c",
        "import json, os, socket, threading\n"
        "def f():\n"
        "  for i in range(20): os.stat('/etc'); open('/etc/passwd').read()\n"
        "t = [threading.Thread(target=f) for _ in range(4)]\n"
        "[x.start() for x in t]; [x.join() for x in t]\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', 9))\n"
        "print(json.dumps(list(range(9)))); raise SystemExit(5)",
        NULL};
    compare(argv, 300);
}

static void make_repository(char *folder, size_t size)
{
    char line[2048];
    snprintf(folder, size, "%s/repository", test_folder());
    snprintf(line, sizeof line,
             "git init -q %s && cd %s && for i in 1 2 3; do echo $i >f$i; git add .; "
             "git -c user.name=a -c user.email=a@b -c gc.auto=0 commit -qm $i; done",
             folder, folder);
    const char *const argv[] = {"sh", "-c", line, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}

TEST_TIMEOUT(git, 300)
{
    char folder[600];
    if (!program_on_path("git")) {
        SKIP("git is not installed");
    }
    make_repository(folder, sizeof folder);
    const char *const argv[] = {"git", "-C", folder, "log", "--stat", "--no-color", NULL};
    compare(argv, 30);
}

TEST_TIMEOUT(curl, 300)
{
    static const char *const argv[] = {"curl", "-s", "file:///etc/passwd", NULL};
    compare(argv, 3);
}

TEST_TIMEOUT(node, 300)
{
    static const char *const argv[] = {
        "node", "-e",
        "for (let i = 0; i < 9; i++) require('fs').readFileSync('/etc/passwd'); process.exit(4)",
        NULL};
    if (!test_long()) {
        SKIP("needs SONDE_TEST_LONG: minutes under strace");
    }
    compare(argv, 10);
}

TEST_TIMEOUT(ssh, 300)
{
    static const char *const argv[] = {"ssh", "-G", "-F", "none", "example.org", NULL};
    if (!test_long()) {
        SKIP("needs SONDE_TEST_LONG");
    }
    compare(argv, 3);
}

TEST_TIMEOUT(gpg, 300)
{
    char home[600];
    if (!test_long()) {
        SKIP("needs SONDE_TEST_LONG");
    }
    snprintf(home, sizeof home, "%s", test_folder());
    const char *const argv[] = {"gpg", "--homedir", home, "--no-autostart", "--list-keys", NULL};
    compare(argv, 3);
}

TEST_TIMEOUT(children_of_perl, 300)
{
    static const char *const argv[] = {
        "perl", "-e",
        "for $i (1..5) { fork() or do { -e '/x' for 1..$i; getppid(); exit 0 } }"
        "1 while wait > 0; print 'ok'; exit 4",
        NULL};
    compare_how("--follow", argv, 30);
}

TEST_TIMEOUT(programs_of_a_shell, 300)
{
    static const char *const argv[] = {
        "sh", "-c", "ls / | sort | head -3; cat /etc/passwd | wc -l; echo done; exit 3", NULL};
    compare_how("--follow", argv, 10);
}

TEST_TIMEOUT(helpers_of_git, 300)
{
    char folder[600], line[2048];
    if (!program_on_path("git")) {
        SKIP("git is not installed");
    }
    make_repository(folder, sizeof folder);
    snprintf(line, sizeof line, "cd %s && git fsck 2>&1 && git repack -adq && git log --oneline -1",
             folder);
    const char *const argv[] = {"sh", "-c", line, NULL};
    compare_how("--follow", argv, 100);
}

TEST_TIMEOUT(compilers_of_make, 300)
{
    char path[600], line[2048];
    static const char rules[] =
        "prog: a.o b.o c.o d.o\n\tcc -o $@ $^\n%.o: %.c\n\tcc -c -o $@ $<\n";
    if (!test_long() || !program_on_path("make") || !program_on_path("cc")) {
        SKIP("needs SONDE_TEST_LONG, make and cc: a minute under strace");
    }
    snprintf(path, sizeof path, "%s/Makefile", test_folder());
    test_write_file(path, rules, strlen(rules));
    snprintf(line, sizeof line,
             "cd %s && rm -f *.o prog; for f in b c d; do echo 'int x;' >$f.c; sed -i s/x/$f/ "
             "$f.c; done; "
             "echo 'int main(void) { return 6; }' >a.c; make -s -j4; ./prog; echo $?",
             test_folder());
    const char *const argv[] = {"sh", "-c", line, NULL};
    compare_how("--follow", argv, 300);
}
