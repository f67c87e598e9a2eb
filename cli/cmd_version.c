// SPDX-License-Identifier: Apache-2.0
/* sonde version. */
#include "cmd.h"

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct sonde__cli_args args;
    sonde__cli_args_init(&args, command, argc, argv);
    switch (sonde__cli_next(&args)) {
    case SONDE__CLI_END:
        break;
    case SONDE__CLI_OPERAND:
        return sonde__cli_usage_error(command, "needs no argument: %s", args.value);
    default:
        return args.exit_code;
    }
    printf("sonde %s\n", SONDE_VERSION);
    return SONDE__CLI_OK;
}

const struct sonde__cli_command sonde__cmd_version = {
    .name = "version",
    .summary = "print the version",
    .usage = "",
    .about = "Prints the version of sonde.",
    .run = run,
};
