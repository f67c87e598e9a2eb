// SPDX-License-Identifier: Apache-2.0
/* sonde export: the stacks of a report in the formats that other programs read. */
#include <string.h>

#include "cli_report.h"
#include "cli_shown.h"
#include "cmd.h"

enum { OPTION_STYLE = 1, OPTION_NO_DEMANGLE };

static const struct sonde__cli_option options[] = {
    {OPTION_STYLE, "style", 0, "STYLE",
     "folded (the default), json, sonde, callstack (Apple's), bs (BSBacktraceLogger's) or glibc"},
    {OPTION_NO_DEMANGLE, "no-demangle", 0, NULL, "C++ and Rust names as the file has them"},
    SONDE__CLI_SYMBOLS_OPTIONS(0),
    {0},
};

struct request {
    const char *path;
    bool folded;
    bool is_cut; /* memory ran out */
    struct sonde__cli_symbols symbols;
    struct sonde__cli_view view;
};

static bool take_style(struct sonde__cli_args *args, struct request *request)
{
    request->folded = strcmp(args->value, "folded") == 0;
    request->view.json = strcmp(args->value, "json") == 0;
    if (request->folded || request->view.json ||
        sonde__cli_parse_style(args->value, &request->view.style)) {
        return true;
    }
    args->exit_code = sonde__cli_usage_error(
        args->command, "--style: not folded, json, sonde, callstack, bs or glibc: %s", args->value);
    return false;
}

static bool parse_option(struct sonde__cli_args *args, int id, struct request *request)
{
    switch (id) {
    case SONDE__CLI_OPERAND:
        return sonde__cli_shown_take(args, &request->path);
    case OPTION_STYLE:
        return take_style(args, request);
    case OPTION_NO_DEMANGLE:
        request->view.view.raw_names = true;
        return true;
    default:
        return id != SONDE__CLI_STOP && sonde__cli_symbols_take(args, id, &request->symbols);
    }
}

static void print(void *ctx, const struct sonde__report *report,
                  const struct sonde__report_loss *loss)
{
    struct request *request = ctx;
    request->view.view.loss = loss;
    if (request->folded) {
        request->is_cut =
            !sonde__report_folded_view(report, &request->view.view, sonde__cli_sink(stdout));
    } else {
        sonde__cli_view_print(&request->view, report);
    }
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {.folded = true, .view.color = SONDE__CLI_COLOR_NEVER};
    struct sonde__cli_args args;
    int id, exit_code;
    sonde__cli_args_init(&args, command, argc, argv);
    while ((id = sonde__cli_next(&args)) != SONDE__CLI_END) {
        if (!parse_option(&args, id, &request)) {
            return args.exit_code;
        }
    }
    exit_code = sonde__cli_shown_given(command, request.path);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    exit_code = sonde__cli_shown(command, request.path, &request.symbols, print, &request);
    return request.is_cut ? sonde__cli_fail(command, request.path, SONDE_MEMORY, NULL) : exit_code;
}

const struct sonde__cli_command sonde__cmd_export = {
    .name = "export",
    .summary = "the stacks of a report in formats that other programs read",
    .usage = "[OPTION...] FILE",
    .about = "Writes the stacks of a report of `sonde stacks --report` or `sonde run --report`\n"
             "to standard output; - reads standard input.\n\n"
             "folded: a line for each distinct stack, outermost function first, and its\n"
             "weight: threads; of a watched program nanoseconds of its stalls; of recorded\n"
             "calls their number. Flame graph tools read it.",
    .options = options,
    .examples = "  sonde export hang.sonde | flamegraph.pl > hang.svg\n"
                "  sonde export --style callstack hang.sonde\n",
    .run = run,
};
