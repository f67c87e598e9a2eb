// SPDX-License-Identifier: Apache-2.0
/* The process that reads uploaded symbol files: what its jail forbids, and what happens to a file
 * whose converter crashes, hangs, or says what is not so. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail.h"
#include "sandbox.h"
#include "symbols.h"
#include "symindex.h"
#include "test.h"

/* --- the jail --- */

static void make_socket(void)
{
    (void)!socket(AF_INET, SOCK_STREAM, 0);
}

static void make_process(void)
{
    (void)!fork();
}

static void open_file(void)
{
    _exit(open("/proc/self/exe", O_RDONLY) < 0 ? 0 : 1);
}

static void take_memory(void)
{
    void *at = mmap(NULL, (size_t)2 << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    _exit(at == MAP_FAILED ? 0 : 1);
}

static void use_the_cpu(void)
{
    for (volatile unsigned i = 0;; i++) {
    }
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* More than a kilobyte: glibc asks how much memory there is. */
static void sort_numbers(void)
{
    static int numbers[4096];
    for (int i = 0; i < 4096; i++) {
        numbers[i] = (i * 7919) % 4096;
    }
    qsort(numbers, 4096, sizeof *numbers, by_value);
    _exit(numbers[1] == 1 ? 0 : 1);
}

/* How a process ends that does something in the jail. */
static int end_of(void (*act)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        const struct jail jail = {
            .memory_bytes = (uint64_t)1 << 30, .output_bytes = 4096, .cpu_seconds = 1};
        if (jail_enter(&jail) != 0) {
            _exit(3);
        }
        act();
        _exit(2);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The kernel ends it before the collector where memory runs out. */
TEST_TIMEOUT(jailed_process_goes_first_without_memory, 60)
{
#ifdef SONDE_SANITIZED
    SKIP("a sanitizer's runtime needs more than the jail allows");
#endif
    int ends[2], hold[2], status;
    char path[64], text[16] = "", ready = '-';
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(pipe(hold), 0);
    pid_t pid = fork();
    if (pid == 0) {
        const struct jail jail = {
            .memory_bytes = (uint64_t)1 << 30, .output_bytes = 4096, .cpu_seconds = 1};
        ready = jail_enter(&jail) == 0 ? 'y' : 'n';
        _exit(write(ends[1], &ready, 1) == 1 && read(hold[0], &ready, 1) == 1 ? 0 : 1);
    }
    CHECK(read(ends[0], &ready, 1) == 1);
    CHECK_EQ(ready, 'y');
    snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)pid);
    FILE *file = fopen(path, "re");
    CHECK(file != NULL && fgets(text, sizeof text, file) != NULL);
    fclose(file);
    CHECK_STR(text, "1000\n");
    CHECK_EQ(kill(pid, SIGKILL), 0);
    CHECK(waitpid(pid, &status, 0) == pid);
    close(ends[0]);
    close(ends[1]);
    close(hold[0]);
    close(hold[1]);
}

TEST_TIMEOUT(jail_forbids_all_but_reading, 60)
{
#ifdef SONDE_SANITIZED
    SKIP("a sanitizer's runtime needs more than the jail allows");
#endif
    CHECK_EQ(end_of(make_socket), 1000 + SIGSYS);
    CHECK_EQ(end_of(make_process), 1000 + SIGSYS);
    CHECK_EQ(end_of(open_file), 0);
    CHECK_EQ(end_of(take_memory), 0);
    CHECK_EQ(end_of(sort_numbers), 0);
    int end =
        end_of(use_the_cpu); /* a second of it; SIGKILL a moment later if both limits are one */
    CHECK(end == 1000 + SIGXCPU || end == 1000 + SIGKILL);
}

/* --- converters that do what ours does not --- */

struct said {
    unsigned made, left;
    char why[256];
};

static void hear(void *ctx, const struct sandbox_part *part)
{
    struct said *said = ctx;
    said->made += part->is_made;
    said->left += !part->is_made;
    snprintf(said->why, sizeof said->why, "%s", part->why);
}

/* Convert by a shell script. */
static const char *convert_by(const char *script, uint32_t seconds, struct said *ret_said)
{
    char path[256], text[512];
    snprintf(path, sizeof path, "%s/converter", test_folder());
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
    test_write_file(path, text, strlen(text));
    CHECK_EQ(chmod(path, 0700), 0);
    struct sandbox sandbox = {.program = path, .memory_mb = 64, .seconds = seconds};
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    *ret_said = (struct said){0};
    const char *why = sandbox_convert(&sandbox, input, input, hear, ret_said);
    close(input);
    return why != NULL ? why : "";
}

#define MADE "made\\t0011\\tx86_64\\t0\\t200\\t1\\t0\\t0\\tname\\n"

TEST_TIMEOUT(converter_that_fails_costs_its_file_only, 60)
{
    struct said said;
    CHECK_STR(convert_by("kill -SEGV $$", 10, &said), "it made its converter crash");
    CHECK_STR(convert_by("kill -SYS $$", 10, &said),
              "it made its converter do what that must not do");
    CHECK_STR(convert_by("kill -KILL $$", 10, &said), "its converter was killed");
    CHECK_STR(convert_by("exec sleep 100", 1, &said), "it takes too long");
    CHECK_STR(convert_by("exit 1", 10, &said), "its converter could not write all");
    CHECK_STR(convert_by("printf '" MADE "'; kill -SEGV $$", 10, &said),
              "it made its converter crash");
    CHECK_EQ(said.made, 1); /* what came before counts */
    CHECK_STR(convert_by("printf '" MADE "left\\tbad\\tpart\\n'", 10, &said), "");
    CHECK_EQ(said.made, 1);
    CHECK_EQ(said.left, 1);
    CHECK_STR(said.why, "bad");
}

TEST_TIMEOUT(what_a_converter_never_says_is_refused, 60)
{
    static const char *const scripts[] = {
        "printf 'made\\t0011\\n'",
        "printf 'made\\txyz\\tx86_64\\t0\\t100\\t1\\t0\\t0\\tname\\n'",
        "printf 'made\\t0011\\tx86_64\\t5\\t100\\t1\\t0\\t0\\tname\\n'", /* not aligned */
        "printf 'made\\t0011\\tx86_64\\t-1\\t100\\t1\\t0\\t0\\tname\\n'",
        "printf 'made\\t0011\\tx86_64\\t0\\t99999999999999999999999\\t1\\t0\\t0\\tname\\n'",
        "printf 'other\\ta\\tb\\n'",
        "exec head -c 100000 /dev/zero",
        "exec yes",
        "while printf 'left\\ta\\tb\\n'; do :; done",
    };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct said said;
        CHECK_STR(convert_by(scripts[i], 20, &said), "its converter says what it never says");
        CHECK_EQ(said.made, 0);
    }
}

