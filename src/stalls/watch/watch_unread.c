// SPDX-License-Identifier: Apache-2.0
#include "watch_unread.h"

#include <stdio.h>
#include <string.h>

void sonde__watch_print_unread(struct sonde__watch_session *s,
                               const struct sonde__sampler_stall *stall)
{
    const char *note = NULL;
    bool seen = false;
    for (uint32_t n = 0; n < stall->count; n++) {
        const struct sonde__sample *sample = &stall->samples[n].sample;
        const char *why = sample->capture.note;
        seen = seen || sample->stack.count > 0;
        note = sample->stack.count == 0 && why[0] != '\0' ? why : note;
    }
    if (note != NULL && !seen) {
        sonde__watch_print(s->writer, "stacks cannot be read: %s", note);
    } else if (note != NULL && strcmp(note, s->unread) != 0) {
        snprintf(s->unread, sizeof s->unread, "%s", note);
        sonde__watch_print(s->writer, "a part of the samples is missing: %s", note);
    }
}

void sonde__watch_print_scripts(struct sonde__watch_session *s,
                                const struct sonde__sampler_stall *stall)
{
    for (uint32_t n = 0; n < stall->count && !s->scripts_printed; n++) {
        const struct sonde__script *script = &stall->samples[n].sample.script.script;
        if (script->why != NULL && script->language == NULL) {
            s->scripts_printed = true;
            sonde__watch_print(s->writer, "functions of scripts are not shown: %s", script->why);
        }
    }
}
