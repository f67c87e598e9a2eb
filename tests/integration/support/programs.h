// SPDX-License-Identifier: Apache-2.0
/* Programs that tests start: watched by `sonde run`, or as servers in the background. */
#ifndef SONDE_TEST_PROGRAMS_H
#define SONDE_TEST_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "test.h"

/* The sonde of this build. */
const char *program_sonde(void);
/* A file of the build or source folder of this test: "compat/compat_probe". Static, four at a time
 * (they go round). */
const char *program_built(const char *name);
const char *program_source(const char *name);
/* Path in the unpacked Debian package (./dev setup test), or null when it is not there. */
const char *program_unpacked(const char *package, const char *path);
/* The same for an npm package: "@scope+name@1.2.3". */
const char *program_npm(const char *package, const char *path);
/* True when PATH has it. */
bool program_on_path(const char *name);

/* Runs `sonde run OPTION... --report REPORT -- argv...`. options may be null. */
struct test_run program_watch(const char *const options[], const char *report,
                              const char *const argv[], unsigned timeout_s);

/* A program in the background. Its output goes to a file of the test's folder. */
struct program {
    pid_t pid;
    char output[128]; /* path: stdout and stderr */
    bool ended;
    int status; /* as of test_run */
};
struct program program_start(const char *const argv[]);
/* The same under `sonde run`. */
struct program program_start_watched(const char *const options[], const char *report,
                                     const char *const argv[]);
/* Wait until the output contains `text`; fails the test if the program ends before, or after
 * timeout_s. */
void program_await(struct program *program, const char *text, unsigned timeout_s);
/* Wait for the end and return the status; kills the program and fails the test at the timeout. */
int program_end(struct program *program, unsigned timeout_s);
/* True if it has ended; does not wait. */
bool program_has_ended(struct program *program);
/* SIGTERM, then waits for the end. */
int program_stop(struct program *program, unsigned timeout_s);
/* Its output so far; caller frees. */
char *program_output(const struct program *program);

/* A free port of 127.0.0.1 from the kernel. */
int program_free_port(void);
void program_pause_ms(unsigned ms);

#endif
