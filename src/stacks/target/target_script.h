// SPDX-License-Identifier: Apache-2.0
/* Script frames of a target's threads (names/runtime): the runtime is found among its images at the
 * first capture and again when they change. Context: any thread, one at a time per target. */
#ifndef SONDE_TARGET_SCRIPT_H
#define SONDE_TARGET_SCRIPT_H

#include "runtime.h"
#include "target.h"

/* The script frames of the last captured thread. */
struct sonde__target_script {
    struct sonde__script script; /* state NONE: there are none, or they were not asked for */
    /* The native frames that run them are marked in the stack (SONDE__HOW_RUNS_SCRIPT). Else the
     * frames stand beside the stack, and `apart` says why. */
    bool joined;
    const char *apart;
};

/* Private to the module: of a target. */
struct sonde__target_scripts {
    bool wanted;
    struct sonde__runtime *runtime;
    bool has_image; /* a runtime was found, in the image of: */
    struct sonde__build_id build_id;
    uint64_t bias;
    uint64_t generation;       /* of the images that were searched; 0: never */
    uint64_t next_ns;          /* when a runtime that was not ready may be tried again */
    struct sonde_error unread; /* a runtime that cannot be read: why */
    struct sonde__target_script last;
    struct sonde__script_frame *frames; /* of `last` */
};

/* Valid until the next capture. */
const struct sonde__target_script *sonde__target_script(const struct sonde__target *target);
/* The runtime of the target, searched for now; "" if there is none that can be read. *ret_why: of
 * one that is there, why it cannot be read, or "". */
const char *sonde__target_runtime(struct sonde__target *target, const char **ret_why);

/* Is the image the program or library of the runtime? Not a program that holds one beside code of
 * its own. */
bool sonde__target_is_interpreter(const struct sonde__target *target,
                                  const struct sonde__image *image);

/* Are script frames asked for, and is there a runtime? */
bool sonde__target_has_script(struct sonde__target *target);
/* Read the script frames of a thread, which does not run meanwhile. */
void sonde__target_read_script(struct sonde__target *target, uint64_t tid);
/* It did run: forget them, and say so. */
void sonde__target_tear_script(struct sonde__target *target);
/* Join what was read with the native stack. moment: when the stack was taken, if the thread may
 * have run between that and the reading of the script; else null. */
void sonde__target_join_script(struct sonde__target *target,
                               const struct sonde__runtime_moment *moment,
                               struct sonde_stack *stack);
void sonde__target_scripts_done(struct sonde__target_scripts *scripts);

#endif
