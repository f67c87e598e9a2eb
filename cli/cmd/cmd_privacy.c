// SPDX-License-Identifier: Apache-2.0
/* sonde privacy: recorded calls against an app's PrivacyInfo.xcprivacy. */
#include "cli_fit.h"
#include "cli_report.h"
#include "cli_shown.h"
#include "cmd.h"
#include "findings_manifest.h"
#include "manifest_bundle.h"
#include "manifest_file.h"

struct request {
    uint32_t fail_on; /* enum sonde__report_severity; 0: not given */
    bool json;
    enum sonde__cli_color color;
    struct sonde__cli_symbols symbols;
    struct sonde__report_view view;
    struct sonde__cli_bundle bundle;
    uint32_t states[SONDE__MANIFEST_STATES]; /* of all parts */
    bool has_calls;
};

static const struct sonde__cli_option options[] = {
    {"fail-on", 0, "SEVERITY",
     "exit with 8 if a category is undeclared, unknown or without a reason (error), or never "
     "called (warning); with 7 if it is not known whether one is called",
     sonde__cli_take_severity, offsetof(struct request, fail_on)},
    SONDE__CLI_SYMBOLS_OPTIONS(0, struct request, symbols),
    {"no-demangle", 0, NULL, "do not demangle names", sonde__cli_take_flag,
     offsetof(struct request, view.raw_names)},
    {"json", 'j', NULL, "JSON (docs/guide/report-json.md)", sonde__cli_take_flag,
     offsetof(struct request, json)},
    {"color", 0, "WHEN", "auto (the default), always or never", sonde__cli_take_color,
     offsetof(struct request, color)},
    {0},
};

/* A part without a name is the whole program; the first one with a name is the app. */
static void compare(struct request *request, const struct sonde__report *report)
{
    for (size_t i = 0; i < request->bundle.count; i++) {
        struct sonde__manifest_part *part = &request->bundle.parts[i];
        const char *code = part->name[0] == '\0' ? NULL : i == 0 ? "" : part->name;
        sonde__manifest_compare(&part->manifest, code, report, &part->result);
        for (unsigned s = 0; s < SONDE__MANIFEST_STATES; s++) {
            request->states[s] += part->result.states[s];
        }
    }
}

static void print(void *ctx, struct sonde__report *report, const struct sonde__report_loss *loss)
{
    struct request *request = ctx;
    (void)loss;
    request->has_calls = sonde__report_header(report)->kind == SONDE__REPORT_CALLS ||
                         sonde__report_header(report)->kind == SONDE__REPORT_AUDIT;
    if (request->has_calls) {
        compare(request, report);
        request->view.color = sonde__cli_use_color(request->color, stdout);
        if (!request->json) {
            sonde__cli_fit_output();
        }
        (request->json ? sonde__manifest_json : sonde__manifest_text)(
            request->bundle.parts, (uint32_t)request->bundle.count, report, &request->view,
            sonde__cli_sink(stdout));
    }
}

/* As for sonde diff, the most important result decides. */
static int exit_code_of(const struct request *request, int exit_code)
{
    uint32_t found = 0;
    if (request->fail_on == 0) {
        return exit_code;
    }
    for (unsigned s = 0; s < SONDE__MANIFEST_UNKNOWN; s++) {
        found +=
            (uint32_t)sonde__manifest_severity((enum sonde__manifest_state)s) >= request->fail_on
                ? request->states[s]
                : 0;
    }
    if (found != 0) {
        return SONDE__CLI_FOUND;
    }
    bool is_unsure = request->states[SONDE__MANIFEST_UNKNOWN] != 0 &&
                     request->fail_on <= SONDE__REPORT_SEVERITY_WARNING;
    return exit_code == SONDE__CLI_OK && is_unsure ? SONDE__CLI_INCOMPLETE : exit_code;
}

/* Of one bundle, or of files, which count together. */
static int read_manifests(const struct sonde__cli_command *command,
                          const struct sonde__cli_operands *operands,
                          struct sonde__cli_bundle *ret_bundle)
{
    static struct sonde__manifest_part whole;
    int exit_code = SONDE__CLI_OK;
    if (operands->count == 2 && sonde__cli_is_folder(operands->list[0])) {
        return sonde__cli_bundle_read(command, operands->list[0], ret_bundle);
    }
    for (unsigned i = 0; i + 1 < operands->count && exit_code == SONDE__CLI_OK; i++) {
        exit_code = sonde__cli_manifest_add(command, operands->list[i], &whole.manifest);
    }
    *ret_bundle = (struct sonde__cli_bundle){.parts = &whole, .count = 1};
    return exit_code;
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    static struct request request;
    struct sonde__cli_operands operands;
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (operands.count < 2) {
        return sonde__cli_usage_error(command, "an app, or one or more manifests, then a report");
    }
    exit_code = read_manifests(command, &operands, &request.bundle);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    const char *path = operands.list[operands.count - 1];
    exit_code = sonde__cli_shown(command, path, &request.symbols, print, &request);
    if (!request.has_calls) {
        if (exit_code == SONDE__CLI_OK) {
            sonde__cli_error(command,
                             "%s: this report has no recorded calls (sonde run --record "
                             "makes them)",
                             path);
        }
        return exit_code == SONDE__CLI_OK ? SONDE__CLI_FAILED : exit_code;
    }
    return exit_code_of(&request, exit_code);
}

const struct sonde__cli_command sonde__cmd_privacy = {
    .name = "privacy",
    .summary = "compare recorded calls with a privacy manifest of Apple's",
    .usage = "[OPTION...] {APP | MANIFEST...} REPORT",
    .about = "Compares what an app declares in its PrivacyInfo.xcprivacy, and in those of\n"
             "its SDKs, with the calls that `sonde run --record` recorded: categories of\n"
             "APIs that are called but undeclared, declared but never called, or not known\n"
             "because their functions were not recorded. Manifests may be XML or binary.\n"
             "APP is the folder of a bundle (App.app): then each framework in it is compared\n"
             "with its own manifest, and the app with its own and those of its resources.\n"
             "\n"
             "A call counts if the program's own code makes it; calls by libraries of the\n"
             "system are shown apart.",
    .options = options,
    .examples = "  sonde privacy App.app calls.sonde\n"
                "  sonde privacy App.app/PrivacyInfo.xcprivacy calls.sonde\n"
                "  sonde privacy --fail-on error PrivacyInfo.xcprivacy calls.sonde\n",
    .run = run,
};
