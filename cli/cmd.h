// SPDX-License-Identifier: Apache-2.0
/* The verbs, each defined in its cmd_VERB.c. */
#ifndef SONDE_CMD_H
#define SONDE_CMD_H

#include "cli.h"

extern const struct sonde__cli_command sonde__cmd_blocks;
extern const struct sonde__cli_command sonde__cmd_doctor;
extern const struct sonde__cli_command sonde__cmd_export;
extern const struct sonde__cli_command sonde__cmd_help;
extern const struct sonde__cli_command sonde__cmd_holders;
extern const struct sonde__cli_command sonde__cmd_index;
extern const struct sonde__cli_command sonde__cmd_run;
extern const struct sonde__cli_command sonde__cmd_show;
extern const struct sonde__cli_command sonde__cmd_stacks;
extern const struct sonde__cli_command sonde__cmd_symbolize;
extern const struct sonde__cli_command sonde__cmd_types;
extern const struct sonde__cli_command sonde__cmd_version;

/* The path of libsonde-preload.so, or null: it is nowhere beside the program. */
const char *sonde__cli_find_probe(void);
/* The same of another library; folder: where a build tree has it, from the folder of the program.
 */
const char *sonde__cli_find_library(const char *name, const char *folder);

#endif
