// SPDX-License-Identifier: Apache-2.0
/* The commands of the collector, each defined in its cmd_NAME.c, and what they share. */
#ifndef SONDE_COLLECTOR_CMD_H
#define SONDE_COLLECTOR_CMD_H

#include "cli.h"
#include "store.h"

extern const struct sonde__cli_command collector_cmd_serve;
extern const struct sonde__cli_command collector_cmd_project;
extern const struct sonde__cli_command collector_cmd_key;

/* Where data is by default. */
#define COLLECTOR_DATA "/var/lib/sonde-collector"

/* Open the store of a data folder that is there already; reports a failure. Returns
 * SONDE__CLI_GO_ON or an exit code. */
int collector_open_store(const struct sonde__cli_command *command, const char *data,
                         struct store **ret_store);
/* The exit code of a failed change, which is reported. what: "project web". */
int collector_fail(const struct sonde__cli_command *command, const char *what,
                   enum store_status status);
/* Make a key, and print its secret on stdout. Returns an exit code. */
int collector_make_key(const struct sonde__cli_command *command, struct store *store,
                       uint32_t project, enum store_role role, const char *label,
                       char ret_secret[IDS_SECRET_TEXT]);
/* The words of enum store_role, from 1. */
extern const char *const collector_roles[];

#endif
