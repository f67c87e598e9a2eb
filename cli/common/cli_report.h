// SPDX-License-Identifier: Apache-2.0
/* Output of reports, as text or JSON on stdout or as report files. */
#ifndef SONDE_CLI_REPORT_H
#define SONDE_CLI_REPORT_H

#include "cli.h"
#include "cli_fit.h"
#include "report_json.h"
#include "report_model.h"
#include "report_view.h"
#include "report_write.h"

/* Begin compact JSON on stdout. Flush `out` before other output. */
void sonde__cli_json_begin(struct sonde__json *json, struct sonde__report_out *out);
/* Close the outermost value, end the line and flush. */
void sonde__cli_json_end(struct sonde__json *json);

/* Options of every command that shows a report, for the end of its table. r: the request, m: its
 * member of the struct below. */
// clang-format off
#define SONDE__CLI_VIEW_OPTIONS(r, m)                                                              \
    {"images", 0, NULL, "list the images with their build-ids, the device and the report's id",         \
     sonde__cli_take_flag, offsetof(r, m.view.images)},                                            \
    {"unfolded", 0, NULL, "each thread's own stack, even if several are equal, and the "          \
     "interpreter's frames next to script frames",                                                   \
     sonde__cli_take_flag, offsetof(r, m.view.unfolded)},                                          \
    {"app-only", 0, NULL, "the program's own frames, and the number of system frames left out",     \
     sonde__cli_take_flag, offsetof(r, m.view.app_only)},                                          \
    {"no-demangle", 0, NULL, "do not demangle names",                                                \
     sonde__cli_take_flag, offsetof(r, m.view.raw_names)},                                         \
    {"style", 0, "STYLE",                                                                          \
     "sonde (the default), callstack (Apple's), bs (BSBacktraceLogger's) or glibc",                \
     sonde__cli_take_word, offsetof(r, m.style), .words = sonde__cli_styles},                      \
    {"json", 'j', NULL, "JSON (docs/guide/report-json.md)",                                        \
     sonde__cli_take_flag, offsetof(r, m.json)},                                                   \
    {"color", 0, "WHEN", "auto (the default), always or never",                                    \
     sonde__cli_take_color, offsetof(r, m.color)},                                                 \
    {0}
// clang-format on

struct sonde__cli_view {
    bool json;
    enum sonde_style style;
    enum sonde__cli_color color;
    struct sonde__report_view view;
};

/* Words of enum sonde_style: sonde, callstack, bs, glibc. */
extern const char *const sonde__cli_styles[];
/* uint32_t: a number of stacks, at least 1, or "all". */
sonde__cli_take sonde__cli_take_top;
/* uint32_t: an enum sonde__report_severity, from "note", "warning" or "error". */
sonde__cli_take sonde__cli_take_severity;
/* The caller's description of a run, for its report. */
struct sonde__cli_origin {
    const char *build, *device;
    struct sonde__report_tag tags[SONDE__REPORT_TAGS_MAX];
    uint32_t tag_count;
    size_t tag_bytes;
};

/* Add "KEY=VALUE" to a struct sonde__cli_origin, or replace the key's value. A key has up to 64
 * letters, digits, "_", "." and "-", a value up to 256 bytes, all tags with separators at most
 * SONDE__WATCH_TAGS_BYTES. */
sonde__cli_take sonde__cli_take_tag;
/* Several tags, separated by SONDE__WATCH_TAG_END. Internal, for --follow. */
sonde__cli_take sonde__cli_take_tags;
/* const char *: a name of 1 to 256 bytes. */
sonde__cli_take sonde__cli_take_name;

/* Options for the struct above. r: the request, m: its member. */
// clang-format off
#define SONDE__CLI_ORIGIN_OPTIONS(r, m)                                                            \
    {"tag", 0, "KEY=VALUE",                                                                        \
     "add a tag to the report (who tests, which case); may be repeated",                            \
     sonde__cli_take_tag, offsetof(r, m)},                                                         \
    {"build", 0, "NAME",                                                                           \
     "name of the program's build for the report (default: its build-id)",                         \
     sonde__cli_take_name, offsetof(r, m.build)},                                                  \
    {"device", 0, "ID",                                                                            \
     "an id of this machine for the report (default: none)",                                       \
     sonde__cli_take_name, offsetof(r, m.device)}
// clang-format on

/* Print the report to stdout as text or JSON. */
void sonde__cli_view_print(struct sonde__cli_view *view, const struct sonde__report *report);

/* Fill the fields that are the same in all reports of this program: id, tool, time, device. The
 * strings are static. */
void sonde__cli_report_header(struct sonde__report_header *ret_header);

/* A report file that is written while the report grows, so that a killed writer leaves a readable
 * file. All zero: no file, and calls do nothing. */
struct sonde__cli_report_file {
    const char *path;
    FILE *file;
    struct sonde__report_writer *writer;
    enum sonde_status status; /* of the first failed write */
    int os_error;
};

/* path "-": stdout. Reports a failure; returns an exit code. */
int sonde__cli_report_open(const struct sonde__cli_command *command, const char *path,
                           struct sonde__cli_report_file *ret_file);
/* Write what is new in the report. sonde__cli_report_close() reports failures. */
void sonde__cli_report_flush(struct sonde__cli_report_file *file,
                             const struct sonde__report *report);
/* Write the rest and the end record (none if report is null: unfinished), and close. Reports
 * failures, except those of stdout, which sonde__cli_finish_output() reports. Returns an exit
 * code. */
int sonde__cli_report_close(const struct sonde__cli_command *command,
                            struct sonde__cli_report_file *file,
                            const struct sonde__report *report);

#endif
