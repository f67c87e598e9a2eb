// SPDX-License-Identifier: Apache-2.0
/* A program that audits itself with a spool folder: spooled MODE RULES SPOOL [FILE]. Modes:
 *   calls  two threads call getenv() until the process is killed, and note each finished call in
 * FILE fork   the same, after a fork child that only waits some   SOME_CALLS calls, then it
 * finishes the audit full   the same, but no file may grow any more when it finishes */
#include "spooled.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sonde/audit.h>

static _Atomic uint64_t *done; /* by thread */
static struct sonde_error error;

static void print_line(void *ctx, const char *line)
{
    (void)ctx;
    printf("line %s\n", line);
}

static struct sonde_audit_run *begin(const char *rules_path, const char *spool)
{
    static unsigned char rules[1 << 16];
    static const struct sonde_watch_tag tags[] = {{"case", "7"}};
    const struct sonde_audit_options options = {.struct_bytes = sizeof options,
                                                .build = "1.2.3",
                                                .tags = tags,
                                                .tag_count = 1,
                                                .on_line = print_line,
                                                .spool = spool};
    struct sonde_audit_run *run = NULL;
    FILE *file = fopen(rules_path, "rb");
    size_t size = file != NULL ? fread(rules, 1, sizeof rules, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    if (sonde_audit_begin(rules, size, &options, &run, &error) != SONDE_OK) {
        printf("%s: %s\n", sonde_status_name(error.status), error.what);
        exit(3);
    }
    return run;
}

static __attribute__((noinline)) void *call_often(void *count)
{
    for (;;) {
        (void)!getenv("SPOOLED");
        ++*(_Atomic uint64_t *)count;
    }
    return NULL;
}

static int call_until_killed(const char *path)
{
    pthread_t thread;
    int fd = open(path, O_RDWR);
    done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (done == MAP_FAILED || pthread_create(&thread, NULL, call_often, (void *)&done[1]) != 0) {
        return 1;
    }
    call_often((void *)&done[0]);
    return 0;
}

static __attribute__((noinline)) void call_some(void)
{
    for (unsigned i = 0; i < SOME_CALLS; i++) {
        (void)!getenv("SPOOLED");
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        return 2;
    }
    struct sonde_audit_run *run = begin(argv[2], argv[3]);
    if (strcmp(argv[1], "fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            for (;;) {
                pause();
            }
        }
        printf("child %d\n", (int)child);
        fflush(stdout);
    }
    if (argc == 5) {
        return call_until_killed(argv[4]);
    }
    call_some();
    if (strcmp(argv[1], "full") == 0) {
        const struct rlimit limit = {64, 64};
        usleep(1200000); /* a look or more */
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
            return 1;
        }
    }
    if (sonde_audit_finish(run, &error) != SONDE_OK) {
        fprintf(stderr, "%s\n", error.what);
        return 4;
    }
    return 0;
}
