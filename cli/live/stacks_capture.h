// SPDX-License-Identifier: Apache-2.0
/* Captures stacks of a target's threads.
 *
 * Name look-up is slow, so all stacks are captured first, close in time and with the shortest pause
 * in mode STOP. Then they are added to a report. */
#ifndef SONDE_STACKS_CAPTURE_H
#define SONDE_STACKS_CAPTURE_H

#include "cli.h"
#include "target_sample.h"

/* Maximum of --depth: the number of frames that a view shows. */
#define SONDE__STACKS_DEPTH_MAX     16000u
#define SONDE__STACKS_DEPTH_DEFAULT 256u

struct sonde__stacks_wanted {
    uint32_t depth; /* innermost frames; SONDE_OUTER_FRAMES outermost ones are added */
    bool stop;
    struct sonde__cli_list threads; /* tids or names; none: all */
};

struct sonde__stacks {
    struct sonde__sample *list;
    uint32_t count;
    uint32_t unread;       /* live threads that could not be read */
    uint32_t first_unread; /* index of the first one */
    uint64_t pause_ns;     /* mode STOP */
};

/* Returns SONDE__CLI_OK; else reports the failure and returns its exit code, with nothing to
 * free. */
int sonde__stacks_capture(const struct sonde__cli_command *command, struct sonde__target *target,
                          const struct sonde__stacks_wanted *wanted,
                          struct sonde__stacks *ret_stacks);
void sonde__stacks_done(struct sonde__stacks *stacks);

#endif
