// SPDX-License-Identifier: Apache-2.0
/* sonde audit compile: checks a file of rules, and prints what they would record. */
#ifndef SONDE_AUDIT_COMPILE_H
#define SONDE_AUDIT_COMPILE_H

#include "cli.h"

/* program: whose libraries' other names of the functions are added; null: none. output: the file
 * for the compiled rules, without these names; null: none. Returns the exit code. */
int sonde__cli_audit_compile(const struct sonde__cli_command *command, const char *path,
                             const char *program, const char *output);

#endif
