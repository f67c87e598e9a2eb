// SPDX-License-Identifier: Apache-2.0
/* Unusual processes: each is shown, or one line says why not and what to do. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start.h"
#include "test.h"

static struct test_run sonde(const char *verb, const char *operand, const char *option)
{
    const char *const argv[] = {sonde_program(), verb, operand, option, NULL};
    return test_run(argv, NULL, NULL, 60);
}

static struct test_run sonde_of(const char *verb, pid_t pid, const char *option)
{
    char text[16];
    snprintf(text, sizeof text, "%d", (int)pid);
    return sonde(verb, text, option);
}

static pid_t start_waiter(void)
{
    const char *const program[] = {test_program("support", "waiter"), "2", NULL};
    pid_t pid = start_program(program);
    wait_blocked(pid);
    return pid;
}

/* Compile `source` into the test's folder by the shell's `command`, with $SOURCE and $PROGRAM, and
 * start it. Skips if the machine's compiler cannot. */
static pid_t start_compiled(const char *command, const char *source)
{
    static char program[300];
    char source_path[300], line[1200];
    const char *const compile[] = {"sh", "-c", line, NULL};
    const char *const start[] = {program, NULL};
    struct test_run run;
    snprintf(program, sizeof program, "%s/program", test_folder());
    snprintf(source_path, sizeof source_path, "%s/program.c", test_folder());
    test_write_file(source_path, source, strlen(source));
    snprintf(line, sizeof line, "SOURCE=%s PROGRAM=%s; %s", source_path, program, command);
    run = test_run(compile, NULL, NULL, 60);
    if (run.status != 0) {
        SKIP("cannot be compiled here: %s", run.err);
    }
    test_run_done(&run);
    return start_program(start);
}

/* End a process that is not our child. */
static void end_stranger(pid_t pid)
{
    kill(pid, SIGKILL);
    for (unsigned i = 0; i < 2000 && kill(pid, 0) == 0; i++) {
        usleep(1000);
    }
}

TEST(invalid_process_ids)
{
    static const char *const texts[] = {"0",   "-1",         "+1", "abc",         "",
                                        "12x", "2147483648", " 1", "99999999999", "0x10"};
    static const char *const verbs[] = {"stacks", "doctor"};
    for (unsigned i = 0; i < 2 * sizeof texts / sizeof texts[0]; i++) {
        const char *text = texts[i / 2];
        const char *const argv[] = {sonde_program(), verbs[i % 2], "--", text, NULL};
        struct test_run run = test_run(argv, NULL, NULL, 60);
        if (run.status != 2) {
            FAIL("%s \"%s\": ended with %d: %s", verbs[i % 2], text, run.status, run.err);
        }
        CHECK_STR(run.out, "");
        check_one_line(run.err, "not a process id");
        test_run_done(&run);
    }
}

TEST(a_message_says_a_thing_once)
{
    struct test_run run = sonde("stacks", "2147483647", NULL);
    CHECK_STR(run.err, "sonde stacks: process 2147483647: no such process\n");
    test_run_done(&run);
}

/* A thread's id selects its process. */
TEST(the_id_of_a_thread)
{
    pid_t pid = start_waiter();
    char folder[64], head[64];
    struct dirent *entry;
    pid_t tid = 0;
    DIR *dir;
    snprintf(folder, sizeof folder, "/proc/%d/task", (int)pid);
    snprintf(head, sizeof head, "process %d ", (int)pid);
    dir = opendir(folder);
    CHECK(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        tid = atoi(entry->d_name) > pid ? atoi(entry->d_name) : tid;
    }
    closedir(dir);
    CHECK(tid != 0);
    struct test_run run = sonde_of("stacks", tid, NULL);
    CHECK_EQ(run.status, 0);
    CHECK(strncmp(run.out, head, strlen(head)) == 0);
    CHECK_CONTAINS(run.out, "wait_in_main+");
    CHECK_CONTAINS(run.out, "wait_for_lock+");
    test_run_done(&run);
    run = sonde_of("doctor", tid, NULL);
    CHECK_CONTAINS(run.out, "its threads and memory can be read");
    test_run_done(&run);
    stop_program(pid);
}

