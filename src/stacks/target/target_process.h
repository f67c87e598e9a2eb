// SPDX-License-Identifier: Apache-2.0
/* Another process as a target. Private to linux/target_process.c, target_capture.c,
 * target_signal.c, target_stop.c, target_walk.c and target_place.c. */
#ifndef SONDE_TARGET_PROCESS_H
#define SONDE_TARGET_PROCESS_H

#include "host_identity.h"
#include "host_perf.h"
#include "host_signal.h"
#include "host_tracer.h"
#include "probe_sample.h"
#include "target_files.h"
#include "target_private.h"
#include "target_window.h"

struct sonde__target_stopped {
    uint64_t tid;
    bool halted; /* it has stopped */
};

struct sonde__target_process {
    struct sonde__target base;
    struct sonde__host_identity process;         /* of the main thread */
    bool own_root;                               /* options.root was given */
    uint32_t ways;                               /* SONDE__TARGET_BY_ bits */
    uint64_t runner_tid;                         /* last thread checked for running */
    struct sonde__host_signal_look runner;       /* the first check since its last wait */
    struct sonde__probe_sample *sample_of_probe; /* null: no probe */
    struct sonde__target_files files;            /* of the thread that was read last */
    struct sonde__host_maps maps;
    struct sonde__window *window;
    struct sonde__host_perf_sample *sample; /* allocated at the first running thread */
    struct sonde__host_perf perf;           /* kept for the next sample of perf_tid, paused */
    uint64_t perf_tid;                      /* 0: no event is kept */
    bool expects;                           /* the event takes samples when the thread has */
    uint64_t after_ns;                      /* run so long */
    struct sonde__host_tracer *tracer;      /* started at the first thread to be stopped */
    struct sonde__target_stopped *stopped;  /* mode STOP, between stop and resume */
    uint32_t stopped_count;
    uint64_t stopped_at_ns;
    bool is_stopped;
    bool strayed; /* a thread of another process was seized: it had got the number */
};

void sonde__target_process_capture(struct sonde__target *target, const struct sonde__thread *thread,
                                   struct sonde_stack *stack, struct sonde__capture *ret_capture);
enum sonde_status sonde__target_process_stop(struct sonde__target *target,
                                             struct sonde_error *ret_error);
void sonde__target_process_resume(struct sonde__target *target, uint64_t *ret_pause_ns);

/* Read a thread's state. Returns as sonde__host_thread_read(). */
SONDE_NODISCARD enum sonde_status sonde__target_process_state(struct sonde__target_process *p,
                                                              uint64_t tid,
                                                              struct sonde__host_thread *ret_now);

/* Of sonde__target_expect() and sonde__target_met(). */
void sonde__target_process_expect(struct sonde__target *target, uint64_t tid, uint64_t after_ns,
                                  uint32_t count);
bool sonde__target_process_met(struct sonde__target *target, uint64_t tid,
                               struct sonde_stack *stack, struct sonde__capture *ret_capture);
/* Pause, or close, the kept perf event. */
void sonde__target_process_pause(struct sonde__target *target);
void sonde__target_process_rest(struct sonde__target *target);

/* Between stop and resume: capture a thread if it has stopped. False: it has not. */
bool sonde__target_capture_halted(struct sonde__target_process *p, uint64_t tid,
                                  struct sonde_stack *stack, struct sonde__capture *ret_capture);

/* Seize a thread. Returns as sonde__host_ptrace_seize(). Context: the tracer. */
SONDE_NODISCARD enum sonde_status sonde__target_seize(const struct sonde__target_process *p,
                                                      uint64_t tid);
/* Start the tracer's thread, if there is none. Returns OK | MEMORY | OS. */
SONDE_NODISCARD enum sonde_status sonde__target_need_tracer(struct sonde__target_process *p);
/* Release all traced threads, whatever they do. */
void sonde__target_release(struct sonde__target_process *p);

/* --- target_signal.c --- */

/* Has the thread run for some 200 us without a wait? A thread whose wait has ended, but which
 * has no CPU yet, has not, although the system calls it running. Blocks for some 0.2 to 30 ms. */
enum sonde__target_runs {
    SONDE__TARGET_RUNS,
    SONDE__TARGET_WAITS,   /* it waits, has waited, or has ended: try again */
    SONDE__TARGET_STARVES, /* it got no CPU meanwhile */
};
enum sonde__target_runs sonde__target_runs_on(struct sonde__target_process *p, uint64_t tid,
                                              struct sonde__host_signal_look *ret_look);
/* Do the thread and the program allow a request by signal? If not, adds a note that says why. */
bool sonde__target_may_ask(struct sonde__target_process *p,
                           const struct sonde__host_signal_look *look,
                           struct sonde__capture *capture);
/* Ask a thread by signal. look: the last result of sonde__target_runs_on(). Returns OK | ABSENT
 * (it has ended) | BUSY | TIMEOUT | DENIED | OS. Failures add a note. */
enum sonde_status sonde__target_ask(struct sonde__target_process *p, uint64_t tid,
                                    const struct sonde__host_signal_look *look,
                                    struct sonde_stack *stack, struct sonde__capture *capture);
/* Did stopping or signalling a thread, which has these registers now, end a call of it early? */
bool sonde__target_ended_early(struct sonde__target_process *p, const struct sonde__regs *regs);

/* Walk from capture->regs with a copy of the stack's inner end, made at the same instant. */
void sonde__target_walk_copy(struct sonde__target_process *p, const uint8_t *bytes,
                             uint64_t address, size_t size, struct sonde_stack *stack,
                             struct sonde__capture *capture);

/* Read a stopped thread: registers by ptrace, stack through the window. Context: the tracer. */
void sonde__target_read_stopped(struct sonde__target_process *p, uint64_t tid,
                                struct sonde_stack *stack, struct sonde__capture *ret_capture);

#endif
