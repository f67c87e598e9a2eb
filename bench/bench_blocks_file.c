// SPDX-License-Identifier: Apache-2.0
/* clang and LLVM's linker make the file: functions with blocks among four times as many without,
 * compiled once and linked repeatedly up to 30 MB. It has some ten thousand blocks; shipped
 * libraries of this size have dozens. The CPU time of the whole program is measured, with start and
 * output; other programs disturb CPU time less than wall time. */
#include "bench_blocks_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

enum { FUNCTIONS = 700, WITHOUT = 4, COPIES_MAX = 400, ROUNDS = 7, PATH_BYTES = 4096 };
#define WANTED_BYTES ((off_t)30 << 20)

static bool write_source(const char *folder)
{
    char path[PATH_BYTES];
    FILE *file;
    snprintf(path, sizeof path, "%s/b.c", folder);
    file = fopen(path, "we");
    if (file == NULL) {
        return false;
    }
    fputs("typedef void (^action)(int);\n"
          "extern int shown(int);\nextern void later(action what);\n",
          file);
    for (int i = 0; i < FUNCTIONS; i++) {
        for (int k = 0; k < WITHOUT; k++) {
            fprintf(file,
                    "static int g%d_%d(int a, int b) { int s = %d;\n"
                    "    for (int i = 0; i < b; i++) { if (shown(i + s) > a) s += shown(a * i); }\n"
                    "    return s ^ shown(b) / (a | 1); }\n",
                    i, k, i * 7 + k);
        }
        fprintf(file,
                "static int f%d(int a, int b, action inner) { __block int n = g%d_0(a, b);\n"
                "    later(^(int x) { n += x * g%d_1(a, x); inner(n); });\n"
                "    if (a > %d) { later(^(int x) { shown(x + g%d_2(b, a)); }); }\n"
                "    return n ^ g%d_3(a, n); }\n",
                i, i, i, i, i, i);
    }
    fputs("static int (*const all[])(int, int, action) = {", file);
    for (int i = 0; i < FUNCTIONS; i++) {
        fprintf(file, "f%d, ", i);
    }
    fputs("};\n__attribute__((constructor)) static void start(void) {\n"
          "    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) all[i](1, 2, 0);\n}\n",
          file);
    return fclose(file) == 0;
}

static bool shell(const char *folder, const char *command)
{
    char line[PATH_BYTES + 256];
    snprintf(line, sizeof line, "cd '%s' && { %s; } >log 2>&1", folder, command);
    return system(line) == 0;
}

static off_t size_of(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &status) == 0 ? status.st_size : 0;
}

/* The first link shows how much a copy adds. */
static bool make_file(const char *folder)
{
    char command[PATH_BYTES];
    off_t one;
    if (!write_source(folder) ||
        !shell(folder, "clang-19 -target arm64-apple-macos13 -fblocks -ffreestanding -O1 -g0 "
                       "-c b.c -o b.o")) {
        return false;
    }
    one = size_of(folder, "b.o");
    one = one > 0 ? WANTED_BYTES / one + 1 : COPIES_MAX;
    for (off_t copies = one < COPIES_MAX ? one : COPIES_MAX; copies <= COPIES_MAX;) {
        snprintf(command, sizeof command,
                 "for i in $(seq %d); do ln -sf b.o b$i.o; done; "
                 "ld64.lld-19 -arch arm64 -platform_version macos 13 13 -dylib "
                 "-undefined dynamic_lookup $(seq -f b%%g.o %d) -o file",
                 (int)copies, (int)copies);
        if (!shell(folder, command)) {
            return false;
        }
        one = size_of(folder, "file");
        if (one >= WANTED_BYTES) {
            return true;
        }
        copies = one > 0 ? copies * WANTED_BYTES / one + 2 : COPIES_MAX + 1;
    }
    return false;
}

/* CPU seconds of one run; negative: it failed. */
static double run_once(const char *program, const char *folder)
{
    struct rusage usage;
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (chdir(folder) == 0 && freopen("out", "w", stdout) != NULL) {
            execl(program, "sonde", "blocks", "file", (char *)NULL);
        }
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) {
        return -1;
    }
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static bool find_program(char *path)
{
    ssize_t size = readlink("/proc/self/exe", path, PATH_BYTES - 64);
    char *slash;
    if (size <= 0) {
        return false;
    }
    path[size] = '\0';
    slash = strrchr(path, '/'); /* BUILD/bench/bench_blocks */
    if (slash == NULL) {
        return false;
    }
    strcpy(slash, "/../cli/sonde");
    return access(path, X_OK) == 0;
}

void bench_blocks_file(void)
{
    char folder[] = "/tmp/sonde-bench-XXXXXX", program[PATH_BYTES], command[PATH_BYTES];
    double seconds[ROUNDS];
    if (!find_program(program) || mkdtemp(folder) == NULL) {
        bench_note("blocks.file30mb: no sonde beside this program");
        return;
    }
    if (!make_file(folder)) {
        bench_note("blocks.file30mb: clang-19 and lld-19 could not make the file");
    } else {
        for (unsigned i = 0; i < ROUNDS; i++) {
            seconds[i] = run_once(program, folder);
        }
        qsort(seconds, ROUNDS, sizeof seconds[0], by_value);
        if (seconds[0] < 0) {
            bench_note("blocks.file30mb: sonde blocks failed");
        } else {
            bench_print(seconds[ROUNDS / 2], "s", "blocks.file30mb.s");
            bench_print((double)size_of(folder, "file") / (1 << 20), "MB", "blocks.file30mb.size");
        }
    }
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) {
        bench_note("blocks.file30mb: %s is left", folder);
    }
}
