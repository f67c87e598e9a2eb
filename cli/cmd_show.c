// SPDX-License-Identifier: Apache-2.0
/* sonde show: a report as text or JSON. */
#include "cli_report.h"
#include "cli_shown.h"
#include "cmd.h"

static const struct sonde__cli_option options[] = {
    SONDE__CLI_SYMBOLS_OPTIONS(0),
    {SONDE__CLI_VIEW_TOP, "top", 0, "N",
     "of recorded calls, the N stacks of each function with the most calls, 1 or more, or all "
     "(20)"},
    SONDE__CLI_VIEW_OPTIONS};

struct request {
    const char *path;
    struct sonde__cli_symbols symbols;
    struct sonde__cli_view view;
};

static bool parse_option(struct sonde__cli_args *args, int id, struct request *request)
{
    switch (id) {
    case SONDE__CLI_OPERAND:
        return sonde__cli_shown_take(args, &request->path);
    case SONDE__CLI_STOP:
        return false;
    default:
        return sonde__cli_symbols_take(args, id, &request->symbols) ||
               sonde__cli_view_take(args, id, &request->view);
    }
}

static void print(void *ctx, const struct sonde__report *report,
                  const struct sonde__report_loss *loss)
{
    struct request *request = ctx;
    request->view.view.loss = loss;
    sonde__cli_view_print(&request->view, report);
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {0};
    struct sonde__cli_args args;
    int id, exit_code;
    sonde__cli_args_init(&args, command, argc, argv);
    while ((id = sonde__cli_next(&args)) != SONDE__CLI_END) {
        if (!parse_option(&args, id, &request)) {
            return args.exit_code;
        }
    }
    exit_code = sonde__cli_shown_given(command, request.path);
    return exit_code != SONDE__CLI_OK
               ? exit_code
               : sonde__cli_shown(command, request.path, &request.symbols, print, &request);
}

const struct sonde__cli_command sonde__cmd_show = {
    .name = "show",
    .summary = "show a report that another command wrote",
    .usage = "[OPTION...] FILE",
    .about = "Shows a report of `sonde stacks --report` or `sonde run --report`; - reads\n"
             "standard input. Of a cut or damaged report every whole record is shown, and what\n"
             "was lost is said.\n\n"
             "Functions, files and lines are those that were known when the report was made;\n"
             "with --symbols or --debug-root also those that are found here, by build-id.",
    .options = options,
    .examples = "  sonde show hang.sonde\n  ssh host cat hang.sonde | sonde show --json -\n"
                "  sonde show --symbols indexes hang.sonde\n",
    .run = run,
};