TEST(two_threads_of_one_name)
{
    pid_t pid = start_waiter();
    char pid_text[16], tid_text[16];
    const char *const argv[] = {sonde_program(), "stacks", "--thread", "waiter", "-t",
                                tid_text,        pid_text, NULL};
    const char *const none[] = {sonde_program(), "stacks", "--thread", "", pid_text, NULL};
    snprintf(pid_text, sizeof pid_text, "%d", (int)pid);
    snprintf(tid_text, sizeof tid_text, "%d", (int)pid); /* the same process: shown once */
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "\nthread ");
    CHECK(strstr(strstr(run.out, "\nthread ") + 1, "\nthread ") == NULL);
    test_run_done(&run);
    run = test_run(none, NULL, NULL, 60);
    CHECK_EQ(run.status, 2);
    check_one_line(run.err, "--thread: neither an id nor a name");
    test_run_done(&run);
    stop_program(pid);
}

/* root is not told to become root. */
TEST(process_1)
{
    struct test_run run = sonde("stacks", "1", NULL);
    CHECK(run.status == 0 || run.status == 4 || run.status == 6);
    if (run.status != 0) {
        check_one_line(run.err, "");
    }
    if (geteuid() == 0) {
        CHECK(strstr(run.err, "run as root") == NULL);
    }
    test_run_done(&run);
    run = sonde("doctor", "1", NULL);
    CHECK(run.status == 0 || run.status == 1);
    CHECK_CONTAINS(run.out, "process");
    test_run_done(&run);
}

/* The parent of a vfork cannot stop until its child releases it; sonde does not wait for it. */
TEST(the_parent_of_a_vfork)
{
    static const char source[] =
        "#include <stdio.h>\n#include <unistd.h>\n"
        "int main(void) { puts(\"ready\"); fflush(stdout);\n"
        "if (vfork() == 0) { for (;;) sleep(1000); _exit(0); } return 0; }\n";
    pid_t pid = start_compiled("cc -w -O1 -o $PROGRAM $SOURCE", source);
    char children[64], *text;
    struct test_run run;
    usleep(300000); /* the program prints "ready" right before the call */
    run = sonde_of("stacks", pid, NULL);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "blocked in vfork (uninterruptible)");
    CHECK_CONTAINS(run.out, "vfork+");
    CHECK_CONTAINS(run.out, "main+");
    CHECK_CONTAINS(run.out, "__libc_start");
    test_run_done(&run);
    run = sonde_of("stacks", pid, "--stop");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "main+");
    const char *stopped = strstr(run.out, "stopped for ");
    CHECK(stopped != NULL);
    if (strstr(stopped, " ms\n") != NULL && atof(stopped + 12) > 250) {
        FAIL("it waited for a thread that does not stop: %s", run.out);
    }
    test_run_done(&run);
    snprintf(children, sizeof children, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    text = test_read_file(children, NULL);
    CHECK(atoi(text) > 0);
    kill(pid, SIGKILL); /* it ends as soon as its child does */
    end_stranger(atoi(text));
    free(text);
    stop_program(pid);
}

static void check_names(pid_t pid, const char *mark)
{
    struct test_run run = sonde_of("stacks", pid, NULL);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "wait_in_main+");
    CHECK_CONTAINS(run.out, "lock_thread+");
    CHECK_CONTAINS(run.out, "_start+");
    CHECK_CONTAINS(run.out, mark);
    test_run_done(&run);
}

