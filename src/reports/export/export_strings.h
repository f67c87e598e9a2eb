// SPDX-License-Identifier: Apache-2.0
/* The string table of pprof, OTLP and Firefox profiles: "", the report's strings, names of the
 * functions, words of the format. All numbers are thus known before any string is written. */
#ifndef SONDE_EXPORT_STRINGS_H
#define SONDE_EXPORT_STRINGS_H

#include "export_series.h"
#include "export_wire.h"

/* Number of a function's name, and of a word of the format. A string id of the report is its own
 * number. */
static inline uint32_t sonde__export_string_of_function(const struct sonde__export_set *set,
                                                        uint32_t function)
{
    return sonde__report_string_count(set->report) + 1 + function;
}

static inline uint32_t sonde__export_string_of_word(const struct sonde__export_set *set,
                                                    uint32_t word)
{
    return sonde__export_string_of_function(set, set->functions.count) + word;
}

/* Write all strings as field `field`, one message each. */
void sonde__export_wire_strings(struct sonde__export_wire *wire, uint32_t field,
                                const struct sonde__export_set *set, const char *const *words,
                                uint32_t word_count);

/* "running", "blocked", "disk"; null: unknown. */
const char *sonde__export_state(const struct sonde__report_sample *sample);

#endif
