// SPDX-License-Identifier: Apache-2.0
#include "export_strings.h"

#include <string.h>

/* Write one string field; `message` is the bare text, so no copy is needed. */
static void put_text(struct sonde__export_wire *wire, uint32_t field, const char *text)
{
    sonde__proto_raw(&wire->message, text, strlen(text));
    sonde__export_wire_put(wire, field);
}

void sonde__export_wire_strings(struct sonde__export_wire *wire, uint32_t field,
                                const struct sonde__export_set *set, const char *const *words,
                                uint32_t word_count)
{
    struct sonde__report_out out;
    put_text(wire, field, "");
    for (uint32_t id = 1; id <= sonde__report_string_count(set->report) && !wire->stopped; id++) {
        put_text(wire, field, sonde__report_text(set->report, id));
    }
    for (uint32_t i = 0; i < set->functions.count && !wire->stopped; i++) {
        sonde__report_out_init(&out, sonde__export_wire_sink(&wire->message), false);
        sonde__export_put_name(&out, &set->functions, i);
        sonde__report_out_flush(&out);
        sonde__export_wire_put(wire, field);
    }
    for (uint32_t i = 0; i < word_count; i++) {
        put_text(wire, field, words[i]);
    }
}

const char *sonde__export_state(const struct sonde__report_sample *sample)
{
    static const char *const states[] = {NULL, "running", "blocked", "disk", NULL};
    return sample != NULL && sample->phase < sizeof states / sizeof *states ? states[sample->phase]
                                                                            : NULL;
}
