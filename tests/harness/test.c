// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test_machine.h"

enum {
    EXIT_PASS = 0,
    EXIT_FAIL_ALWAYS = 97,
    EXIT_FAIL = 98,
    EXIT_SKIP = 99
}; /* of a test child, private to this file */
enum { TIMEOUT_DEFAULT_S = 60, TEXT_MAX = 16384, FD_MAX = 256 };
enum { SLACK_MAX = 4 };
/* Runnable threads per processor from which a TIMED_TEST may be repeated. */
#define OVERLOADED 1.5

extern const struct test_case *const __start_sonde_tests[];
extern const struct test_case *const __stop_sonde_tests[];

static int message_fd = STDERR_FILENO; /* where a child says why it failed */
static char folder_path[64];
static unsigned slack = 1;
#if !defined(SONDE_SANITIZED)
static bool heap_checked; /* mallinfo is exact in this process */
#endif

static void say(const char *format, va_list args)
{
    char text[4096];
    int n = vsnprintf(text, sizeof text, format, args);
    if (n > 0) {
        size_t size = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
        ssize_t written = write(message_fd, text, size);
        (void)written;
    }
}

static void say_f(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say_f(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

static void say_failure(const char *file, int line, const char *format, va_list args)
{
    const char *base = strrchr(file, '/');
    say_f("%s:%d: ", base != NULL ? base + 1 : file, line);
    say(format, args);
    fflush(NULL);
}

void test_fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_failure(file, line, format, args);
    va_end(args);
    _exit(EXIT_FAIL);
}

void test_fail_always(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_failure(file, line, format, args);
    va_end(args);
    _exit(EXIT_FAIL_ALWAYS);
}

void test_skip(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    fflush(NULL);
    _exit(EXIT_SKIP);
}

/* --- what a child may not leave behind --- */

static size_t list_numbers(const char *path, bool *seen, size_t seen_max, int ignore)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    size_t n = 0;
    if (dir == NULL) {
        return 0;
    }
    while ((entry = readdir(dir)) != NULL) {
        long number = strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || number == dirfd(dir) ||
            number == ignore) {
            continue;
        }
        n++;
        if (seen != NULL && number >= 0 && (size_t)number < seen_max) {
            seen[number] = true;
        }
    }
    closedir(dir);
    return n;
}

static size_t thread_count(void)
{
    return list_numbers("/proc/self/task", NULL, 0, -1);
}

