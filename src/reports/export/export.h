// SPDX-License-Identifier: Apache-2.0
/* A report in the formats of other programs' readers. Pure functions of the model: the same report
 * gives the same bytes.
 *
 * Output is streamed: memory is bounded by what the report's dictionaries need (some bytes for each
 * frame, stack and function), not by the size of the output. Context: any thread. */
#ifndef SONDE_EXPORT_H
#define SONDE_EXPORT_H

#include <stdbool.h>

#include "report_model.h"
#include "report_out.h"

/* The numbers are those of the words of `sonde export --format`. */
enum sonde__export_format {
    SONDE__EXPORT_FOLDED,     /* a line for each distinct stack: flame graph tools */
    SONDE__EXPORT_FIREFOX,    /* processed profile of the Firefox Profiler, JSON */
    SONDE__EXPORT_SPEEDSCOPE, /* speedscope's own form, JSON */
    SONDE__EXPORT_PPROF,      /* profile.proto in a gzip container */
    SONDE__EXPORT_OTLP,       /* OpenTelemetry profiles v1development, as of protocol 1.10 */
    SONDE__EXPORT_PERFETTO,   /* a trace of track events */
};

struct sonde__export_options {
    enum sonde__export_format format;
    bool raw_names; /* functions as the file names them, not demangled */
};

/* Write the report to `sink`. A sink that takes no more ends the output without an error.
 *
 * Returns OK | MEMORY (something is missing) | UNSUPPORTED: the format has no room for this kind of
 * report; error->what says why, and nothing was written */
SONDE_NODISCARD enum sonde_status sonde__export(const struct sonde__report *report,
                                                const struct sonde__export_options *options,
                                                struct sonde__report_sink sink,
                                                struct sonde_error *error);

#endif