/* The kernel keeps the file of a running program: its names are not lost. */
TEST(a_program_that_was_deleted_or_replaced_has_its_names)
{
    char path[300], other[320];
    const char *const program[] = {path, "2", NULL};
    size_t size;
    char *bytes = test_read_file(test_program("support", "waiter"), &size);
    snprintf(path, sizeof path, "%s/a waiter", test_folder());
    snprintf(other, sizeof other, "%s.new", path);
    test_write_file(path, bytes, size);
    CHECK_OK(chmod(path, 0755));
    pid_t pid = start_program(program);
    wait_blocked(pid);
    CHECK_OK(unlink(path));
    check_names(pid, "[file replaced or deleted]");
    free(bytes);
    bytes = test_read_file("/bin/true", &size);
    test_write_file(other, bytes, size);
    CHECK_OK(rename(other, path));
    check_names(pid, "[file replaced or deleted]");
    free(bytes);
    stop_program(pid);
}

TEST(a_program_without_a_path)
{
    const char *const program[] = {
        "python3", "-c",
        "import os, sys; f = os.memfd_create('from-memory', os.MFD_CLOEXEC)\n"
        "os.write(f, open(sys.argv[1], 'rb').read()); os.execve(f, ['x', '2'], os.environ)",
        test_program("support", "waiter"), NULL};
    pid_t pid = start_program(program);
    wait_blocked(pid);
    check_names(pid, "memfd:from-memory");
    struct test_run run = sonde_of("doctor", pid, NULL);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    stop_program(pid);
}

TEST(a_program_in_its_own_namespaces)
{
    const char *const program[] = {"unshare",
                                   "--user",
                                   "--map-root-user",
                                   "--pid",
                                   "--fork",
                                   "--kill-child",
                                   "--mount",
                                   "--mount-proc",
                                   test_program("support", "waiter"),
                                   "2",
                                   NULL};
    char children[64], *text;
    const char *const able[] = {"unshare",      "--user", "--map-root-user",
                                "--pid",        "--fork", "--mount",
                                "--mount-proc", "true",   NULL};
    struct test_run run = test_run(able, NULL, NULL, 60);
    if (run.status != 0) {
        SKIP("no name spaces here: %s", run.err);
    }
    test_run_done(&run);
    pid_t parent = start_program(program);
    snprintf(children, sizeof children, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    text = test_read_file(children, NULL);
    pid_t pid = atoi(text);
    free(text);
    CHECK(pid > 0);
    wait_blocked(pid);
    check_names(pid, "waits-for-lock");
    end_stranger(pid);
    stop_program(parent);
}

TEST(a_static_program_of_another_libc)
{
    static const char source[] =
        "#include <stdio.h>\n#include <unistd.h>\n"
        "__attribute__((noinline)) void wait_deep(int n) { if (n) wait_deep(n - 1); else\n"
        "for (;;) sleep(1000); __asm__ volatile(\"\"); }\n"
        "int main(void) { puts(\"ready\"); fflush(stdout); wait_deep(5); return 0; }\n";
    pid_t pid = start_compiled("musl-gcc -static -g -O1 -fno-optimize-sibling-calls "
                               "-fasynchronous-unwind-tables -o $PROGRAM $SOURCE",
                               source);
    wait_blocked(pid);
    struct test_run run = sonde_of("stacks", pid, NULL);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "blocked in nanosleep");
    test_run_done(&run);
    run = sonde_of("stacks", pid, "--stop");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "program+0x");
    test_run_done(&run);
    stop_program(pid);
}

