// SPDX-License-Identifier: Apache-2.0
/* Captures a running thread of another process by a perf event: registers and stack at one instant.
 * Private to stacks/target. */
#ifndef SONDE_TARGET_RUNNING_H
#define SONDE_TARGET_RUNNING_H

#include "target_process.h"

/* What came of a try: AGAIN: the thread has changed its state; REFUSED: this way is not open. */
enum outcome { DONE, AGAIN, REFUSED };

enum outcome sonde__target_capture_running(struct sonde__target_process *p, uint64_t tid,
                                           struct sonde_stack *stack,
                                           struct sonde__capture *capture, int32_t *ret_os_error);

#endif
