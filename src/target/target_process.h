// SPDX-License-Identifier: Apache-2.0
/* Another process as a target: private to target_process.c, target_capture.c and target_stop.c. */
#ifndef SONDE_TARGET_PROCESS_H
#define SONDE_TARGET_PROCESS_H

#include "host_perf.h"
#include "target_private.h"
#include "target_window.h"

struct sonde__target_stopped {
    int32_t tid;
    int32_t signal; /* to deliver when it goes on */
    bool halted;    /* it stopped within the deadline */
};

struct sonde__target_process {
    struct sonde__target base;
    bool own_root; /* options.root was given */
    struct sonde__host_maps maps;
    struct sonde__window *window;
    struct sonde__host_perf_sample *sample; /* made at the first running thread */
    struct sonde__target_stopped *stopped;  /* mode STOP, between stop and resume */
    size_t stopped_capacity;
    uint32_t stopped_count;
    uint64_t stopped_at_ns;
    bool is_stopped;
};

void sonde__target_process_capture(struct sonde__target *target, const struct sonde__thread *thread,
                                   struct sonde_stack *stack, struct sonde__capture *ret_capture);
enum sonde_status sonde__target_process_stop(struct sonde__target *target,
                                             struct sonde_error *ret_error);
void sonde__target_process_resume(struct sonde__target *target, uint64_t *ret_pause_ns);

/* Have we stopped this thread (by now)? */
bool sonde__target_process_halted(struct sonde__target_process *p, int32_t tid);

/* A stopped thread (by us): registers by ptrace, stack through the window. */
void sonde__target_read_stopped(struct sonde__target_process *p, int32_t tid,
                                struct sonde_stack *stack, struct sonde__capture *ret_capture);

#endif
