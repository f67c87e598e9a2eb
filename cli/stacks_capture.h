// SPDX-License-Identifier: Apache-2.0
/* Stacks of a target's threads, all captured before they are used.
 *
 * Look-up of names takes long. So all stacks are captured first, close together in time and, in
 * mode STOP, in the shortest pause; then they go into a report. */
#ifndef SONDE_STACKS_CAPTURE_H
#define SONDE_STACKS_CAPTURE_H

#include "cli.h"
#include "target_sample.h"

/* The limit of --depth: as many frames as a view shows. */
#define SONDE__STACKS_DEPTH_MAX     16000u
#define SONDE__STACKS_DEPTH_DEFAULT 256u

struct sonde__stacks_wanted {
    uint32_t depth; /* innermost frames kept; SONDE_OUTER_FRAMES outermost ones come on top */
    bool stop;
    struct sonde__cli_list threads; /* numbers or names; none: all */
};

struct sonde__stacks {
    struct sonde__sample *list;
    uint32_t count;
    uint32_t unread;       /* live threads of which nothing could be read */
    uint32_t first_unread; /* index of the first of them */
    uint64_t pause_ns;     /* mode STOP */
};

/* Reports a failure and returns its exit code, with nothing to free; else SONDE__CLI_OK. */
int sonde__stacks_capture(const struct sonde__cli_command *command, struct sonde__target *target,
                          const struct sonde__stacks_wanted *wanted,
                          struct sonde__stacks *ret_stacks);
void sonde__stacks_done(struct sonde__stacks *stacks);

#endif
