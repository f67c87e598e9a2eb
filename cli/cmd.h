// SPDX-License-Identifier: Apache-2.0
/* The commands, each defined in its cmd_NAME.c. */
#ifndef SONDE_CMD_H
#define SONDE_CMD_H

#include "cli.h"

extern const struct sonde__cli_command sonde__cmd_audit;
extern const struct sonde__cli_command sonde__cmd_blocks;
extern const struct sonde__cli_command sonde__cmd_diff;
extern const struct sonde__cli_command sonde__cmd_doctor;
extern const struct sonde__cli_command sonde__cmd_export;
extern const struct sonde__cli_command sonde__cmd_holders;
extern const struct sonde__cli_command sonde__cmd_index;
extern const struct sonde__cli_command sonde__cmd_mark;
extern const struct sonde__cli_command sonde__cmd_privacy;
extern const struct sonde__cli_command sonde__cmd_run;
extern const struct sonde__cli_command sonde__cmd_show;
extern const struct sonde__cli_command sonde__cmd_spool;
extern const struct sonde__cli_command sonde__cmd_stacks;
extern const struct sonde__cli_command sonde__cmd_symbolize;
extern const struct sonde__cli_command sonde__cmd_types;
extern const struct sonde__cli_command sonde__cmd_upload;
extern const struct sonde__cli_command sonde__cmd_version;
extern const struct sonde__cli_command sonde__cmd_watch;

#endif
