// SPDX-License-Identifier: Apache-2.0
/* Script frames into a report. Context: as drain_stack.h. */
#ifndef SONDE_DRAIN_SCRIPT_H
#define SONDE_DRAIN_SCRIPT_H

#include "report_model.h"
#include "target_script.h"

/* Add the frames of one run, inside of the node `parent`: the native frame that runs them. Returns
 * the innermost node, `parent` if the run has none, 0 when memory ran out. */
uint32_t drain_script_run(struct sonde__report *report, const struct sonde__script *script,
                          uint32_t run, uint32_t parent);
/* All frames as a stack of their own. */
uint32_t drain_script_all(struct sonde__report *report, const struct sonde__script *script);

#endif
