// SPDX-License-Identifier: Apache-2.0
/* sonde show: prints a report as text or JSON. */
#include "cli_shown.h"
#include "cmd.h"

static const struct sonde__cli_option options[] = {
    SONDE__CLI_SYMBOLS_OPTIONS(0, struct sonde__cli_show, symbols),
    {"top", 0, "N",
     "for each recorded function show the N stacks with the most calls, 1 or more, or all "
     "(default 20)",
     sonde__cli_take_top, offsetof(struct sonde__cli_show, view.view.top)},
    {"group", 0, NULL, "group stalls by fingerprint: show their number and the longest",
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
             "standard input. All complete records of a cut or damaged report are shown, and\n"
             "the loss is reported.\n"
             "\n"
             "Functions, files and lines are those known when the report was made; --symbols\n"
             "and --debug-root add those found on this machine by build-id.",
    .options = options,
    .examples = "  sonde show hang.sonde\n  ssh host cat hang.sonde | sonde show --json -\n"
                "  sonde show --symbols indexes hang.sonde\n",
    .run = run,
};
