// SPDX-License-Identifier: Apache-2.0
/* Functions of JavaScript that make recorded calls, where a program has V8.
 *
 * The walk by the memo gives the frames of V8's code and their frame pointers (capture_record.h);
 * a frame leads to its function (names/v8). V8 moves objects, so nothing that is kept of a call is
 * a pointer into its heap: a frame is a node of the depot with the number of a function (name and
 * file, once each in the page), a line, and its place on the native stack. What a thread's last
 * frames were found from is kept: a frame is the same if its function has the same description, all
 * words of it, among them its number in the script, and the script the same id. Only other frames
 * are named. For that, memory is first read by a call that never faults.
 *
 * What cannot be read is counted by its reason, and the call has its native stack only.
 * Context: handler, unless said otherwise. */
#ifndef SONDE_RECORD_V8_H
#define SONDE_RECORD_V8_H

#include "record_script.h"
#include "v8.h"

/* Begin to read frames. Generated code keeps frame records by now. False: no memory. Context:
 * start-up, once */
bool sonde__record_v8_begin(const struct v8_layout *layout);
/* Another page is used from now on. */
void sonde__record_v8_restart(void);

/* The node of a call that has this native stack, with the calling thread's functions of JavaScript;
 * the same node if it has none. caller: where the native stack begins */
uint32_t sonde__record_v8_stack(struct sonde__record *record, struct sonde__script_page *page,
                                const struct sonde__regs *caller, uint32_t native);

#endif
