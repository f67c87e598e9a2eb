// SPDX-License-Identifier: Apache-2.0
#include "debuggers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"

enum { ARGUMENTS = 64, TEXTS = 16384, SECONDS = 100 };

struct arguments {
    const char *argv[ARGUMENTS];
    size_t count;
    char texts[TEXTS];
    size_t used;
};

static void add(struct arguments *arguments, const char *text)
{
    size_t size = strlen(text) + 1;
    CHECK(arguments->count + 1 < ARGUMENTS && arguments->used + size <= TEXTS);
    arguments->argv[arguments->count++] = memcpy(arguments->texts + arguments->used, text, size);
    arguments->used += size;
}

static void add_number(struct arguments *arguments, const char *option, int number)
{
    char text[32];
    snprintf(text, sizeof text, "%d", number);
    add(arguments, option);
    add(arguments, text);
}

/* lldb gives the program a terminal, with CRLF line ends. */
static void strip_returns(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        if (*from != '\r') {
            *to++ = *from;
        }
    }
    *to = '\0';
}

static struct test_run run(const struct arguments *arguments, const char *libraries)
{
    char sonde[4200], path[12800];
    snprintf(sonde, sizeof sonde, "SONDE=%s", program_sonde());
    snprintf(path, sizeof path, "LD_LIBRARY_PATH=%s", libraries != NULL ? libraries : "");
    const char *env[] = {sonde, "HOME=/nonexistent", libraries != NULL ? path : NULL, NULL};
    struct test_run done = test_run(arguments->argv, env, NULL, SECONDS);
    if (done.timed_out) {
        FAIL("the debugger did not come to an end: %s%s", done.out, done.err);
    }
    /* gdb 12, if the processor has more extended registers than it knows */
    if (strstr(done.err, "Couldn't write extended state status") != NULL) {
        SKIP("this gdb cannot write the registers of this processor");
    }
    strip_returns(done.out);
    return done;
}

struct test_run debugger_gdb(const struct debugger_job *job)
{
    static struct arguments arguments;
    arguments = (struct arguments){0};
    if (!program_on_path("gdb")) {
        SKIP("gdb is not there (./dev setup test)");
    }
    add(&arguments, "gdb");
    add(&arguments, "-nx");
    add(&arguments, "-batch");
    if (job->program != NULL) {
        add(&arguments, job->program);
    }
    if (job->core != NULL) {
        add(&arguments, "-c");
        add(&arguments, job->core);
    }
    if (job->pid != 0) {
        add_number(&arguments, "-p", job->pid);
    }
    for (size_t i = 0; job->commands[i] != NULL; i++) {
        add(&arguments, "-ex");
        add(&arguments, job->commands[i]);
    }
    return run(&arguments, NULL);
}

/* The installed debugger, or its packages (unpacked one by one) combined in the test's folder.
 * Null: neither. *ret_libraries: the folder of its libraries; null: the standard one. */
static const char *find_lldb(const char **ret_libraries)
{
    static const char *const packages[] = {"lldb-19", "liblldb-19", "python3-lldb-19"};
    static char program[4200], libraries[12800];
    char command[16384] = "set -e\n";
    *ret_libraries = NULL;
    if (program_on_path("lldb-19")) {
        return "lldb-19";
    }
    for (size_t i = 0; i < sizeof packages / sizeof packages[0]; i++) {
        const char *folder = program_unpacked(packages[i], "usr/lib");
        size_t length = strlen(command);
        if (folder == NULL) {
            return NULL;
        }
        snprintf(command + length, sizeof command - length, "cp -r '%s' '%s'\n", folder,
                 test_folder());
    }
    const char *argv[] = {"sh", "-c", command, NULL};
    struct test_run copied = test_run(argv, NULL, NULL, SECONDS);
    CHECK_EQ(copied.status, 0);
    test_run_done(&copied);
    snprintf(program, sizeof program, "%s/lib/llvm-19/bin/lldb", test_folder());
    snprintf(libraries, sizeof libraries,
             "%s/lib/llvm-19/lib:%s/lib/x86_64-linux-gnu:%s/lib/aarch64-linux-gnu", test_folder(),
             test_folder(), test_folder());
    *ret_libraries = libraries;
    return program;
}

struct test_run debugger_lldb(const struct debugger_job *job)
{
    static struct arguments arguments;
    static const char *program;
    static const char *libraries;
    arguments = (struct arguments){0};
    if (program == NULL) {
        program = find_lldb(&libraries);
    }
    if (program == NULL) {
        SKIP("lldb-19 is not there (./dev setup test)");
    }
    add(&arguments, program);
    add(&arguments, "--no-lldbinit");
    add(&arguments, "--batch");
    if (job->program != NULL) {
        add(&arguments, job->program);
    }
    if (job->core != NULL) {
        add(&arguments, "-c");
        add(&arguments, job->core);
    }
    if (job->pid != 0) {
        add_number(&arguments, "-p", job->pid);
    }
    /* from a file: there a failed command does not end the others */
    char file[4200], text[TEXTS] = "";
    snprintf(file, sizeof file, "%s/commands.lldb", test_folder());
    for (size_t i = 0; job->commands[i] != NULL; i++) {
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s\n", job->commands[i]);
    }
    test_write_file(file, text, strlen(text));
    snprintf(text, sizeof text, "command source -e false %s", file);
    add(&arguments, "-o");
    add(&arguments, text);
    struct test_run done = run(&arguments, libraries);
    if (done.status == 127) {
        SKIP("lldb-19 does not start here: %s", done.err);
    }
    return done;
}
