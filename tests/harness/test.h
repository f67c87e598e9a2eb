// SPDX-License-Identifier: Apache-2.0
/* A fork-per-test harness.
 *
 * Each TEST runs in a fresh child of its own process group, with a timeout. After the body the
 * child is checked for leaked file descriptors, threads and heap; the parent for children left
 * behind. FAIL_TEST passes only when its body fails: it proves that the harness (or a check)
 * catches a fault. Time limits are for a quiet machine: they grow with the threads that wait for a
 * processor. TIMED_TEST is for checks that need real time, where a thread that gets no processor
 * changes the answer. When a CHECK fails, the harness repeats the test with a longer test_slack(),
 * but only if it measured too few processors meanwhile. On a quiet machine the first failure is
 * final. On any machine so are CHECK_ALWAYS, a crash, and a time limit.
 *
 *     TEST(cursor_reads_past_end) { CHECK(...); CHECK_EQ(a, b); }
 *
 * The program prints a line per test and closes with "N passed, N failed, N skipped".
 * Options: NAME... (run those whose name contains one), --list, --no-fork NAME (for gdb),
 * --timeout SECONDS. Exit 0, 1 when a test failed, 77 when all were skipped. */
#ifndef SONDE_TEST_H
#define SONDE_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum test_expect { TEST_EXPECT_PASS, TEST_EXPECT_FAIL };

struct test_case {
    const char *name;
    void (*run)(void);
    enum test_expect expect;
    const char *reason; /* FAIL_TEST: text that the failure must contain, or null */
    unsigned timeout_s; /* 0: default */
    bool timed;
};

/* The section that the harness reads. */
#if defined(__APPLE__)
#    define TEST_SECTION_ "__DATA,sonde_tests"
#else
#    define TEST_SECTION_ "sonde_tests"
#endif

#define TEST_ENTRY_(name_, expect_, reason_, timeout_, timed_)                                     \
    static void name_(void);                                                                       \
    static const struct test_case name_##_case_ = {#name_,  name_,    expect_,                     \
                                                   reason_, timeout_, timed_};                     \
    static const struct test_case *const name_##_entry_                                            \
        __attribute__((used, section(TEST_SECTION_), aligned(sizeof(void *)))) = &name_##_case_;   \
    static void name_(void)

#define TEST(name)                  TEST_ENTRY_(name, TEST_EXPECT_PASS, NULL, 0, false)
#define TEST_TIMEOUT(name, seconds) TEST_ENTRY_(name, TEST_EXPECT_PASS, NULL, seconds, false)
#define TIMED_TEST(name, seconds)   TEST_ENTRY_(name, TEST_EXPECT_PASS, NULL, seconds, true)
#define FAIL_TEST(name, reason)     TEST_ENTRY_(name, TEST_EXPECT_FAIL, reason, 0, false)

/* Factor for the stalls and pauses of a TIMED_TEST: 1, and 2, 4 when it is repeated. */
unsigned test_slack(void);

void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));
void test_fail_always(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));
void test_skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void test_check_eq(const char *file, int line, const char *a_text, const char *b_text, int64_t a,
                   int64_t b);
void test_check_str(const char *file, int line, const char *a_text, const char *a, const char *b);
void test_check_contains(const char *file, int line, const char *text, const char *part);

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, "not true: %s", #condition))
/* A check that lack of processors does not excuse. */
#define CHECK_ALWAYS(condition)                                                                    \
    ((condition) ? (void)0 : test_fail_always(__FILE__, __LINE__, "not true: %s", #condition))
#define CHECK_EQ(a, b)             test_check_eq(__FILE__, __LINE__, #a, #b, (int64_t)(a), (int64_t)(b))
#define CHECK_STR(a, b)            test_check_str(__FILE__, __LINE__, #a, a, b)
#define CHECK_CONTAINS(text, part) test_check_contains(__FILE__, __LINE__, text, part)
#define CHECK_OK(expr)             CHECK_EQ(expr, 0)
#define FAIL(...)                  test_fail(__FILE__, __LINE__, __VA_ARGS__)
#define SKIP(...)                  test_skip(__VA_ARGS__)

/* Result of running a program to its end. Free with test_run_done(). */
struct test_run {
    int status; /* exit code, or 128 + signal */
    bool timed_out;
    char *out, *err; /* NUL-terminated */
    size_t out_size, err_size;
};

/* Run argv[0] (PATH is searched) with `input` (may be null) and wait at most timeout_s seconds (of
 * a quiet machine). env: "NAME=VALUE" entries to add, null-terminated, or null. */
struct test_run test_run(const char *const argv[], const char *const env[], const char *input,
                         unsigned timeout_s);
void test_run_done(struct test_run *run);

/* A fresh folder, removed when the test ends. The string lives as long as the test. */
const char *test_folder(void);
/* Whole file, NUL-terminated; fails the test when it cannot be read. Caller frees. */
char *test_read_file(const char *path, size_t *ret_size);
void test_write_file(const char *path, const void *data, size_t size);
/* Compare the text with the file tests/golden/`name`. SONDE_UPDATE_GOLDEN=1 in the environment
 * writes the file. */
void test_check_golden(const char *name, const char *text);
/* Bytes of heap in use now (0 if the libc cannot tell). */
size_t test_heap_in_use(void);
/* True under `./dev test --long`. */
bool test_long(void);
/* True if the kernel has at least this version. */
bool test_kernel_is(unsigned major, unsigned minor);
/* Folder of the build (SONDE_BUILD_DIR) and of the sources (SONDE_SOURCE_DIR). */
const char *test_build_dir(void);
const char *test_source_dir(void);

#endif
