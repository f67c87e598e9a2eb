// SPDX-License-Identifier: Apache-2.0
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "converter.h"
#include "symfile_kept.h"

enum { LOOK_MS = 100, FIELDS_MAX = 9, OUTPUT_MAX = 1 << 20 };

/* --- a line --- */

static bool number_of(const char *text, uint64_t *ret_value)
{
    char *end;
    errno = 0;
    *ret_value = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

static bool read_made(char *const fields[FIELDS_MAX], struct sandbox_part *ret_part)
{
    uint64_t units, bad_units, debug;
    if (!sonde__symfile_id_parse(fields[1], &ret_part->id) || ret_part->id.size == 0 ||
        !number_of(fields[3], &ret_part->offset) || !number_of(fields[4], &ret_part->size) ||
        !number_of(fields[5], &units) || !number_of(fields[6], &bad_units) ||
        !number_of(fields[7], &debug) || ret_part->offset % CONVERTER_ALIGN != 0) {
        return false;
    }
    ret_part->is_made = true;
    ret_part->units = (uint32_t)units;
    ret_part->bad_units = (uint32_t)bad_units;
    ret_part->is_debug = debug == 1;
    snprintf(ret_part->arch, sizeof ret_part->arch, "%s", fields[2]);
    snprintf(ret_part->name, sizeof ret_part->name, "%s", fields[8]);
    return true;
}

static bool read_line(char *line, struct sandbox_part *ret_part)
{
    char *fields[FIELDS_MAX];
    unsigned count = 0;
    *ret_part = (struct sandbox_part){0};
    while (count < FIELDS_MAX && line != NULL) {
        fields[count++] = strsep(&line, "\t");
    }
    if (line != NULL) {
        return false;
    }
    if (count == FIELDS_MAX && strcmp(fields[0], "made") == 0) {
        return read_made(fields, ret_part);
    }
    if (count != 3 || strcmp(fields[0], "left") != 0) {
        return false;
    }
    snprintf(ret_part->why, sizeof ret_part->why, "%s", fields[1]);
    snprintf(ret_part->name, sizeof ret_part->name, "%s", fields[2]);
    return true;
}

/* --- the process --- */

struct run {
    pid_t pid;
    int pipe;
    char text[CONVERTER_LINE_MAX * 2];
    size_t used, all;
    unsigned parts;
    sandbox_each *each;
    void *ctx;
};

static int start(const struct sandbox *sandbox, int input, int output, struct run *run)
{
    char memory[16];
    char *const argv[] = {(char *)"sonde-collector", (char *)CONVERTER_WORD, memory, NULL};
    char *const environment[] = {NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return errno;
    }
    snprintf(memory, sizeof memory, "%u", sandbox->memory_mb);
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, output, CONVERTER_OUTPUT_FD);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int os_error = posix_spawn(&run->pid, sandbox->program, &files, &attributes, argv, environment);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    run->pipe = ends[0];
    if (os_error != 0) {
        close(ends[0]);
    }
    return os_error;
}

/* Take the whole lines that were read. False: not what a converter says. */
static bool take_lines(struct run *run)
{
    char *line = run->text, *end;
    struct sandbox_part part;
    while ((end = memchr(line, '\n', run->used - (size_t)(line - run->text))) != NULL) {
        *end = '\0';
        if (!read_line(line, &part) || run->parts++ == CONVERTER_PARTS_MAX * 2) {
            return false;
        }
        run->each(run->ctx, &part);
        line = end + 1;
    }
    run->used -= (size_t)(line - run->text);
    memmove(run->text, line, run->used);
    return run->used < sizeof run->text;
}

/* Read what it says until it ends. Null, or why it was given up. */
static const char *follow(const struct sandbox *sandbox, struct run *run)
{
    uint64_t looks = (uint64_t)sandbox->seconds * 1000 / LOOK_MS;
    for (;;) {
        struct pollfd ready = {.fd = run->pipe, .events = POLLIN};
        if (sandbox->is_ending) {
            return "the collector ends";
        }
        int found = poll(&ready, 1, LOOK_MS);
        if (found == 0 && looks-- == 0) {
            return "it takes too long";
        }
        if (found <= 0) {
            continue;
        }
        ssize_t got = read(run->pipe, run->text + run->used, sizeof run->text - run->used);
        if (got == 0) {
            return NULL;
        }
        if (got < 0 && errno != EINTR) {
            return "its converter cannot be read";
        }
        run->used += got > 0 ? (size_t)got : 0;
        run->all += got > 0 ? (size_t)got : 0;
        if (run->all > OUTPUT_MAX || !take_lines(run)) {
            return "its converter says what it never says";
        }
    }
}

static const char *text_of_end(int status)
{
    if (WIFEXITED(status)) {
        return WEXITSTATUS(status) == 0 ? NULL : "its converter could not write all";
    }
    switch (WTERMSIG(status)) {
    case SIGSYS:
        return "it made its converter do what that must not do";
    case SIGXCPU:
        return "it takes too long";
    case SIGXFSZ:
        return "its index is too large";
    case SIGKILL:
        return "its converter was killed";
    }
    return "it made its converter crash";
}

const char *sandbox_convert(struct sandbox *sandbox, int input, int output, sandbox_each *each,
                            void *ctx)
{
    struct run run = {.each = each, .ctx = ctx};
    int status = 0;
    if (start(sandbox, input, output, &run) != 0) {
        return "no converter can be started";
    }
    const char *why = follow(sandbox, &run);
    if (why != NULL) {
        kill(run.pid, SIGKILL);
    }
    while (waitpid(run.pid, &status, 0) < 0 && errno == EINTR) {
    }
    close(run.pipe);
    return why != NULL ? why : text_of_end(status);
}
