// SPDX-License-Identifier: Apache-2.0
/* Run programs and handle files, for tests. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"
#include "test_machine.h"

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void append(char **text, size_t *size, const char *block, size_t n)
{
    *text = realloc(*text, *size + n + 1);
    if (*text == NULL) {
        FAIL("out of memory");
    }
    memcpy(*text + *size, block, n);
    *size += n;
    (*text)[*size] = '\0';
}

static void exec_child(const char *const argv[], const char *const env[], int in, int out, int err)
{
    setpgid(0, 0);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    for (; env != NULL && *env != NULL; env++) {
        putenv((char *)(uintptr_t)*env);
    }
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* An unlinked temporary file with `input` as the child's standard input: no pipe to deadlock on. */
static int input_file(const char *input)
{
    FILE *file = input != NULL ? tmpfile() : NULL;
    int fd;
    if (file == NULL) {
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    fwrite(input, 1, strlen(input), file);
    fflush(file);
    fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 3);
    fclose(file);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

struct test_run test_run(const char *const argv[], const char *const env[], const char *input,
                         unsigned timeout_s)
{
    struct test_run run = {0};
    int out[2], err[2];
    int in = input_file(input);
    double begin = now_s();
    struct test_machine machine = {0};
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
        FAIL("pipe2: %s", strerror(errno));
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        exec_child(argv, env, in, out[1], err[1]);
    }
    close(in);
    close(out[1]);
    close(err[1]);
    append(&run.out, &run.out_size, "", 0);
    append(&run.err, &run.err_size, "", 0);
    struct pollfd p[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
    while (p[0].fd >= 0 || p[1].fd >= 0) {
        double limit = begin + timeout_s * test_machine_slowdown(&machine);
        if (now_s() >= limit) {
            run.timed_out = true;
            kill(-child, SIGKILL);
            break;
        }
        if (poll(p, 2, TEST_MACHINE_LOOK_MS) == 0) {
            test_machine_look(&machine);
        }
        for (int i = 0; i < 2; i++) {
            char block[65536];
            if (p[i].fd < 0 || p[i].revents == 0) {
                continue;
            }
            ssize_t n = read(p[i].fd, block, sizeof block);
            if (n <= 0) {
                p[i].fd = -1;
            } else if (i == 0) {
                append(&run.out, &run.out_size, block, (size_t)n);
            } else {
                append(&run.err, &run.err_size, block, (size_t)n);
            }
        }
    }
    close(out[0]);
    close(err[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return run;
}

void test_run_done(struct test_run *run)
{
    free(run->out);
    free(run->err);
    memset(run, 0, sizeof *run);
}

char *test_read_file(const char *path, size_t *ret_size)
{
    size_t size = 0, capacity = 65536;
    char *text = malloc(capacity);
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        FAIL("%s: %s", path, strerror(errno));
    }
    /* twice as much each time: a sanitizer copies all of it */
    while (text != NULL && (n = read(fd, text + size, capacity - size - 1)) > 0) {
        size += (size_t)n;
        if (size + 1 == capacity) {
            capacity *= 2;
            char *larger = realloc(text, capacity);
            if (larger == NULL) {
                free(text);
            }
            text = larger;
        }
    }
    close(fd);
    if (text == NULL) {
        FAIL("%s: out of memory", path);
    }
    text[size] = '\0';
    if (ret_size != NULL) {
        *ret_size = size;
    }
    return text;
}

void test_write_file(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        FAIL("%s: %s", path, strerror(errno));
    }
    close(fd);
}

void test_check_golden(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/%s", test_source_dir(), name);
    if (getenv("SONDE_UPDATE_GOLDEN") != NULL) {
        test_write_file(path, text, strlen(text));
    }
    char *golden = test_read_file(path, NULL);
    CHECK_STR(text, golden);
    free(golden);
}

bool test_long(void)
{
    const char *value = getenv("SONDE_TEST_LONG");
    return value != NULL && strcmp(value, "1") == 0;
}

const char *test_build_dir(void)
{
    const char *value = getenv("SONDE_BUILD_DIR");
    return value != NULL ? value : SONDE_BUILD_DIR_DEFAULT;
}

const char *test_source_dir(void)
{
    const char *value = getenv("SONDE_SOURCE_DIR");
    return value != NULL ? value : SONDE_SOURCE_DIR_DEFAULT;
}
