// SPDX-License-Identifier: Apache-2.0
/* Another process as a target: private to target_process.c, target_capture.c and target_stop.c. */
#ifndef SONDE_TARGET_PROCESS_H
#define SONDE_TARGET_PROCESS_H

#include "host_perf.h"
#include "host_signal.h"
#include "host_tracer.h"
#include "probe_sample.h"
#include "target_private.h"
#include "target_window.h"

struct sonde__target_stopped {
    uint64_t tid;
    bool halted; /* it has stopped */
};

struct sonde__target_process {
    struct sonde__target base;
    bool own_root; /* options.root was given */
    uint32_t ways; /* SONDE__TARGET_BY_ bits */
    uint64_t
        runner_tid; /* the last thread that was looked at because it runs, and the first look */
    struct sonde__host_signal_look runner;       /* since its last wait */
    struct sonde__probe_sample *sample_of_probe; /* null: there is no probe */
    struct sonde__host_maps maps;
    struct sonde__window *window;
    struct sonde__host_perf_sample *sample; /* made at the first running thread */
    struct sonde__host_perf perf;           /* kept for the next sample of one thread, paused */
    uint64_t perf_tid;                      /* which; 0: none */
    struct sonde__host_tracer *tracer;      /* made at the first thread that is to be stopped */
    struct sonde__target_stopped *stopped;  /* mode STOP, between stop and resume */
    uint32_t stopped_count;
    uint64_t stopped_at_ns;
    bool is_stopped;
};

void sonde__target_process_capture(struct sonde__target *target, const struct sonde__thread *thread,
                                   struct sonde_stack *stack, struct sonde__capture *ret_capture);
enum sonde_status sonde__target_process_stop(struct sonde__target *target,
                                             struct sonde_error *ret_error);
void sonde__target_process_resume(struct sonde__target *target, uint64_t *ret_pause_ns);

/* Close the perf event that is kept. */
void sonde__target_process_rest(struct sonde__target *target);

/* Between stop and resume: capture a thread that has stopped by now. False: it has not. */
bool sonde__target_capture_halted(struct sonde__target_process *p, uint64_t tid,
                                  struct sonde_stack *stack, struct sonde__capture *ret_capture);

/* The thread that traces for us. Returns OK | MEMORY | OS. */
SONDE_NODISCARD enum sonde_status sonde__target_need_tracer(struct sonde__target_process *p);
/* Release all that is still traced, whatever it does. */
void sonde__target_release(struct sonde__target_process *p);

/* --- target_signal.c --- */

/* Has the thread run for some 200 us without a wait? One whose wait is over, but which has no CPU
 * yet, has not, although the system calls it running. Blocks for some 0.2 to 30 ms. */
enum sonde__target_runs {
    SONDE__TARGET_RUNS,
    SONDE__TARGET_WAITS,   /* it waits, has waited, or has ended: look again */
    SONDE__TARGET_STARVES, /* it got no CPU meanwhile */
};
enum sonde__target_runs sonde__target_runs_on(struct sonde__target_process *p, uint64_t tid,
                                              struct sonde__host_signal_look *ret_look);
/* May a thread be asked by a signal, as far as it and the program allow it? Else a note says why.
 */
bool sonde__target_may_ask(struct sonde__target_process *p,
                           const struct sonde__host_signal_look *look,
                           struct sonde__capture *capture);
/* look: what sonde__target_runs_on() has just seen. Returns OK | ABSENT (it has ended) | BUSY |
 * TIMEOUT | DENIED | OS, those with a note. */
enum sonde_status sonde__target_ask(struct sonde__target_process *p, uint64_t tid,
                                    const struct sonde__host_signal_look *look,
                                    struct sonde_stack *stack, struct sonde__capture *capture);
/* Registers of a thread that was stopped or signalled: did that end a call of it? */
bool sonde__target_ended_early(struct sonde__target_process *p, const struct sonde__regs *regs);

/* The walk from capture->regs with a copy of the stack's inner end, made at the same instant. */
void sonde__target_walk_copy(struct sonde__target_process *p, const uint8_t *bytes,
                             uint64_t address, size_t size, struct sonde_stack *stack,
                             struct sonde__capture *capture);

/* A stopped thread (by us): registers by ptrace, stack through the window. Context: the tracer. */
void sonde__target_read_stopped(struct sonde__target_process *p, uint64_t tid,
                                struct sonde_stack *stack, struct sonde__capture *ret_capture);

#endif
