// SPDX-License-Identifier: Apache-2.0
/* sonde diff: what is new, worse, better or gone between two reports or folders of reports. */
#include <stdlib.h>
#include <string.h>

#include "base_status.h"
#include "cli_fit.h"
#include "cli_report.h"
#include "cli_reports.h"
#include "cmd.h"
#include "diff.h"
#include "findings.h"

enum fail_on { FAIL_ON_NOTHING, FAIL_ON_NEW, FAIL_ON_WORSE, FAIL_ON_SEVERITY };

struct fail {
    enum fail_on on;
    uint32_t percent;  /* 0: not given */
    uint32_t severity; /* enum sonde__report_severity */
};

struct request {
    struct fail fail;
    uint32_t percent;
    bool json;
    enum sonde__cli_color color;
    struct sonde__cli_symbols symbols;
    struct sonde__report_view view;
};

#define FACTOR_FORM "not a factor from 1.01 to 10000"

/* Parse "1.5" to percent. */
static bool parse_factor(const char *text, uint32_t *ret_percent)
{
    char *end;
    double factor = strtod(text, &end);
    bool good = text[0] >= '0' && text[0] <= '9' && *end == '\0' &&
                strspn(text, "0123456789.") == strlen(text) && factor >= 1.0 && factor <= 10000.0;
    if (good) {
        *ret_percent = (uint32_t)(factor * 100 + 0.5);
    }
    return good && *ret_percent >= SONDE__DIFF_PERCENT_MIN;
}

static const char *take_factor(const struct sonde__cli_option *option, const char *value,
                               void *member)
{
    (void)option;
    return parse_factor(value, member) ? NULL : FACTOR_FORM;
}

static const char *take_fail_on(const struct sonde__cli_option *option, const char *value,
                                void *member)
{
    struct fail fail = {0};
    if (strcmp(value, "new") == 0) {
        fail.on = FAIL_ON_NEW;
    } else if (strncmp(value, "worse", 5) == 0 && (value[5] == '\0' || value[5] == ':')) {
        fail.on = FAIL_ON_WORSE;
        if (value[5] == ':' && !parse_factor(value + 6, &fail.percent)) {
            return FACTOR_FORM " after worse:";
        }
    } else if (sonde__cli_take_severity(option, value, &fail.severity) == NULL) {
        fail.on = FAIL_ON_SEVERITY;
    } else {
        return "not new, worse, worse:FACTOR, note, warning or error";
    }
    *(struct fail *)member = fail;
    return NULL;
}

static const struct sonde__cli_option options[] = {
    {"fail-on", 0, "WHAT",
     "new, worse (which includes new) or worse:FACTOR: exit with 8 if there is any, with 7 if "
     "something is not comparable; note, warning or error: the same for new calls whose rule is at "
     "least that severe (without a rule: warning)",
     take_fail_on, offsetof(struct request, fail)},
    {"factor", 0, "FACTOR",
     "the factor for worse and better, in number or time, 1.01 to 10000 (default 1.5)", take_factor,
     offsetof(struct request, percent)},
    {"top", 0, "N", "show N calls of each state, or all (default 20)", sonde__cli_take_top,
     offsetof(struct request, view.top)},
    SONDE__CLI_SYMBOLS_OPTIONS(0, struct request, symbols),
    {"no-demangle", 0, NULL, "do not demangle names", sonde__cli_take_flag,
     offsetof(struct request, view.raw_names)},
    {"json", 'j', NULL, "JSON (docs/guide/report-json.md)", sonde__cli_take_flag,
     offsetof(struct request, json)},
    {"color", 0, "WHEN", "auto (the default), always or never", sonde__cli_take_color,
     offsetof(struct request, color)},
    {0},
};

/* What --fail-on asks for, and what is not comparable. */
static enum sonde_status count_found(const struct request *request, const struct sonde__diff *diff,
                                     struct sonde__findings_gate *ret_gate)
{
    struct sonde__findings findings;
    *ret_gate = (struct sonde__findings_gate){0};
    if (request->fail.on == FAIL_ON_SEVERITY) {
        SONDE_TRY(sonde__findings_make(diff, NULL, &findings));
        *ret_gate =
            sonde__findings_gate(&findings, (enum sonde__report_severity)request->fail.severity);
        sonde__findings_done(&findings);
    } else if (request->fail.on != FAIL_ON_NOTHING) {
        ret_gate->found = sonde__diff_number(diff, SONDE__DIFF_NEW);
        ret_gate->found +=
            request->fail.on == FAIL_ON_WORSE ? sonde__diff_number(diff, SONDE__DIFF_WORSE) : 0;
        ret_gate->unsure = sonde__diff_number(diff, SONDE__DIFF_UNSURE);
    }
    return SONDE_OK;
}

