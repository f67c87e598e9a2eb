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
#include "report_out.h"

/* In the order of the words of `sonde export --format`. */
enum sonde__export_format {
    SONDE__EXPORT_FOLDED,     /* one line for each distinct stack, for flame graph tools */
    SONDE__EXPORT_FIREFOX,    /* processed profile of the Firefox Profiler, JSON */
    SONDE__EXPORT_SPEEDSCOPE, /* speedscope's own format, JSON */
    SONDE__EXPORT_PPROF,      /* profile.proto in a gzip container */
    SONDE__EXPORT_OTLP,       /* OpenTelemetry profiles v1development, as of protocol 1.10 */
    SONDE__EXPORT_PERFETTO,   /* a trace of track events */
};

struct sonde__export_options {
    enum sonde__export_format format;
    bool raw_names; /* stored names, not demangled ones */
};

/* Write the report to `sink`. If the sink stops the output, that is no error.
 *
 * Returns OK | MEMORY (the output is incomplete) | UNSUPPORTED: the format cannot hold this kind of
 * report; error->what gives the reason, and nothing was written */
SONDE_NODISCARD enum sonde_status sonde__export(const struct sonde__report *report,
                                                const struct sonde__export_options *options,
                                                struct sonde__report_sink sink,
                                                struct sonde_error *error);

#endif
