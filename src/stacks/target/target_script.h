// SPDX-License-Identifier: Apache-2.0
/* Script frames of a target's threads (names/runtime). The runtime is searched for in the images at
 * the first capture, and again when they change. Context: any thread, one at a time per target. */
#ifndef SONDE_TARGET_SCRIPT_H
#define SONDE_TARGET_SCRIPT_H

#include "runtime.h"
#include "target.h"

/* The script frames of the last captured thread. */
struct sonde__target_script {
    struct sonde__script script; /* state NONE: there are none, or they were not requested */
    /* The native frames that run them are marked in the stack (SONDE__HOW_RUNS_SCRIPT).
     * Otherwise the script frames are separate, and `apart` says why. */
    bool joined;
    const char *apart;
};

/* Private to the module: the state of a target. */
struct sonde__target_scripts {
    bool wanted, wants_tasks;
    struct sonde__runtime *runtime;
    bool has_image; /* a runtime was found, in the image of: */
    struct sonde__build_id build_id;
    uint64_t bias;
    bool is_packed;            /* the image is Node.js with an app in it ("single executable") */
    bool other_numbers;        /* the target has its own pid namespace */
    uint64_t generation;       /* of the searched images; 0: never */
    uint64_t next_ns;          /* when to try a runtime again that was not ready */
    struct sonde_error unread; /* why a runtime cannot be read */
    bool is_unknown;           /* because its version is not known */
    struct sonde__target_script last;
    struct sonde__script_frame *frames; /* of `last` */
    uint64_t *fps;                      /* frame pointers of the stack that was walked last, if */
    uint32_t fp_capacity;               /* the runtime reads by the stack */
    /* the stack pointers of its innermost and outermost frame */
    uint64_t inner_sp, outer_sp;
};

/* Valid until the next capture. */
const struct sonde__target_script *sonde__target_script(const struct sonde__target *target);
/* The target's runtime, searched for now; "" if there is none, or it cannot be read. *ret_why:
 * why it cannot be read, or "". */
const char *sonde__target_runtime(struct sonde__target *target, const char **ret_why);

/* Is the image the runtime's program or library? Not if it also has other code of the program. */
bool sonde__target_is_interpreter(const struct sonde__target *target,
                                  const struct sonde__image *image);

/* Is it Node.js, or its library? Its own functions are shown, but are not the program's. V8 may run
 * a copy of its builtins, which is an image of its own. */
bool sonde__target_is_node(const struct sonde__target *target, const struct sonde__image *image);

/* Are script frames requested, and is there a runtime? */
bool sonde__target_has_script(struct sonde__target *target);
/* Read the tasks of event loops that wait, too, or no longer. It takes some 10 us for each task. */
void sonde__target_want_tasks(struct sonde__target *target, bool wanted);
/* Does the runtime read by the stack? Then a walk gives it frame pointers: where to put those of a
 * stack of this capacity. Null: they are not wanted. */
uint64_t *sonde__target_script_fps(struct sonde__target *target, uint32_t capacity);
/* Is this code of V8, in its image or made by it? Each function that calls another one keeps a
 * frame record. (As in capture_record.h: a program that has V8 may have another compiler, whose
 * frames would be left out.) scripts: of a target; image: of the pc, or null */
bool sonde__target_keeps_record(void *scripts, const struct sonde__image *image, uint64_t pc);
/* Read the script frames of a thread, which must not run meanwhile. stack: that was walked last;
 * null: none; then a runtime that reads by it finds them torn */
void sonde__target_read_script(struct sonde__target *target, uint64_t tid,
                               const struct sonde_stack *stack);
/* Read the script frames of a thread that was sampled, and does not run since, before its stack is
 * walked: where the runtime reads by the stack, by the frame pointers in the sample. */
void sonde__target_read_sampled(struct sonde__target *target, uint64_t tid,
                                const struct sonde__runtime_moment *moment);
/* The same for a thread that stays blocked or stopped: also read the tasks of its loop, if they are
 * wanted. */
void sonde__target_read_resting(struct sonde__target *target, uint64_t tid,
                                const struct sonde_stack *stack);
/* The thread did run: forget them, and say so. */
void sonde__target_tear_script(struct sonde__target *target);
/* Do the frames that were read last agree with the moment of a sample? True also if there are none.
 */
bool sonde__target_script_agrees(const struct sonde__target *target,
                                 const struct sonde__runtime_moment *moment);
/* Join the script frames with the native stack. moment: when the stack was taken, if the thread
 * may have run between that and the reading of the script; else null. */
void sonde__target_join_script(struct sonde__target *target,
                               const struct sonde__runtime_moment *moment,
                               struct sonde_stack *stack);
void sonde__target_scripts_done(struct sonde__target_scripts *scripts);

#endif
