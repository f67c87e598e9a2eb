// SPDX-License-Identifier: Apache-2.0
/* The string table that pprof, OTLP and Firefox profiles have: "", the report's strings, the names
 * of the functions, and words of the format. So each string has its number before any is written.
 */
#ifndef SONDE_EXPORT_STRINGS_H
#define SONDE_EXPORT_STRINGS_H

#include "export_series.h"
#include "export_wire.h"

/* A string id of the report is its own number. These are of a function, and of a word of the
 * format. */
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

/* All of them as field `field`, one message a string. */
void sonde__export_wire_strings(struct sonde__export_wire *wire, uint32_t field,
                                const struct sonde__export_set *set, const char *const *words,
                                uint32_t word_count);

/* "running", "blocked", "disk"; null: not known. */
const char *sonde__export_state(const struct sonde__report_sample *sample);

#endif
