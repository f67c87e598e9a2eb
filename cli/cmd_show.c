// SPDX-License-Identifier: Apache-2.0
/* sonde show: prints a report as text or JSON. */
#include "cli_shown.h"
#include "cmd.h"

static const struct sonde__cli_option options[] = {
    SONDE__CLI_SYMBOLS_OPTIONS(0, struct sonde__cli_show, symbols),
    {"top", 0, "N",
     "of recorded calls, the N stacks of each function with the most calls, 1 or more, or all "
     "(default 20)",
     sonde__cli_take_top, offsetof(struct sonde__cli_show, view.view.top)},
    {"group", 0, NULL, "stalls of one fingerprint as one: their number, and the longest of them",
     sonde__cli_take_flag, offsetof(struct sonde__cli_show, view.view.group)},
    SONDE__CLI_VIEW_OPTIONS(struct sonde__cli_show, view)};

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct sonde__cli_show request = {0};
    struct sonde__cli_operands operands;
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    return exit_code == SONDE__CLI_GO_ON ? sonde__cli_show(command, &operands, &request)
                                         : exit_code;
}

const struct sonde__cli_command sonde__cmd_show = {
    .name = "show",
    .summary = "show a report that another command wrote",
    .usage = "[OPTION...] FILE",
    .about = "Shows a report of `sonde stacks --report` or `sonde run --report`; - reads\n"
             "standard input. Of a cut or damaged report every complete record is shown, and\n"
             "the loss is reported.\n"
             "\n"
             "Functions, files and lines are those that were known when the report was made;\n"
             "with --symbols or --debug-root also those that are found here by build-id.",
    .options = options,
    .examples = "  sonde show hang.sonde\n  ssh host cat hang.sonde | sonde show --json -\n"
                "  sonde show --symbols indexes hang.sonde\n",
    .run = run,
};
