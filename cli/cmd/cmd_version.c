// SPDX-License-Identifier: Apache-2.0
/* sonde version. */
#include "cmd.h"
#include "demangler.h"

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct sonde__cli_operands operands;
    int exit_code = sonde__cli_parse(command, argc, argv, NULL, &operands);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (operands.count != 0) {
        return sonde__cli_usage_error(command, "needs no argument: %s", operands.list[0]);
    }
    printf("sonde %s\nnames: %s\n", SONDE_VERSION, sonde__cli_demangler_text());
    return SONDE__CLI_OK;
}

const struct sonde__cli_command sonde__cmd_version = {
    .name = "version",
    .summary = "print the version",
    .usage = "",
    .about = "Prints the version of sonde, and which decoders of C++ and Rust names it has.",
    .run = run,
};
