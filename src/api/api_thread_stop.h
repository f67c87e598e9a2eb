// SPDX-License-Identifier: Apache-2.0
/* Threads that are stopped together, on a system that can stop them: Darwin.
 *
 * They are stopped while the list of images is held. So no image is unloaded during a walk, and
 * two threads never stop each other, after which nobody would release them. Context: any thread;
 * not handler. */
#ifndef SONDE_API_THREAD_STOP_H
#define SONDE_API_THREAD_STOP_H

#include "api_thread.h"
#include "capture_stopped.h"

struct sonde__api_together {
    struct sonde__stopped *threads; /* with their references and arrays */
    uint32_t count;
    uint64_t lost_images; /* result: of the list of images, which was full */
    uint64_t stop_ns;     /* result: from the first stop until all were released */
};

/* Stop, walk and release all of them. The calling thread gets the status USAGE. */
void sonde__api_stop_together(struct sonde__api_together *together);

/* How one of them was captured. */
void sonde__api_stop_explain(const struct sonde__api_together *together,
                             const struct sonde__stopped *thread, struct sonde_captured *captured);

/* What is told of a thread, with the label of its queue. The thread is stopped for that for a
 * moment, unless it is the calling one. Returns OK | ABSENT | OS. */
struct sonde__api_told {
    struct sonde__os_stop_text text;
    char queue[64];
};
SONDE_NODISCARD enum sonde_status sonde__api_stop_ask(const struct sonde__os_stop *thread,
                                                      struct sonde__api_told *ret_told);
void sonde__api_stop_describe(uint64_t tid, const struct sonde__api_told *told,
                              struct sonde_thread *ret_thread);

#endif
