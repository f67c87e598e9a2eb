// SPDX-License-Identifier: Apache-2.0
/* System calls that modules make themselves, as objdump sees them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"

static struct test_run record_raw(const char *list_text, const char *const argv[])
{
    static char list[512];
    const char *all[16] = {program_sonde(), "run", "--verbose", "--record", list, "--"};
    snprintf(list, sizeof list, "%s/list", test_folder());
    test_write_file(list, list_text, strlen(list_text));
    for (unsigned i = 0; argv[i] != NULL; i++) {
        all[6 + i] = argv[i];
    }
    return test_run(all, NULL, NULL, 60);
}

/* Instructions in the disassembly of a file. */
static unsigned count_in_objdump(const char *path)
{
    char command[900];
    snprintf(command, sizeof command, "objdump -d '%s' | grep -cE '\\s(syscall|svc\\s.*#0x0)\\s*$'",
             path);
    const char *argv[] = {"sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    unsigned count = (unsigned)strtoul(run.out, NULL, 10);
    test_run_done(&run);
    return count;
}

/* System calls reported for a module: one per line, or their number. */
static unsigned count_said(const char *text, const char *module)
{
    unsigned count = 0, many;
    size_t length = strlen(module);
    for (const char *at = strstr(text, module); at != NULL; at = strstr(at + 1, module)) {
        if (strncmp(at + length, ": system call ", 14) == 0) {
            count++;
        } else if (sscanf(at + length, ": %u", &many) == 1) {
            count += many;
        }
    }
    return count;
}

/* The module that this line is about. */
static void check_as_objdump(const char *text, const char *what)
{
    char path[256];
    const char *line = strstr(text, what);
    CHECK(line != NULL);
    while (line > text && line[-1] != '\n') {
        line--;
    }
    CHECK_EQ(sscanf(line, "sonde run: %255[^:]", path), 1);
    CHECK_EQ(count_said(text, path), count_in_objdump(path));
}

TEST(raw_system_calls_are_listed)
{
    const char *argv[] = {program_built("record/raw"), NULL};
    struct test_run run = record_raw("getenv\n", argv);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.err, "/raw: system call getppid of its own, at raw_constant+");
    CHECK_CONTAINS(run.err, "/raw: system call (number not known) of its own, at raw_variable+");
    CHECK_EQ(count_said(run.err, argv[0]), count_in_objdump(argv[0]));
    check_as_objdump(run.err, "system calls of its own (listed functions are defined"); /* libc */
    check_as_objdump(run.err, "more system calls of its own"); /* the loader */
    test_run_done(&run);
}
