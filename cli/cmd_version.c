// SPDX-License-Identifier: Apache-2.0
/* sonde version. */
#include "cmd.h"
#include "demangler.h"

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
    printf("sonde %s\nnames: %s\n", SONDE_VERSION, sonde__cli_demangler_text());
    return SONDE__CLI_OK;
}

const struct sonde__cli_command sonde__cmd_version = {
    .name = "version",
    .summary = "print the version",
    .usage = "",
    .about = "Prints the version of sonde, and by what names of C++ and Rust are decoded.",
    .run = run,
};
