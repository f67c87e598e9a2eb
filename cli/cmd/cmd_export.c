// SPDX-License-Identifier: Apache-2.0
/* sonde export: writes a report in formats of other programs. */
#include <string.h>
#include <unistd.h>

#include "cli_fit.h"
#include "cli_shown.h"
#include "cmd.h"
#include "export.h"
#include "export_sarif.h"
#include "report_later.h"

/* Obsolete words of --style, and their replacements. */
static const char *const styles[] = {"folded", "json", "sonde", "callstack", "bs", "glibc", NULL};
static const enum sonde__export_format style_formats[] = {
    SONDE__EXPORT_FOLDED, SONDE__EXPORT_JSON, SONDE__EXPORT_TEXT,
    SONDE__EXPORT_APPLE,  SONDE__EXPORT_BS,   SONDE__EXPORT_GLIBC};

#define NOT_GIVEN 255u

struct request {
    unsigned format, style;
    struct sonde__cli_symbols symbols;
    struct sonde__cli_view view;
    struct sonde__cli_sarif sarif;
    enum sonde_status status; /* of the export */
    struct sonde_error error;
};

static const struct sonde__cli_option options[] = {
    {"format", 'f', "FORMAT",
     "folded (the default), firefox, speedscope, pprof, otlp-1.10, perfetto, apple, bs, glibc, "
     "json, text or sarif",
     sonde__cli_take_word, offsetof(struct request, format), .words = sonde__export_words},
    {"style", 0, "STYLE",
     "an older name of --format: folded, json, sonde (text), callstack (apple), bs or glibc",
     sonde__cli_take_word, offsetof(struct request, style), .words = styles},
    {"no-demangle", 0, NULL, "do not demangle names", sonde__cli_take_flag,
     offsetof(struct request, view.view.raw_names)},
    SONDE__CLI_SARIF_OPTIONS(struct request, sarif),
    SONDE__CLI_SYMBOLS_OPTIONS(0, struct request, symbols),
    {0},
};

static void print(void *ctx, struct sonde__report *report, const struct sonde__report_loss *loss)
{
    struct request *request = ctx;
    const struct sonde__export_options exported = {
        .format = (enum sonde__export_format)request->format,
        .raw_names = request->view.view.raw_names,
        .view = &request->view.view,
    };
    request->view.view.loss = loss;
    if (exported.format <= SONDE__EXPORT_PERFETTO) {
        sonde__report_join_later(report);
    }
    if (exported.format == SONDE__EXPORT_TEXT) {
        sonde__cli_fit_output();
    }
    request->status = sonde__export(report, &exported, sonde__cli_sink(stdout), &request->error);
}

static int take_format(const struct sonde__cli_command *command, struct request *request)
{
    if (request->format != NOT_GIVEN && request->style != NOT_GIVEN) {
        return sonde__cli_usage_error(command, "--style is an older name of --format: give one");
    }
    if (request->style != NOT_GIVEN) {
        request->format = style_formats[request->style];
    }
    request->format = request->format != NOT_GIVEN ? request->format : SONDE__EXPORT_FOLDED;
    if (request->format >= SONDE__EXPORT_PPROF && request->format <= SONDE__EXPORT_PERFETTO &&
        isatty(STDOUT_FILENO) == 1) {
        return sonde__cli_usage_error(command, "%s is no text: redirect it to a file",
                                      sonde__export_words[request->format]);
    }
    if (request->format != SONDE__EXPORT_SARIF && sonde__cli_sarif_is_asked(&request->sarif)) {
        return sonde__cli_usage_error(
            command, "--baseline, --suppress, --fail-on and --source-root are for --format sarif");
    }
    return SONDE__CLI_GO_ON;
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {
        .format = NOT_GIVEN, .style = NOT_GIVEN, .view.color = SONDE__CLI_COLOR_NEVER};
    struct sonde__cli_operands operands;
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    if (exit_code == SONDE__CLI_GO_ON) {
        exit_code = take_format(command, &request);
    }
    if (exit_code == SONDE__CLI_GO_ON) {
        exit_code =
            operands.count == 0
                ? sonde__cli_usage_error(command, "which report? give a file, or - for stdin")
                : sonde__cli_one_operand(command, &operands, "report");
    }
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (request.format == SONDE__EXPORT_SARIF) {
        request.sarif.raw_names = request.view.view.raw_names;
        return sonde__cli_export_sarif(command, operands.list[0], &request.symbols, &request.sarif);
    }
    exit_code = sonde__cli_shown(command, operands.list[0], &request.symbols, print, &request);
    if (request.status == SONDE_UNSUPPORTED) {
        sonde__cli_error(command, "%s: %s", operands.list[0], request.error.what);
        return SONDE__CLI_FAILED;
    }
    return request.status != SONDE_OK
               ? sonde__cli_fail(command, operands.list[0], request.status, NULL)
               : exit_code;
}

const struct sonde__cli_command sonde__cmd_export = {
    .name = "export",
    .summary = "the stacks of a report in formats that other programs read",
    .usage = "[OPTION...] FILE",
    .about = "Writes the stacks of a report of `sonde stacks --report` or `sonde run\n"
             "--report` to standard output; - reads standard input.\n"
             "\n"
             "  folded      a line for each distinct stack: flame graph tools\n"
             "  firefox     the Firefox Profiler: threads, weighted samples, a marker for\n"
             "              each stall\n"
             "  speedscope  speedscope: a profile for each stall\n"
             "  pprof       go tool pprof, and most services for profiles\n"
             "  otlp-1.10   OpenTelemetry profiles, v1development as of protocol 1.10\n"
             "  perfetto    Perfetto: a time line; stalls only\n"
             "  apple, bs, glibc   text, as `sonde show --style`\n"
             "  json, text  as `sonde show`\n"
             "  sarif       SARIF 2.1.0: recorded calls as findings, for code scanning\n"
             "              services; FILE may be a folder of reports\n"
             "\n"
             "Weights are the number of threads, nanoseconds of stalls, the number of calls\n"
             "or of live blocks. Those of a stall add up to its duration; time that no sample\n"
             "stands for is \"(not sampled)\".",
    .options = options,
    .examples = "  sonde export hang.sonde | flamegraph.pl > hang.svg\n"
                "  sonde export --format firefox hang.sonde > hang.json\n"
                "  sonde export --format pprof hang.sonde > hang.pb.gz; go tool pprof hang.pb.gz\n"
                "  sonde export --format sarif --baseline main.sonde --suppress accepted \\\n"
                "    --fail-on warning calls.sonde > calls.sarif\n",
    .run = run,
};
