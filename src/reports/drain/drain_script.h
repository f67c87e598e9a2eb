// SPDX-License-Identifier: Apache-2.0
/* Adds script frames to a report. Context: as drain_stack.h. */
#ifndef SONDE_DRAIN_SCRIPT_H
#define SONDE_DRAIN_SCRIPT_H

#include "report_model.h"
#include "target_script.h"

/* The reasons that the report has a note of: pointers to constant texts. */
struct drain_script_notes {
    const char *reasons[16];
    uint32_t count;
};
/* Add a note of why script frames are not shown (script->why) or of what is not shown of them
 * (script->doubt), once for each reason; a null reason: nothing. */
/* reason: script->why, script->doubt, or why its frames stand beside the stack */
void drain_script_note(struct sonde__report *report, const struct sonde__script *script,
                       const char *reason, struct drain_script_notes *notes);

/* Add the frames of one run inside `parent`, the node of the native frame that runs them. Returns
 * the innermost node, `parent` for an empty run, 0 without memory. */
uint32_t drain_script_run(struct sonde__report *report, const struct sonde__script *script,
                          uint32_t run, uint32_t parent);
/* Add all frames as a separate stack. */
uint32_t drain_script_all(struct sonde__report *report, const struct sonde__script *script);
/* Add the tasks of the thread's loop, each group as a stack. */
void drain_script_tasks(struct sonde__report *report, const struct sonde__script *script,
                        const struct sonde__report_thread *thread);

#endif
