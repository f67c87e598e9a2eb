// SPDX-License-Identifier: Apache-2.0
/* The commands of the collector, each defined in its cmd_NAME.c, and what they share. */
#ifndef SONDE_COLLECTOR_CMD_H
#define SONDE_COLLECTOR_CMD_H

#include "cli.h"
#include "store.h"

extern const struct sonde__cli_command collector_cmd_serve;
extern const struct sonde__cli_command collector_cmd_project;
extern const struct sonde__cli_command collector_cmd_key;
extern const struct sonde__cli_command collector_cmd_filter;
extern const struct sonde__cli_command collector_cmd_hook;
extern const struct sonde__cli_command collector_cmd_log;
extern const struct sonde__cli_command collector_cmd_backup;
extern const struct sonde__cli_command collector_cmd_restore;

/* Where data is by default. */
#define COLLECTOR_DATA "/var/lib/sonde-collector"

/* Options of each command. */
#define COLLECTOR_OPTION_CONFIG                                                                    \
    {                                                                                              \
        "config", 0, "FILE", "a file with lines \"name = value\" for options",                     \
            collector_take_config, 0                                                               \
    }
#define COLLECTOR_OPTION_DATA(type, member)                                                        \
    {                                                                                              \
        "data", 'd', "DIR", "the data folder (default " COLLECTOR_DATA ")", sonde__cli_take_text,  \
            offsetof(type, member)                                                                 \
    }
#define COLLECTOR_OPTION_DATABASE(type, member)                                                    \
    {                                                                                              \
        "database", 0, "URI",                                                                      \
            "a PostgreSQL database that collectors share, not one in the folder",                  \
            sonde__cli_take_text, offsetof(type, member)                                           \
    }
/* Parse as sonde__cli_parse(), after the file of --config (config.c). */
int collector_parse(const struct sonde__cli_command *command, int argc, char **argv, void *request,
                    struct sonde__cli_operands *ret_operands);
/* What may be in the file: the options of serve. Set by main(). */
extern const struct sonde__cli_option *collector_config_options;
/* --config was read before. */
sonde__cli_take collector_take_config;

/* Where the store is: a data folder that is there already, or a database that collectors share
 * (null: none). The first member of the request of each command that uses a store. */
struct collector_where {
    const char *data, *database;
};
/* What a command does with the open store. Returns an exit code. */
typedef int collector_act(const struct sonde__cli_command *command, struct store *store,
                          const void *request, const struct sonde__cli_operands *operands);
/* Parse, open the store, act, and close it. where: the request. Returns an exit code; failures were
 * reported. */
int collector_run(const struct sonde__cli_command *command, int argc, char **argv,
                  struct collector_where *where, collector_act *act);
/* The number of a project, by its name. Returns SONDE__CLI_GO_ON or an exit code. */
int collector_find_project(const struct sonde__cli_command *command, struct store *store,
                           const char *name, uint32_t *ret_project);
/* The exit code of a failed change, which is reported. what: "project web". */
int collector_fail(const struct sonde__cli_command *command, const char *what,
                   enum store_status status);
/* Make the secret of a key. Returns an exit code. */
int collector_make_secret(const struct sonde__cli_command *command, enum store_role role,
                          char ret_secret[IDS_SECRET_TEXT]);
/* Make a key with such a secret. Returns an exit code. */
int collector_make_key(const struct sonde__cli_command *command, struct store *store,
                       uint32_t project, enum store_role role, const char *label,
                       char ret_secret[IDS_SECRET_TEXT]);
#endif
