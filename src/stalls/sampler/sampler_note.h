// SPDX-License-Identifier: Apache-2.0
/* What a program tells about itself, as of the moment when a turn became a stall: notes, the phase
 * of the run, the phase of the loop. Context: any thread. */
#ifndef SONDE_SAMPLER_NOTE_H
#define SONDE_SAMPLER_NOTE_H

#include <stdint.h>

#include "report_model.h"

#define SONDE__SAMPLER_NOTES_MAX        16u
#define SONDE__SAMPLER_NOTE_KEY_BYTES   32u /* with NUL, as are all of these */
#define SONDE__SAMPLER_NOTE_VALUE_BYTES 128u
#define SONDE__SAMPLER_PHASE_BYTES      64u

struct sonde__sampler_note {
    char key[SONDE__SAMPLER_NOTE_KEY_BYTES];
    char value[SONDE__SAMPLER_NOTE_VALUE_BYTES];
};

struct sonde__sampler_notes {
    uint32_t count;
    struct sonde__sampler_note notes[SONDE__SAMPLER_NOTES_MAX];
    char phase[SONDE__SAMPLER_PHASE_BYTES]; /* of the run; "": none */
    uint32_t consent;                       /* enum sonde__report_consent */
    uint64_t phase_ns;                      /* when it began, by the monotonic clock */
    char loop_phase[SONDE__SAMPLER_PHASE_BYTES];
    char mode[SONDE__SAMPLER_PHASE_BYTES]; /* of a run loop; "": none, or not known */
    uint32_t app_state;                    /* enum sonde__report_app_state */
};

/* Add the notes to a stall's message. Strings and the named phase go into the report; `annotations`
 * has room for all. begin_ns: begin of the watch. notes: null: there are none. */
void sonde__sampler_to_notes(const struct sonde__sampler_notes *notes, uint64_t begin_ns,
                             struct sonde__report *report,
                             struct sonde__report_annotation *annotations,
                             struct sonde__report_stall *stall);

#endif
