// SPDX-License-Identifier: Apache-2.0
#include "export.h"

#include "base_status.h"
#include "export_formats.h"

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

enum sonde_status sonde__export(const struct sonde__report *report,
                                const struct sonde__export_options *options,
                                struct sonde__report_sink sink, struct sonde_error *error)
{
    struct sonde__export_set set;
    enum sonde_status status = check(report, options->format, error);
    if (status != SONDE_OK) {
        return status;
    }
    status = sonde__export_set_make(&set, report, options->raw_names);
    if (status == SONDE_OK && !writers[options->format](&set, sink)) {
        status = SONDE_MEMORY;
    }
    sonde__export_set_done(&set);
    return status;
}
