// SPDX-License-Identifier: Apache-2.0
/* The other reports of one run: `sonde run --report FILE` writes FILE for its first program, and
 * FILE.PID for a program that this one executed, or for a child of it, if it had a stall. */
#ifndef SONDE_CLI_OTHERS_H
#define SONDE_CLI_OTHERS_H

#include <stdint.h>

#include "cli.h"

/* Name on stderr the files PATH.PID and PATH.PID.N that are reports of process PID and were written
 * at or after since_ns (Unix time), sorted, up to 16. */
void sonde__cli_print_others(const struct sonde__cli_command *command, const char *path,
                             uint64_t since_ns);

#endif