static int exit_code_of(const struct sonde__cli_command *command, const struct request *request,
                        const struct sonde__diff *diff, bool damaged)
{
    struct sonde__findings_gate gate;
    enum sonde_status status = count_found(request, diff, &gate);
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, NULL, status, NULL);
    }
    return sonde__cli_gate_code(&gate, damaged);
}

static void print(const struct sonde__diff *diff, const struct request *request)
{
    if (request->json) {
        sonde__diff_json(diff, &request->view, sonde__cli_sink(stdout));
    } else {
        sonde__cli_fit_output();
        sonde__diff_text(diff, &request->view, sonde__cli_sink(stdout));
    }
}

static int compare(const struct sonde__cli_command *command, struct request *request,
                   const struct sonde__cli_reports *sides)
{
    struct sonde__diff_side both[SONDE__DIFF_SIDES];
    struct sonde__diff diff;
    for (unsigned s = 0; s < SONDE__DIFF_SIDES; s++) {
        both[s] = (struct sonde__diff_side){(const struct sonde__report *const *)sides[s].reports,
                                            (const char *const *)sides[s].names, sides[s].count};
    }
    enum sonde_status status = sonde__diff_make(&both[0], &both[1], request->percent, &diff);
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, NULL, status, NULL);
    }
    request->view.color = sonde__cli_use_color(request->color, stdout);
    print(&diff, request);
    int exit_code =
        exit_code_of(command, request, &diff, sides[0].is_damaged || sides[1].is_damaged);
    if (!sonde__diff_has_any(&diff)) {
        sonde__cli_error(command, "nothing can be compared: both sides need reports of a watch "
                                  "(sonde run), or of a recording (sonde run --record)");
        exit_code = SONDE__CLI_FAILED;
    }
    sonde__diff_done(&diff);
    return exit_code;
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    static struct sonde__cli_reports sides[SONDE__DIFF_SIDES];
    struct request request = {.percent = SONDE__DIFF_PERCENT};
    struct sonde__cli_operands operands;
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (operands.count != SONDE__DIFF_SIDES) {
        return sonde__cli_usage_error(command, "two reports, or folders of reports: OLD and NEW");
    }
    request.percent = request.fail.percent != 0 ? request.fail.percent : request.percent;
    exit_code = SONDE__CLI_OK;
    for (unsigned s = 0; s < SONDE__DIFF_SIDES && exit_code == SONDE__CLI_OK; s++) {
        exit_code = sonde__cli_reports_add(&sides[s], command, operands.list[s], &request.symbols);
    }
    if (exit_code == SONDE__CLI_OK) {
        exit_code = compare(command, &request, sides);
    }
    sonde__cli_reports_done(&sides[0]);
    sonde__cli_reports_done(&sides[1]);
    return exit_code;
}

const struct sonde__cli_command sonde__cmd_diff = {
    .name = "diff",
    .summary = "what is new, worse, better or gone between two reports",
    .usage = "[OPTION...] OLD NEW",
    .about = "Compares reports of `sonde run --report`, even of different builds of a\n"
             "program: causes of stalls by fingerprint, and recorded calls by function\n"
             "and by the program's own functions that led to them. OLD and NEW are\n"
             "reports, or folders, whose reports are added up; figures are compared per\n"
             "report. - reads standard input.\n"
             "\n"
             "Functions are compared by name. A function without a name is identified by\n"
             "its library and start, which may move between builds; what only one side\n"
             "has is then reported as not comparable. --symbols adds names.",
    .options = options,
    .examples = "  sonde diff before.sonde after.sonde\n"
                "  sonde diff --fail-on new main-runs/ branch-runs/\n"
                "  sonde diff --fail-on worse:2 --json before.sonde after.sonde\n",
    .run = run,
};
