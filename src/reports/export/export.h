// SPDX-License-Identifier: Apache-2.0
/* Writes a report in the formats of other programs. Pure functions of the model: equal reports give
 * equal bytes.
 *
 * Output is streamed. Memory is bounded by the report's dictionaries (some bytes for each frame,
 * stack and function), not by the output. Context: any thread. */
#ifndef SONDE_EXPORT_H
#define SONDE_EXPORT_H

#include <stdbool.h>

#include "report_model.h"
#include "report_view.h"

/* In the order of sonde__export_words. */
enum sonde__export_format {
    SONDE__EXPORT_FOLDED,     /* one line for each distinct stack, for flame graph tools */
    SONDE__EXPORT_FIREFOX,    /* processed profile of the Firefox Profiler, JSON */
    SONDE__EXPORT_SPEEDSCOPE, /* speedscope's own format, JSON */
    SONDE__EXPORT_PPROF,      /* profile.proto in a gzip container */
    SONDE__EXPORT_OTLP,       /* OpenTelemetry profiles v1development, as of protocol 1.10 */
    SONDE__EXPORT_PERFETTO,   /* a trace of track events */
    /* texts of threads, as other tools print them (style.h) */
    SONDE__EXPORT_APPLE,
    SONDE__EXPORT_BS,
    SONDE__EXPORT_GLIBC,
    /* all of a report, as `sonde show` prints it (report_view.h) */
    SONDE__EXPORT_JSON,
    SONDE__EXPORT_TEXT,
    SONDE__EXPORT_SARIF, /* of findings.h, not of this module */
};

/* "folded", "otlp-1.10", …; null ends them. */
extern const char *const sonde__export_words[];

struct sonde__export_options {
    enum sonde__export_format format;      /* not SARIF */
    bool raw_names;                        /* stored names, not demangled ones */
    const struct sonde__report_view *view; /* of JSON and TEXT; may be null */
};

/* Write the report to `sink`. If the sink stops the output, that is no error. The formats up to
 * PERFETTO have one stack for each sample: sonde__report_join_later() joins what was read later.
 *
 * Returns OK | MEMORY (the output is incomplete) | UNSUPPORTED: the format cannot hold this kind of
 * report; error->what gives the reason, and nothing was written */
SONDE_NODISCARD enum sonde_status sonde__export(const struct sonde__report *report,
                                                const struct sonde__export_options *options,
                                                struct sonde__report_sink sink,
                                                struct sonde_error *error);

#endif