/* --- what is stored --- */

struct stored {
    enum symbols_stored stored;
    char why[128];
};

static void keep(void *ctx, const struct symbols_part *part)
{
    struct stored *stored = ctx;
    stored->stored = part->stored;
    snprintf(stored->why, sizeof stored->why, "%s", part->why);
}

/* A converter that says that its output is an index of 0011, and writes something else: no file of
 * that name must be there. */
TEST_TIMEOUT(output_that_is_no_such_index_is_not_kept, 60)
{
    static const char *const outputs[] = {
        "printf '" MADE "'",                            /* nothing */
        "head -c 200 /dev/zero >&3; printf '" MADE "'", /* no index */
        "printf '\\211sndidx\\n' >&3; head -c 200 /dev/zero >&3; printf '" MADE
        "'", /* another id */
    };
    char program[256], text[512];
    struct sonde__build_id id = {.size = 2, .bytes = {0x00, 0x11}}, any = {0};
    snprintf(program, sizeof program, "%s/converter", test_folder());
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        struct symbols *symbols;
        struct stored stored = {.stored = SYMBOLS_NEW};
        snprintf(text, sizeof text, "#!/bin/sh\n%s\n", outputs[i]);
        test_write_file(program, text, strlen(text));
        CHECK_EQ(chmod(program, 0700), 0);
        const struct symbols_options options = {
            .data = test_folder(), .program = program, .memory_mb = 64, .seconds = 20};
        CHECK_EQ(symbols_open(&options, &symbols), 0);
        int file = symbols_new_file(symbols);
        CHECK(file >= 0);
        CHECK(symbols_add(symbols, 7, file, &any, keep, &stored) == NULL);
        CHECK_EQ(stored.stored, SYMBOLS_LEFT);
        CHECK_STR(stored.why, "its converter gave no index of it");
        CHECK(!symbols_has(symbols, 7, &id));
        close(file);
        symbols_close(symbols);
    }
}

/* A minimal index with an id: only its header is read. */
static void write_index(const char *path, uint8_t second)
{
    uint8_t head[200] = {0};
    for (unsigned i = 0; i < SYMINDEX_MAGIC_BYTES; i++) {
        head[i] = (uint8_t)SYMINDEX_MAGIC[i];
    }
    head[SYMINDEX_AT_BUILD_ID_SIZE] = 2;
    head[SYMINDEX_AT_BUILD_ID + 1] = second;
    test_write_file(path, head, sizeof head);
}

TEST_TIMEOUT(symbols_of_projects_are_apart_and_those_of_all_are_shared, 60)
{
    char program[256], text[512], index[256];
    struct symbols *symbols;
    struct stored stored = {.stored = SYMBOLS_LEFT};
    struct sonde__build_id id = {.size = 2, .bytes = {0x00, 0x11}}, given, any = {0};
    uint32_t project;
    snprintf(program, sizeof program, "%s/converter", test_folder());
    snprintf(index, sizeof index, "%s/index", test_folder());
    write_index(index, 0x11);
    snprintf(text, sizeof text, "#!/bin/sh\ncat %s >&3; printf '" MADE "'\n", index);
    test_write_file(program, text, strlen(text));
    CHECK_EQ(chmod(program, 0700), 0);
    const struct symbols_options options = {
        .data = test_folder(), .program = program, .memory_mb = 64, .seconds = 20};
    CHECK_EQ(symbols_open(&options, &symbols), 0);
    int file = symbols_new_file(symbols);
    CHECK(symbols_add(symbols, 7, file, &any, keep, &stored) == NULL);
    CHECK_EQ(stored.stored, SYMBOLS_NEW);
    CHECK(symbols_has(symbols, 7, &id) && !symbols_has(symbols, 8, &id));
    CHECK(symbols_add(symbols, 0, file, &any, keep, &stored) == NULL);
    CHECK(symbols_has(symbols, 8, &id));
    CHECK(symbols_next(symbols, &project, &given) && project == 7 && given.bytes[1] == 0x11);
    CHECK(symbols_next(symbols, &project, &given) && project == 0);
    /* another id than the sender claims */
    id.bytes[1] = 0x12;
    CHECK(symbols_add(symbols, 7, file, &id, keep, &stored) == NULL);
    CHECK_EQ(stored.stored, SYMBOLS_LEFT);
    symbols_close(symbols);
    /* what is there is known after a restart */
    id.bytes[1] = 0x11;
    CHECK_EQ(symbols_open(&options, &symbols), 0);
    CHECK(symbols_has(symbols, 7, &id) && symbols_has(symbols, 9, &id));
    symbols_end(symbols);
    CHECK(!symbols_next(symbols, &project, &given));
    close(file);
    symbols_close(symbols);
}