size_t test_heap_in_use(void)
{
#if defined(SONDE_SANITIZED)
    return 0;
#else
    struct mallinfo2 info = mallinfo2();
    return heap_checked ? info.uordblks + info.hblkhd : 0;
#endif
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

const char *test_folder(void)
{
    return folder_path;
}

unsigned test_slack(void)
{
    return slack;
}

/* Emulators list threads of their own: only threads beyond the count before the test are leaks. */
#if defined(SONDE_SANITIZED)
static void *nothing(void *unused)
{
    return unused;
}
#endif

static void run_child(const struct test_case *test)
{
    static bool before[FD_MAX];
    static bool after[FD_MAX];
    size_t threads;
    size_t heap;
#if defined(SONDE_SANITIZED) /* with the first thread, ThreadSanitizer starts one of its own */
    pthread_t first;
    if (pthread_create(&first, NULL, nothing, NULL) == 0) {
        pthread_join(first, NULL);
    }
#endif
    threads = thread_count();
    list_numbers("/proc/self/fd", before, FD_MAX, -1);
    heap = test_heap_in_use();
    test->run();
    fflush(NULL);
    if (test_heap_in_use() > heap) {
        FAIL("heap leak: %zu bytes more in use than before the test", test_heap_in_use() - heap);
    }
    for (int i = 0; i < 200 && thread_count() > threads; i++) {
        struct timespec pause = {0, 5000000};
        nanosleep(&pause, NULL);
    }
    if (thread_count() > threads) {
        FAIL("thread leak: %zu threads, %zu before the test", thread_count(), threads);
    }
    list_numbers("/proc/self/fd", after, FD_MAX, -1);
    for (int i = 0; i < FD_MAX; i++) {
        if (after[i] && !before[i]) {
            char link[64];
            char to[256];
            snprintf(link, sizeof link, "/proc/self/fd/%d", i);
            ssize_t n = readlink(link, to, sizeof to - 1);
            to[n > 0 ? n : 0] = '\0';
            FAIL("fd leak: %d %s", i, to);
        }
    }
}

/* --- the parent --- */

struct outcome {
    enum { PASSED, FAILED, SKIPPED } result;
    char text[TEXT_MAX];
    double seconds;
    bool by_check; /* failed by a check that may be repeated; no signal, no time limit */
    struct test_machine machine; /* during the run */
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static size_t drain(int fd, char *text, size_t size, size_t max, int timeout_ms)
{
    struct pollfd p = {fd, POLLIN, 0};
    if (poll(&p, 1, timeout_ms) > 0) {
        char block[1024];
        ssize_t n = read(fd, block, sizeof block);
        if (n <= 0) {
            return (size_t)-1;
        }
        for (ssize_t i = 0; i < n && size + 1 < max; i++) {
            text[size++] = block[i];
        }
        text[size] = '\0';
    }
    return size;
}

static void judge(struct outcome *o, int status, bool timed_out)
{
    size_t used = strlen(o->text);
    o->by_check = !timed_out && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAIL;
    if (timed_out) {
        snprintf(o->text + used, TEXT_MAX - used, "timeout");
        o->result = FAILED;
    } else if (WIFSIGNALED(status)) {
        snprintf(o->text + used, TEXT_MAX - used, "killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
        o->result = FAILED;
    } else if (WEXITSTATUS(status) == EXIT_SKIP) {
        o->result = SKIPPED;
    } else if (WEXITSTATUS(status) == EXIT_FAIL || WEXITSTATUS(status) == EXIT_FAIL_ALWAYS) {
        o->result = FAILED;
    } else if (used < 5 || strcmp(o->text + used - 5, "\x01"
                                                      "done") != 0) {
        snprintf(o->text + used, TEXT_MAX - used, "exited with %d inside the test",
                 WEXITSTATUS(status));
        o->result = FAILED;
    } else {
        o->text[used - 5] = '\0';
        o->result = PASSED;
    }
}

static void run_one(const struct test_case *test, unsigned timeout_s, struct outcome *o)
{
    int channel[2];
    double begin = now_s();
    unsigned given_s = (test->timeout_s != 0 ? test->timeout_s : timeout_s) * slack;
    size_t size = 0;
    bool timed_out = false;
    int status = 0;
    o->text[0] = '\0';
    o->machine = (struct test_machine){0};
    fflush(NULL);
    if (pipe2(channel, O_CLOEXEC) != 0) {
        perror("pipe2");
        exit(1);
    }
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        close(channel[0]);
        message_fd = fcntl(channel[1], F_DUPFD_CLOEXEC, 200);
        close(channel[1]);
        run_child(test);
        say_f("\x01"
              "done");
        _exit(EXIT_PASS);
    }
    setpgid(child, child);
    close(channel[1]);
    for (;;) {
        if (now_s() >= begin + given_s * test_machine_slowdown(&o->machine)) {
            timed_out = true;
            break;
        }
        size_t n = drain(channel[0], o->text, size, TEXT_MAX, TEST_MACHINE_LOOK_MS);
        if (n == size) {
            test_machine_look(&o->machine);
        }
        if (n != (size_t)-1) {
            size = n;
            siginfo_t info = {0};
            /* a grandchild may hold the pipe open: stop when the child ends */
            if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                info.si_pid == child) {
                (void)drain(channel[0], o->text, size, TEXT_MAX, 0);
                break;
            }
        } else {
            break;
        }
    }
    test_machine_look(&o->machine); /* a starved harness looked once or never */
    if (timed_out) {
        kill(-child, SIGKILL);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    judge(o, status, timed_out);
    if (kill(-child, 0) == 0) { /* a process of the test's group is still alive */
        kill(-child, SIGKILL);
        if (o->result == PASSED) {
            snprintf(o->text, TEXT_MAX, "child process leak");
            o->result = FAILED;
        }
    }
    close(channel[0]);
    o->seconds = now_s() - begin;
}

static void expect_failure(const struct test_case *test, struct outcome *o)
{
    char why[TEXT_MAX];
    if (o->result == PASSED) {
        o->result = FAILED;
        snprintf(o->text, TEXT_MAX, "passed, but must fail");
    } else if (o->result == FAILED &&
               (test->reason == NULL || strstr(o->text, test->reason) != NULL)) {
        o->result = PASSED;
        o->text[0] = '\0';
    } else if (o->result == FAILED) {
        memcpy(why, o->text, sizeof why);
        snprintf(o->text, TEXT_MAX, "must fail with \"%s\", but said: %.12000s", test->reason, why);
    }
}

/* The parent creates and removes the folder of each test: a child that crashes cannot. */
static void clean_folder(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* glibc counts chunks in a thread's cache as in use, and keeps the heap blocks of ended threads
 * with their cached stacks. Without these caches the heap check is exact. glibc reads the setting
 * at exec only. An emulator may not exec itself: then the heap is not checked (the native run of
 * the same test does it). */
static void turn_off_thread_cache(char **argv)
{
#if !defined(SONDE_SANITIZED)
    if (getenv("SONDE_TEST_EXEC") == NULL) {
        setenv("SONDE_TEST_EXEC", "1", 1);
        setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0:glibc.pthread.stack_cache_size=0", 1);
        execv("/proc/self/exe", argv);
    } else {
        heap_checked = true;
    }
    unsetenv("SONDE_TEST_EXEC");
    unsetenv("GLIBC_TUNABLES");
#else
    (void)argv;
#endif
}

static bool selected(const struct test_case *test, char **names, int count)
{
    for (int i = 0; i < count; i++) {
        if (strstr(test->name, names[i]) != NULL) {
            return true;
        }
    }
    return count == 0;
}

/* Keep the user's cache free of entries for test programs. The packages that tools/dev/common.sh
 * unpacked stay where they are. */
static void move_cache(void)
{
    const char *base = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    char path[1024];
    if (getenv("SONDE_CACHE") == NULL && (base != NULL || home != NULL)) {
        snprintf(path, sizeof path, "%s%s/sonde", base != NULL ? base : home,
                 base != NULL ? "" : "/.cache");
        setenv("SONDE_CACHE", path, 1);
    }
    snprintf(path, sizeof path, "%s/cache", folder_path);
    setenv("XDG_CACHE_HOME", path, 1);
    setenv("SONDE_SCRUB", "-home,-user", 1); /* the working folder may be in a home folder */
}

static void make_folder(void)
{
    snprintf(folder_path, sizeof folder_path, "/tmp/sonde-test-XXXXXX");
    if (mkdtemp(folder_path) == NULL) {
        perror("mkdtemp");
        exit(1);
    }
    move_cache();
}

/* Run one test. A timed one is repeated with more slack while it fails for want of processors. */
static void run_with_slack(const struct test_case *test, unsigned timeout_s, struct outcome *o)
{
    for (slack = 1;; slack *= 2) {
        make_folder();
        run_one(test, timeout_s, o);
        clean_folder(folder_path);
        if (!test->timed || !o->by_check || o->machine.peak < OVERLOADED || slack >= SLACK_MAX) {
            break;
        }
        printf("again %s: the machine had %.1f threads to run for each processor: %s\n", test->name,
               o->machine.peak, o->text);
        fflush(stdout);
    }
    slack = 1;
}

/* A file that a test opens must not get the number of a standard stream that the caller closed. */
static void open_streams(void)
{
    int fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO) {
        fd = dup(fd);
    }
    close(fd);
}

int main(int argc, char **argv)
{
    unsigned timeout_s = TIMEOUT_DEFAULT_S;
    unsigned passed = 0, failed = 0, skipped = 0;
    static struct outcome o;
    int first = 1;
    open_streams();
    turn_off_thread_cache(argv);
    for (; first < argc && strncmp(argv[first], "--", 2) == 0; first++) {
        if (strcmp(argv[first], "--list") == 0) {
            for (const struct test_case *const *t = __start_sonde_tests; t < __stop_sonde_tests;
                 t++) {
                puts((*t)->name);
            }
            return 0;
        }
        if (strcmp(argv[first], "--timeout") == 0 && first + 1 < argc) {
            timeout_s = (unsigned)strtoul(argv[++first], NULL, 10);
        } else if (strcmp(argv[first], "--no-fork") == 0 && first + 1 < argc) {
            first++;
            for (const struct test_case *const *t = __start_sonde_tests; t < __stop_sonde_tests;
                 t++) {
                if (strcmp((*t)->name, argv[first]) == 0) {
                    make_folder();
                    (*t)->run();
                    clean_folder(folder_path);
                    return 0;
                }
            }
            fprintf(stderr, "no test named %s\n", argv[first]);
            return 2;
        } else {
            fprintf(stderr, "usage: %s [--list] [--no-fork NAME] [--timeout SECONDS] [NAME...]\n",
                    argv[0]);
            return 2;
        }
    }
    for (const struct test_case *const *t = __start_sonde_tests; t < __stop_sonde_tests; t++) {
        if (!selected(*t, argv + first, argc - first)) {
            continue;
        }
        run_with_slack(*t, timeout_s, &o);
        if ((*t)->expect == TEST_EXPECT_FAIL) {
            expect_failure(*t, &o);
        }
        passed += o.result == PASSED;
        failed += o.result == FAILED;
        skipped += o.result == SKIPPED;
        printf("%s %s (%.2f s)%s%s\n",
               o.result == PASSED   ? "ok  "
               : o.result == FAILED ? "FAIL"
                                    : "skip",
               (*t)->name, o.seconds, o.text[0] != '\0' ? ": " : "", o.text);
        fflush(stdout);
    }
    printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
    return failed > 0 ? 1 : passed == 0 && skipped > 0 ? 77 : 0;
}
