// SPDX-License-Identifier: Apache-2.0
#include "export.h"

#include <stdio.h>

#include "base_status.h"
#include "export_formats.h"

/* "otlp" alone would change with each version of the protocol. */
const char *const sonde__export_words[] = {
    "folded", "firefox", "speedscope", "pprof", "otlp-1.10", "perfetto", "apple",
    "bs",     "glibc",   "json",       "text",  "sarif",     NULL};

static bool (*const writers[])(const struct sonde__export_set *, struct sonde__report_sink) = {
    [SONDE__EXPORT_FOLDED] = sonde__export_folded,
    [SONDE__EXPORT_FIREFOX] = sonde__export_firefox,
    [SONDE__EXPORT_SPEEDSCOPE] = sonde__export_speedscope,
    [SONDE__EXPORT_PPROF] = sonde__export_pprof,
    [SONDE__EXPORT_OTLP] = sonde__export_otlp,
    [SONDE__EXPORT_PERFETTO] = sonde__export_perfetto,
};

static enum sonde_status check(const struct sonde__report *report, enum sonde__export_format format,
                               struct sonde_error *error)
{
    uint32_t kind = sonde__report_header(report)->kind;
    if (format == SONDE__EXPORT_PERFETTO && kind != SONDE__REPORT_WATCH &&
        sonde__report_stall_count(report) == 0) {
        return sonde__base_fail(error, SONDE_UNSUPPORTED,
                                "a Perfetto trace is a time line, and this report has no stalls",
                                NULL, 0, 0);
    }
    return SONDE_OK;
}

/* One stack for each sample. */
static enum sonde_status write_series(const struct sonde__report *report,
                                      const struct sonde__export_options *options,
                                      struct sonde__report_sink sink)
{
    struct sonde__export_set set;
    enum sonde_status status = sonde__export_set_make(&set, report, options->raw_names);
    if (status == SONDE_OK && !writers[options->format](&set, sink)) {
        status = SONDE_MEMORY;
    }
    sonde__export_set_done(&set);
    return status;
}

/* The styles of other tools need threads, as text. */
static enum sonde_status check_styled(const struct sonde__report *report,
                                      enum sonde__export_format format, struct sonde_error *error)
{
    bool has_threads =
        sonde__report_thread_count(report) != 0 || sonde__report_stall_count(report) != 0;
    bool has_calls = sonde__report_call_count(report) != 0;
    if (has_threads || (!has_calls && sonde__report_heap_blocks_count(report) == 0)) {
        return SONDE_OK;
    }
    snprintf(error->what, sizeof error->what,
             "%s is a text of threads, and this report has %s; folded, firefox, speedscope, pprof "
             "and otlp-1.10 have them",
             sonde__export_words[format], has_calls ? "recorded calls" : "blocks");
    return error->status = SONDE_UNSUPPORTED;
}

static enum sonde_status write_style(const struct sonde__report *report,
                                     enum sonde__export_format format, enum sonde_style style,
                                     struct sonde__report_sink sink, struct sonde_error *error)
{
    enum sonde_status status = check_styled(report, format, error);
    if (status == SONDE_OK) {
        sonde__report_style_view(report, style, sink);
    }
    return status;
}

enum sonde_status sonde__export(const struct sonde__report *report,
                                const struct sonde__export_options *options,
                                struct sonde__report_sink sink, struct sonde_error *error)
{
    enum sonde_status status = check(report, options->format, error);
    if (status != SONDE_OK) {
        return status;
    }
    switch (options->format) {
    case SONDE__EXPORT_APPLE:
        return write_style(report, options->format, SONDE_STYLE_CALLSTACK, sink, error);
    case SONDE__EXPORT_BS:
        return write_style(report, options->format, SONDE_STYLE_BS, sink, error);
    case SONDE__EXPORT_GLIBC:
        return write_style(report, options->format, SONDE_STYLE_GLIBC, sink, error);
    case SONDE__EXPORT_JSON:
        sonde__report_json_view(report, options->view, sink);
        return SONDE_OK;
    case SONDE__EXPORT_TEXT:
        sonde__report_text_view(report, options->view, sink);
        return SONDE_OK;
    default:
        return write_series(report, options, sink);
    }
}
