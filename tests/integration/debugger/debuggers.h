// SPDX-License-Identifier: Apache-2.0
/* gdb and lldb with a list of commands. */
#ifndef SONDE_TEST_DEBUGGERS_H
#define SONDE_TEST_DEBUGGERS_H

#include "test.h"

enum { DEBUGGER_COMMANDS = 20 };

struct debugger_job {
    const char *program;                     /* or null */
    const char *core;                        /* or null */
    int pid;                                 /* to attach to; 0: none */
    const char *commands[DEBUGGER_COMMANDS]; /* null-terminated */
};

/* Run the commands, without the person's own start-up files. Standard output has the text of the
 * debugger, the commands, and the program that it starts. Skips the test where the debugger is not
 * there. */
struct test_run debugger_gdb(const struct debugger_job *job);
struct test_run debugger_lldb(const struct debugger_job *job);

#endif
