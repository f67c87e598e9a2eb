// SPDX-License-Identifier: Apache-2.0
/* sonde export: the stacks of a report in the formats that other programs read. */
#include "cli_shown.h"
#include "cmd.h"

enum { FOLDED, JSON, STYLES };
/* behind the first two: enum sonde_style */
static const char *const formats[] = {"folded", "json", "sonde", "callstack", "bs", "glibc", NULL};

struct request {
    unsigned format;
    struct sonde__cli_show show;
};

static const struct sonde__cli_option options[] = {
    {"style", 0, "STYLE",
     "folded (the default), json, sonde, callstack (Apple's), bs (BSBacktraceLogger's) or glibc",
     sonde__cli_take_word, offsetof(struct request, format), .words = formats},
    {"no-demangle", 0, NULL, "C++ and Rust names as in the file", sonde__cli_take_flag,
     offsetof(struct request, show.view.view.raw_names)},
    SONDE__CLI_SYMBOLS_OPTIONS(0, struct request, show.symbols),
    {0},
};

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {.show.view.color = SONDE__CLI_COLOR_NEVER};
    struct sonde__cli_operands operands;
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    request.show.folded = request.format == FOLDED;
    request.show.view.json = request.format == JSON;
    if (request.format >= STYLES) {
        request.show.view.style = (enum sonde_style)(request.format - STYLES);
    }
    return sonde__cli_show(command, &operands, &request.show);
}

const struct sonde__cli_command sonde__cmd_export = {
    .name = "export",
    .summary = "the stacks of a report in formats that other programs read",
    .usage = "[OPTION...] FILE",
    .about = "Writes the stacks of a report of `sonde stacks --report` or `sonde run\n"
             "--report` to standard output; - reads standard input.\n"
             "\n"
             "folded: a line for each distinct stack, outermost function first, with its\n"
             "weight: the number of threads, nanoseconds of stalls, or the number of calls.\n"
             "Flame graph tools read it.",
    .options = options,
    .examples = "  sonde export hang.sonde | flamegraph.pl > hang.svg\n"
                "  sonde export --style callstack hang.sonde\n",
    .run = run,
};
