// SPDX-License-Identifier: Apache-2.0
/* sonde show: prints a report as text or JSON. */
#include <string.h>
#include <sys/stat.h>

#include "cli_fit.h"
#include "cli_reports.h"
#include "cli_shown.h"
#include "cmd.h"
#include "mem_heap.h"

static const struct sonde__cli_option options[] = {
    SONDE__CLI_SYMBOLS_OPTIONS(0, struct sonde__cli_show, symbols),
    {"top", 0, "N",
     "for each recorded function show the N stacks with the most calls, 1 or more, or all "
     "(default 20)",
     sonde__cli_take_top, offsetof(struct sonde__cli_show, view.view.top)},
    {"group", 0, NULL, "group stalls by fingerprint: show their number and the longest",
     sonde__cli_take_flag, offsetof(struct sonde__cli_show, view.view.group)},
    SONDE__CLI_VIEW_OPTIONS(struct sonde__cli_show, view)};

static bool is_folder(const char *path)
{
    struct stat st;
    return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int print_groups(const struct sonde__cli_command *command,
                        const struct sonde__cli_reports *reports, struct sonde__cli_view *view)
{
    view->view.color = sonde__cli_use_color(view->color, stdout);
    sonde__cli_fit_output();
    enum sonde_status status = sonde__report_text_groups(
        (const struct sonde__report *const *)reports->reports, (const char *const *)reports->names,
        reports->count, &view->view, sonde__cli_sink(stdout));
    return status == SONDE_OK ? SONDE__CLI_OK : sonde__cli_fail(command, NULL, status, NULL);
}

/* A report that was named twice, or a copy of it, counts once. */
static void drop_copies(struct sonde__cli_reports *reports)
{
    for (uint32_t i = 0; i < reports->count; i++) {
        const char *id = sonde__report_header(reports->reports[i])->report_id;
        for (uint32_t n = reports->count; n-- > i + 1;) {
            if (id[0] == '\0' ||
                strcmp(id, sonde__report_header(reports->reports[n])->report_id) != 0) {
                continue;
            }
            sonde__report_destroy(reports->reports[n]);
            sonde__mem_free(reports->names[n]);
            reports->count--;
            for (uint32_t k = n; k < reports->count; k++) {
                reports->reports[k] = reports->reports[k + 1];
                reports->names[k] = reports->names[k + 1];
            }
        }
    }
}

/* The groups of all reports together. */
static int show_groups(const struct sonde__cli_command *command,
                       const struct sonde__cli_operands *operands, struct sonde__cli_show *request)
{
    static struct sonde__cli_reports reports;
    int exit_code = SONDE__CLI_OK;
    if (request->view.json || request->view.style != SONDE_STYLE_SONDE) {
        return sonde__cli_usage_error(
            command, "--group of several reports is text: no --json and no --style");
    }
    for (unsigned i = 0; i < operands->count && exit_code == SONDE__CLI_OK; i++) {
        exit_code = sonde__cli_reports_add(&reports, command, operands->list[i], &request->symbols);
    }
    if (exit_code == SONDE__CLI_OK) {
        drop_copies(&reports);
        exit_code = print_groups(command, &reports, &request->view);
    }
    exit_code = exit_code == SONDE__CLI_OK && reports.is_damaged ? SONDE__CLI_MALFORMED : exit_code;
    sonde__cli_reports_done(&reports);
    return exit_code;
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct sonde__cli_show request = {0};
    struct sonde__cli_operands operands;
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    bool several = operands.count > 1 || (operands.count == 1 && is_folder(operands.list[0]));
    return request.view.view.group && several ? show_groups(command, &operands, &request)
                                              : sonde__cli_show(command, &operands, &request);
}

const struct sonde__cli_command sonde__cmd_show = {
    .name = "show",
    .summary = "show a report that another command wrote",
    .usage = "[OPTION...] FILE\n--group [OPTION...] FILE|FOLDER...",
    .about = "Shows a report of `sonde stacks --report` or `sonde run --report`; - reads\n"
             "standard input. All complete records of a cut or damaged report are shown, and\n"
             "the loss is reported.\n"
             "\n"
             "Functions, files and lines are those known when the report was made; --symbols\n"
             "and --debug-root add those found on this machine by build-id.",
    .options = options,
    .examples = "  sonde show hang.sonde\n  ssh host cat hang.sonde | sonde show --json -\n"
                "  sonde show --symbols indexes hang.sonde\n"
                "  sonde show --group monday.sonde ~/.local/state/sonde/spool\n",
    .run = run,
};
