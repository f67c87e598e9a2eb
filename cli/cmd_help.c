// SPDX-License-Identifier: Apache-2.0
/* sonde help: what there is. */
#include "cmd.h"

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct sonde__cli_args args;
    const struct sonde__cli_command *about = NULL;
    int id;
    sonde__cli_args_init(&args, command, argc, argv);
    while ((id = sonde__cli_next(&args)) != SONDE__CLI_END) {
        if (id != SONDE__CLI_OPERAND) {
            return args.exit_code;
        }
        if (about != NULL) {
            return sonde__cli_usage_error(command, "one command at a time, not also %s",
                                          args.value);
        }
        about = sonde__cli_find(args.value);
        if (about == NULL) {
            sonde__cli_error(command, "unknown command %s (sonde help lists what there is)",
                             args.value);
            return SONDE__CLI_USAGE;
        }
    }
    if (about != NULL) {
        sonde__cli_print_help(stdout, about);
    } else {
        sonde__cli_print_overview(stdout);
        printf("\nExit codes (`sonde run` ends as its program does):\n%s", sonde__cli_exit_help);
    }
    return SONDE__CLI_OK;
}

const struct sonde__cli_command sonde__cmd_help = {
    .name = "help",
    .summary = "list the commands, or tell about one",
    .usage = "[COMMAND]",
    .about = "Lists the commands and exit codes, or tells about one command.",
    .run = run,
};
