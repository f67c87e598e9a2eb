// SPDX-License-Identifier: Apache-2.0
#include "sampler_note.h"

#include <stddef.h>

void sonde__sampler_to_notes(const struct sonde__sampler_notes *notes, uint64_t begin_ns,
                             struct sonde__report *report,
                             struct sonde__report_annotation *annotations,
                             struct sonde__report_stall *stall)
{
    if (notes == NULL) {
        return;
    }
    for (uint32_t i = 0; i < notes->count; i++) {
        annotations[i] = (struct sonde__report_annotation){
            .key = sonde__report_string(report, notes->notes[i].key),
            .value = sonde__report_string(report, notes->notes[i].value),
        };
    }
    stall->annotations = annotations;
    stall->annotation_count = notes->count;
    if (notes->loop_phase[0] != '\0') {
        stall->loop_phase = sonde__report_string(report, notes->loop_phase);
    }
    if (notes->mode[0] != '\0') {
        stall->mode = sonde__report_string(report, notes->mode);
    }
    stall->app_state = notes->app_state;
    if (notes->phase[0] != '\0' || notes->consent != SONDE__REPORT_CONSENT_UNKNOWN) {
        const struct sonde__report_named_phase phase = {
            .name = sonde__report_string(report, notes->phase),
            .begin_ns = notes->phase_ns > begin_ns ? notes->phase_ns - begin_ns : 0,
            .consent = notes->consent,
            .process = 1,
        };
        stall->phase = sonde__report_find_phase(report, &phase);
    }
}
