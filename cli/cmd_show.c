// SPDX-License-Identifier: Apache-2.0
/* sonde show: a report as text or JSON. */
#include "base_status.h"
#include "cli_input.h"
#include "cli_report.h"
#include "cli_symbols.h"
#include "cmd.h"
#include "drain_names.h"
#include "report_read.h"

static const struct sonde__cli_option options[] = {SONDE__CLI_SYMBOLS_OPTIONS(0),
                                                   SONDE__CLI_VIEW_OPTIONS};

struct request {
    const char *path;
    struct sonde__cli_symbols symbols;
    struct sonde__cli_view view;
};

/* SONDE__CLI_END, or SONDE__CLI_STOP with the exit code in args. */
static int parse(struct sonde__cli_args *args, struct request *request)
{
    int id;
    while ((id = sonde__cli_next(args)) != SONDE__CLI_END) {
        switch (id) {
        case SONDE__CLI_OPERAND:
            if (request->path != NULL) {
                args->exit_code = sonde__cli_usage_error(
                    args->command, "one report at a time, not also %s", args->value);
                return SONDE__CLI_STOP;
            }
            request->path = args->value;
            break;
        case SONDE__CLI_STOP:
            return id;
        default:
            if (!sonde__cli_symbols_take(args, id, &request->symbols) &&
                !sonde__cli_view_take(args, id, &request->view)) {
                return SONDE__CLI_STOP;
            }
        }
    }
    if (request->path == NULL) {
        args->exit_code =
            sonde__cli_usage_error(args->command, "which report? give a file, or - for stdin");
        return SONDE__CLI_STOP;
    }
    return SONDE__CLI_END;
}

/* Names, files and lines of the frames, from what is on this machine. */
static enum sonde_status find_names(const struct sonde__cli_command *command,
                                    struct request *request, struct sonde__report *report)
{
    struct sonde__symfile_cache *symbols;
    enum sonde_status status;
    if (request->symbols.folder_count == 0 && request->symbols.debug_root == NULL) {
        return SONDE_OK; /* as it was captured */
    }
    sonde__cli_symbols_start(&request->symbols, command, 0);
    SONDE_TRY(sonde__symfile_cache_create(&request->symbols.options, &symbols));
    status = sonde__drain_rename(report, symbols);
    sonde__symfile_cache_destroy(symbols);
    return status;
}

static int show(const struct sonde__cli_command *command, const struct sonde__cli_input *input,
                struct request *request)
{
    const char *name = sonde__cli_input_name(request->path);
    struct sonde__report *report = NULL;
    struct sonde__report_loss loss;
    struct sonde_error error;
    char line[SONDE__REPORT_LOSS_LINE];
    enum sonde_status status = sonde__report_read(input->data, input->size, &report, &loss, &error);
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, name, status, &error);
    }
    status = find_names(command, request, report);
    if (status != SONDE_OK) {
        sonde__report_destroy(report);
        return sonde__cli_fail(command, name, status, NULL);
    }
    request->view.view.loss = &loss;
    sonde__cli_view_print(&request->view, report);
    sonde__report_destroy(report);
    sonde__report_loss_line(&loss, line, sizeof line);
    if (line[0] == '\0') {
        return SONDE__CLI_OK;
    }
    sonde__cli_error(command, "%s: %s", name, line);
    return SONDE__CLI_MALFORMED;
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {0};
    struct sonde__cli_args args;
    struct sonde__cli_input input;
    int exit_code;
    sonde__cli_args_init(&args, command, argc, argv);
    if (parse(&args, &request) != SONDE__CLI_END) {
        return args.exit_code;
    }
    exit_code = sonde__cli_input_read(command, request.path, sonde__report_begins, &input);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    exit_code = show(command, &input, &request);
    sonde__cli_input_done(&input);
    return exit_code;
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
