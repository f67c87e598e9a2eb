// SPDX-License-Identifier: Apache-2.0
/* The harness of portable tests in the host. Each test runs in a process of its own. FAIL_TEST and
 * TIMED_TEST are left to the other harness (tests/harness), which watches that process. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

extern const struct test_case *const tests_begin[] __asm__("section$start$__DATA$sonde_tests");
extern const struct test_case *const tests_end[] __asm__("section$end$__DATA$sonde_tests");

/* of the simulated libSystem: run a function in a process of its own. Returns its exit status. */
int sim_run_apart(void (*function)(void));

static const char *running = "";
static int program; /* its pid: children of a test have the same folder */

static _Noreturn void end(const char *file, int line, const char *format, va_list arguments)
{
    printf("FAIL %s: %s:%d: ", running, file, line);
    vprintf(format, arguments);
    printf("\n");
    _exit(1);
}

void test_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    end(file, line, format, arguments);
}

void test_fail_always(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    end(file, line, format, arguments);
}

const char *test_source_dir(void)
{
    return getenv("SONDE_SOURCE_DIR");
}

char *test_read_file(const char *path, size_t *ret_size)
{
    struct stat status;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) != 0) {
        FAIL("cannot open %s", path);
    }
    size_t size = (size_t)status.st_size;
    char *text = malloc(size + 1);
    if (text == NULL || read(fd, text, size) != (ssize_t)size) {
        FAIL("cannot read %s", path);
    }
    close(fd);
    text[size] = '\0';
    if (ret_size != NULL) {
        *ret_size = size;
    }
    return text;
}

/* In the folder that run.sh gives, which it removes: no test removes its own. */
const char *test_folder(void)
{
    static char path[512];
    if (path[0] == '\0') {
        snprintf(path, sizeof path, "%s/%d-%s", getenv("SONDE_TEST_FOLDER"), program, running);
        if (mkdir(path, 0700) != 0 && errno != EEXIST) {
            FAIL("no folder %s", path);
        }
    }
    return path;
}

void test_write_file(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        FAIL("cannot write %s", path);
    }
    close(fd);
}

void test_check_golden(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/%s", test_source_dir(), name);
    char *golden = test_read_file(path, NULL);
    CHECK_STR(text, golden);
    free(golden);
}

/* A test that would skip here is not portable. */
void test_skip(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    end("skipped", 0, format, arguments);
}

size_t test_heap_in_use(void)
{
    return 0;
}

bool test_long(void)
{
    return false;
}

unsigned test_slack(void)
{
    return 1;
}

int main(void)
{
    unsigned passed = 0, failed = 0;
    program = getpid();
    for (const struct test_case *const *test = tests_begin; test < tests_end; test++) {
        running = (*test)->name;
        if ((*test)->expect != TEST_EXPECT_PASS || (*test)->timed) {
            continue;
        }
        int status = sim_run_apart((*test)->run);
        passed += status == 0;
        failed += status != 0;
        if (status != 0) {
            printf("%s ended with %d\n", running, status);
        }
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
