// SPDX-License-Identifier: Apache-2.0
/* sonde show: a report as text or JSON. */
#include "cli_input.h"
#include "cli_report.h"
#include "cmd.h"
#include "report_read.h"

enum { OPTION_IMAGES = 1, OPTION_UNFOLDED, OPTION_NO_DEMANGLE, OPTION_JSON, OPTION_COLOR };

static const struct sonde__cli_option options[] = {
    {OPTION_IMAGES, "images", 0, NULL, "list the images with their build-ids"},
    {OPTION_UNFOLDED, "unfolded", 0, NULL,
     "each thread with its own stack, also where several have the same"},
    {OPTION_NO_DEMANGLE, "no-demangle", 0, NULL, "C++ and Rust names as the file has them"},
    {OPTION_JSON, "json", 'j', NULL, "JSON (docs/guide/report-json.md)"},
    {OPTION_COLOR, "color", 0, "WHEN", "auto (the default), always or never"},
    {0},
};

struct request {
    const char *path;
    bool json;
    enum sonde__cli_color color;
    struct sonde__report_view view;
};

/* SONDE__CLI_END, or SONDE__CLI_STOP with the exit code in args. */
static int parse(struct sonde__cli_args *args, struct request *request)
{
    int id;
    while ((id = sonde__cli_next(args)) != SONDE__CLI_END) {
        switch (id) {
        case OPTION_IMAGES:
            request->view.images = true;
            break;
        case OPTION_UNFOLDED:
            request->view.unfolded = true;
            break;
        case OPTION_NO_DEMANGLE:
            request->view.raw_names = true;
            break;
        case OPTION_JSON:
            request->json = true;
            break;
        case OPTION_COLOR:
            if (!sonde__cli_parse_color(args->value, &request->color)) {
                args->exit_code = sonde__cli_usage_error(
                    args->command, "--color: not auto, always or never: %s", args->value);
                return SONDE__CLI_STOP;
            }
            break;
        case SONDE__CLI_OPERAND:
            if (request->path != NULL) {
                args->exit_code = sonde__cli_usage_error(
                    args->command, "one report at a time, not also %s", args->value);
                return SONDE__CLI_STOP;
            }
            request->path = args->value;
            break;
        default:
            return id;
        }
    }
    if (request->path == NULL) {
        args->exit_code =
            sonde__cli_usage_error(args->command, "which report? give a file, or - for stdin");
        return SONDE__CLI_STOP;
    }
    return SONDE__CLI_END;
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
    request->view.loss = &loss;
    request->view.color = sonde__cli_use_color(request->color, stdout);
    if (request->json) {
        sonde__report_json_view(report, &request->view, sonde__cli_sink(stdout));
    } else {
        sonde__report_text_view(report, &request->view, sonde__cli_sink(stdout));
    }
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
             "was lost is said.",
    .options = options,
    .examples = "  sonde show hang.sonde\n  ssh host cat hang.sonde | sonde show --json -\n",
    .run = run,
};