TEST(a_32_bit_program)
{
#if !defined(__x86_64__)
    SKIP("32-bit x86 programs run on x86-64 only");
#else
    static const char source[] = ".globl _start\n_start: mov $4, %eax\nmov $1, %ebx\n"
                                 "mov $text, %ecx\nmov $6, %edx\nint $0x80\n"
                                 "wait: mov $29, %eax\nint $0x80\njmp wait\n"
                                 "text: .ascii \"ready\\n\"\n";
    pid_t pid = start_compiled("as --32 -o $PROGRAM.o $SOURCE && ld -m elf_i386 -o $PROGRAM "
                               "$PROGRAM.o && { timeout 0.2 $PROGRAM >/dev/null; [ $? = 124 ]; }",
                               source);
    struct test_run run = sonde_of("stacks", pid, NULL);
    CHECK_EQ(run.status, 6);
    CHECK_STR(run.out, "");
    check_one_line(run.err, "a 32-bit program");
    test_run_done(&run);
    run = sonde_of("stacks", pid, "--stop");
    CHECK_EQ(run.status, 6);
    check_one_line(run.err, "a 32-bit program");
    test_run_done(&run);
    run = sonde_of("doctor", pid, NULL);
    CHECK_EQ(run.status, 1);
    CHECK_CONTAINS(run.out, "a 32-bit program");
    test_run_done(&run);
    stop_program(pid);
#endif
}

/* A program ends during the look: sonde shows what it read, or one line. */
TEST_TIMEOUT(a_program_that_ends_meanwhile, 120)
{
    unsigned ended = 0;
    for (unsigned i = 0; i < 60; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            usleep(i * 400);
            _exit(0);
        }
        struct test_run run = sonde_of("stacks", pid, i % 2 == 0 ? "--stop" : NULL);
        if (run.status != 0 && run.status != 3 && run.status != 7) {
            FAIL("round %u: ended with %d: %s%s", i, run.status, run.out, run.err);
        }
        if (run.status != 0) {
            check_one_line(run.err, "");
        }
        ended += run.status == 3;
        test_run_done(&run);
        waitpid(pid, NULL, 0);
    }
    CHECK(ended > 0); /* else there was no race */
}

static void *wait_for_ever(void *ctx)
{
    for (;;) {
        pause();
    }
    return ctx;
}

/* Start a child with many threads. Returns 0 if the machine does not allow so many. */
static pid_t start_crowd(unsigned count)
{
    int ready[2];
    char said = 0;
    CHECK_OK(pipe(ready));
    pid_t pid = fork();
    if (pid == 0) {
        pthread_attr_t attributes;
        bool all = true;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 65536);
        for (unsigned i = 0; all && i < count; i++) {
            pthread_t thread;
            all = pthread_create(&thread, &attributes, wait_for_ever, NULL) == 0;
        }
        said = all ? 'y' : 'n';
        (void)!write(ready[1], &said, 1);
        wait_for_ever(NULL);
    }
    CHECK_EQ(read(ready[0], &said, 1), 1);
    close(ready[0]);
    close(ready[1]);
    if (said != 'y') {
        stop_program(pid);
        return 0;
    }
    return pid;
}

static unsigned count_of(const char *text, const char *part)
{
    unsigned n = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part)) {
        n++;
    }
    return n;
}

/* Under a sanitizer threads are too heavy for so many. */
#if defined(SONDE_SANITIZED)
#    define CROWD 500
#else
#    define CROWD 5000
#endif

TEST_TIMEOUT(thousands_of_threads, 150)
{
    char number[32];
    pid_t pid = start_crowd(CROWD);
    if (pid == 0) {
        SKIP("%d threads are more than this machine allows", CROWD);
    }
    snprintf(number, sizeof number, "  %d threads", CROWD + 1);
    struct test_run run = sonde_of("stacks", pid, NULL);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, number);
    CHECK(run.out_size < 200000); /* equal stacks shown once, with all thread ids */
    test_run_done(&run);
    run = sonde_of("stacks", pid, "--stop");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    run = sonde_of("stacks", pid, "--json");
    CHECK_EQ(run.status, 0);
    CHECK_EQ(count_of(run.out, "\"tid\": "), CROWD + 1);
    CHECK(count_of(run.out, "\"end\": \"root\"") >= CROWD); /* and main */
    test_run_done(&run);
    stop_program(pid);
}
