// SPDX-License-Identifier: Apache-2.0
/* One writer for each format (export.h), for this folder only. Each returns false if memory ran
 * out. */
#ifndef SONDE_EXPORT_FORMATS_H
#define SONDE_EXPORT_FORMATS_H

#include "export_series.h"

bool sonde__export_folded(const struct sonde__export_set *set, struct sonde__report_sink sink);
bool sonde__export_speedscope(const struct sonde__export_set *set, struct sonde__report_sink sink);
bool sonde__export_firefox(const struct sonde__export_set *set, struct sonde__report_sink sink);
bool sonde__export_pprof(const struct sonde__export_set *set, struct sonde__report_sink sink);
bool sonde__export_otlp(const struct sonde__export_set *set, struct sonde__report_sink sink);
bool sonde__export_perfetto(const struct sonde__export_set *set, struct sonde__report_sink sink);

#endif
