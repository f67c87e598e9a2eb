// SPDX-License-Identifier: Apache-2.0
#include "export_sarif.h"

#include <time.h>

#include "cli_input.h"
#include "cli_report.h"
#include "cli_reports.h"
#include "findings.h"

bool sonde__cli_sarif_is_asked(const struct sonde__cli_sarif *request)
{
    return request->baseline != NULL || request->suppress != NULL || request->source_root != NULL ||
           request->fail_on != 0;
}

static bool any_text(const void *bytes, size_t size)
{
    (void)bytes, (void)size;
    return true;
}

/* Suppressions whose last day is over are errors, so that somebody looks at them again. */
static void print_expired(const struct sonde__cli_command *command, const char *path,
                          const struct sonde__suppressions *suppressions)
{
    for (uint32_t i = 0; i < suppressions->count; i++) {
        const struct sonde__suppression *s = &suppressions->list[i];
        if (s->is_expired) {
            sonde__cli_error(command, "%s:%u: expired on %s and suppresses nothing: %s", path,
                             s->line, s->until, s->reason);
        }
    }
}

static int read_suppressions(const struct sonde__cli_command *command, const char *path,
                             struct sonde__suppressions *ret)
{
    struct sonde__cli_input input;
    struct sonde__suppress_error error;
    char today[12];
    time_t now = time(NULL);
    struct tm utc;
    int exit_code = sonde__cli_input_read(command, path, any_text, &input);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    strftime(today, sizeof today, "%Y-%m-%d", gmtime_r(&now, &utc));
    enum sonde_status status = sonde__suppressions_read(input.data, input.size, today, ret, &error);
    sonde__cli_input_done(&input);
    if (status == SONDE_CORRUPT) {
        sonde__cli_error(command, "%s:%u:%u: expected %s", sonde__cli_input_name(path), error.line,
                         error.column, error.expected);
        return SONDE__CLI_MALFORMED;
    }
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, path, status, NULL);
    }
    print_expired(command, sonde__cli_input_name(path), ret);
    return SONDE__CLI_OK;
}

static int exit_code_of(const struct sonde__cli_sarif *request,
                        const struct sonde__findings *findings, bool damaged)
{
    struct sonde__findings_gate gate = {0};
    if (request->fail_on != 0) {
        gate = sonde__findings_gate(findings, (enum sonde__report_severity)request->fail_on);
    }
    return sonde__cli_gate_code(&gate, damaged);
}

static int write_findings(const struct sonde__cli_command *command,
                          const struct sonde__cli_sarif *request, const struct sonde__diff *diff,
                          const struct sonde__suppressions *suppressions, bool damaged)
{
    struct sonde__findings findings;
    const struct sonde__sarif_options options = {.source_root = request->source_root,
                                                 .version = SONDE_VERSION,
                                                 .raw_names = request->raw_names};
    enum sonde_status status =
        sonde__findings_make(diff, request->suppress != NULL ? suppressions : NULL, &findings);
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, NULL, status, NULL);
    }
    int exit_code = exit_code_of(request, &findings, damaged);
    status = sonde__findings_sarif(&findings, &options, sonde__cli_sink(stdout));
    sonde__findings_done(&findings);
    return status == SONDE_OK ? exit_code : sonde__cli_fail(command, NULL, status, NULL);
}

/* sides: with reports. */
static int compare(const struct sonde__cli_command *command, const char *path,
                   const struct sonde__cli_sarif *request, const struct sonde__cli_reports *sides,
                   const struct sonde__suppressions *suppressions)
{
    struct sonde__diff_side both[SONDE__DIFF_SIDES];
    struct sonde__diff diff;
    for (unsigned s = 0; s < SONDE__DIFF_SIDES; s++) {
        both[s] = (struct sonde__diff_side){(const struct sonde__report *const *)sides[s].reports,
                                            (const char *const *)sides[s].names, sides[s].count};
    }
    enum sonde_status status = sonde__diff_make(&both[0], &both[1], SONDE__DIFF_PERCENT, &diff);
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, NULL, status, NULL);
    }
    int exit_code = SONDE__CLI_FAILED;
    if (diff.has_calls) {
        exit_code = write_findings(command, request, &diff, suppressions,
                                   sides[0].is_damaged || sides[1].is_damaged);
    } else {
        sonde__cli_error(command,
                         "%s: SARIF has recorded calls, and this report has none (sonde "
                         "run --record makes them)",
                         sonde__cli_input_name(
                             diff.recorded[SONDE__DIFF_NEW_SIDE] == 0 ? path : request->baseline));
    }
    sonde__diff_done(&diff);
    return exit_code;
}

int sonde__cli_export_sarif(const struct sonde__cli_command *command, const char *path,
                            struct sonde__cli_symbols *symbols,
                            const struct sonde__cli_sarif *request)
{
    static struct sonde__cli_reports sides[SONDE__DIFF_SIDES];
    struct sonde__suppressions suppressions = {0};
    int exit_code = SONDE__CLI_OK;
    if (request->suppress != NULL) {
        exit_code = read_suppressions(command, request->suppress, &suppressions);
    }
    if (exit_code == SONDE__CLI_OK && request->baseline != NULL) {
        exit_code =
            sonde__cli_reports_add(&sides[SONDE__DIFF_OLD], command, request->baseline, symbols);
    }
    if (exit_code == SONDE__CLI_OK) {
        exit_code = sonde__cli_reports_add(&sides[SONDE__DIFF_NEW_SIDE], command, path, symbols);
    }
    if (exit_code == SONDE__CLI_OK) {
        exit_code = compare(command, path, request, sides, &suppressions);
    }
    sonde__cli_reports_done(&sides[0]);
    sonde__cli_reports_done(&sides[1]);
    sonde__suppressions_done(&suppressions);
    return exit_code;
}
