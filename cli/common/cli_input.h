// SPDX-License-Identifier: Apache-2.0
/* Reads a whole input into memory: a file, a pipe or standard input ("-"). */
#ifndef SONDE_CLI_INPUT_H
#define SONDE_CLI_INPUT_H

#include "cli.h"

/* Limit of inputs. Reports have kilobytes, or megabytes after days. */
#define SONDE__CLI_INPUT_MAX ((size_t)1 << 30)

struct sonde__cli_input {
    uint8_t *data;
    size_t size;
};

/* The name of an input in messages. */
const char *sonde__cli_input_name(const char *path);
/* Can these bytes begin an input? Called once with at most SONDE__CLI_INPUT_BEGIN bytes. After
 * false, the input is just these bytes. */
#define SONDE__CLI_INPUT_BEGIN ((size_t)64 << 10)
typedef bool sonde__cli_input_begins(const void *bytes, size_t size);

/* Reports a failure; returns an exit code. Free it with sonde__cli_input_done(). */
int sonde__cli_input_read(const struct sonde__cli_command *command, const char *path,
                          sonde__cli_input_begins *begins, struct sonde__cli_input *ret_input);
void sonde__cli_input_done(struct sonde__cli_input *input);

#endif
