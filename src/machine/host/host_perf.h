// SPDX-License-Identifier: Apache-2.0
/* Samples one running thread by a perf event.
 *
 * A software task-clock event with user registers and a copy of the user stack. It fires only while
 * the thread runs in user mode, needs no signal and no stop, and works for one's own processes at
 * perf_event_paranoid <= 2. It complements passive reads of blocked threads. Source:
 * perf_event_open(2). Context: any thread, one at a time per event. */
#ifndef SONDE_HOST_PERF_H
#define SONDE_HOST_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

#include "arch_regs.h"

/* Stack bytes copied with each sample: the inner frames at one instant. The record must fit into 64
 * KiB and into the ring. */
#define SONDE__PERF_STACK_BYTES 32768u

struct sonde__host_perf {
    int32_t fd; /* readable when there is a sample */
    void *ring;
    size_t ring_size;
    uint64_t lost;   /* samples that the kernel dropped: ring full */
    bool waits;      /* switch events: the thread waits, by the last record */
    uint64_t off_ns; /* switch events: when it lost its processor to others; 0: it has one */
    uint32_t left;   /* samples still to come, after which the kernel pauses the event */
    bool is_on;      /* it samples, unless the kernel has paused it */
    uint64_t period_ns, asked_ns; /* as opened; of now */
};

struct sonde__host_perf_sample {
    uint64_t tid;
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    struct sonde__regs regs;
    uint64_t stack_address; /* of the first byte copied: the stack pointer */
    size_t stack_size;
    uint8_t stack[SONDE__PERF_STACK_BYTES];
};

/* Sample thread `tid` of process `pid` every `period_ns` of its CPU time. Returns OK | ABSENT |
 * DENIED (paranoid level, another user) | UNSUPPORTED | LIMIT (locked memory for the ring, or
 * descriptors) | OS; *ret_os_error (may be null) on failure. Ownership: close it. */
SONDE_NODISCARD enum sonde_status sonde__host_perf_open(int32_t pid, uint64_t tid,
                                                        uint64_t period_ns,
                                                        struct sonde__host_perf *ret_perf,
                                                        int32_t *ret_os_error);
/* Is there a sample to take? Copies nothing. */
bool sonde__host_perf_has_sample(const struct sonde__host_perf *perf);
/* Copy the oldest sample, and leave it there. False: none. */
bool sonde__host_perf_peek_sample(const struct sonde__host_perf *perf,
                                  struct sonde__host_perf_sample *ret);
/* Take the oldest sample. False: none. */
bool sonde__host_perf_next(struct sonde__host_perf *perf, struct sonde__host_perf_sample *ret);
/* Has the thread left its processor since the last sample taken, and not run again since? It may
 * have run on between the sample (taken or not) and that moment. Returns how far the records go
 * then (bytes); equal results of two calls: it did not run in between. 0: no, or the records do not
 * show it. */
uint64_t sonde__host_perf_off(const struct sonde__host_perf *perf);
/* Drop samples not taken, and resume sampling after a pause. */
void sonde__host_perf_restart(struct sonde__host_perf *perf);
/* Pause or resume sampling (an open event samples). */
void sonde__host_perf_pause(struct sonde__host_perf *perf, bool pause);
/* Drop samples not taken, and take one sample when the thread has run for period_ns from now on;
 * then up to `count` in all, each after so much more. A sample that is due while another one has
 * not been taken is lost, which may be noticed late. After a restart, the first period may be
 * shorter. */
void sonde__host_perf_times(struct sonde__host_perf *perf, uint64_t period_ns, uint32_t count);
/* Is one of these samples still to come, and none to be taken? Drops all other records. */
bool sonde__host_perf_awaits(struct sonde__host_perf *perf);
void sonde__host_perf_close(struct sonde__host_perf *perf);

/* When a thread's waits began and ended, from the scheduler's records: the first and the last such
 * moment (CLOCK_MONOTONIC; 0: none). Preemption does not count. */
struct sonde__host_switches {
    uint64_t first_ns, last_ns;
    uint32_t count;
    bool lost; /* records are missing: nothing is known */
};

/* Where a running thread was, without its stack: the words from its stack pointer on, among which
 * are the return addresses of the inner frames. */
#define SONDE__HOST_TICK_WORDS 32u
struct sonde__host_tick {
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t pc;
    uint64_t words[SONDE__HOST_TICK_WORDS];
    uint32_t count;
};
/* Told in the order of time. Members may be null. */
struct sonde__host_listener {
    /* The tick is valid during the call. Returns 0 to get more of them. */
    int (*on_tick)(void *ctx, const struct sonde__host_tick *tick);
    /* The thread had no processor, and did not wait. */
    void (*on_off)(void *ctx, uint64_t from_ns, uint64_t to_ns);
    void *ctx;
};

/* Follow the switches of thread `tid` of process `pid`, and where it runs each tick_ns of its CPU
 * time. Returns as sonde__host_perf_open(). Costs the thread some tenths of a microsecond per
 * switch, and some microseconds per tick. Ownership: close it. */
SONDE_NODISCARD enum sonde_status sonde__host_perf_open_switches(int32_t pid, uint64_t tid,
                                                                 uint64_t tick_ns,
                                                                 struct sonde__host_perf *ret_perf,
                                                                 int32_t *ret_os_error);
/* The same, paused, with an fd that becomes readable at the next switch after a restart: it wakes
 * who waits until a sleeping thread runs. The first records are kept, later ones may be lost. */
SONDE_NODISCARD enum sonde_status sonde__host_perf_open_wakes(int32_t pid, uint64_t tid,
                                                              struct sonde__host_perf *ret_perf,
                                                              int32_t *ret_os_error);
/* What the records since the last call of _switches() or _restart() tell. */
struct sonde__host_moves {
    uint32_t waits; /* begun: those that the kernel counts as voluntary */
    uint32_t outs;  /* how often the thread left its processor, these included */
    bool runs;      /* it has a processor, or lacks only that, by the last record of all */
};
/* Takes nothing. False: records are, or may be, missing. */
bool sonde__host_perf_peek(const struct sonde__host_perf *perf, struct sonde__host_moves *ret);
/* Has the thread lost its processor to others, and neither run nor waited since? Takes nothing. */
bool sonde__host_perf_is_off(const struct sonde__host_perf *perf);
/* Get the switches and ticks since the last call or restart, up to until_ns; later ones remain for
 * the next call. listener may be null. */
void sonde__host_perf_switches(struct sonde__host_perf *perf, uint64_t until_ns,
                               struct sonde__host_switches *ret_switches,
                               const struct sonde__host_listener *listener);

#endif
