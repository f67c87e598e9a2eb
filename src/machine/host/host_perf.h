// SPDX-License-Identifier: Apache-2.0
/* Sampling one running thread by a perf event of the kernel.
 *
 * A software task-clock event with user registers and a copy of the user stack: it fires only while
 * the thread runs in user mode, needs no signal and no stop, and works for one's own processes at
 * perf_event_paranoid <= 2. The exact complement of reading blocked threads passively.
 * Source: perf_event_open(2). Context: any thread, one at a time per event. */
#ifndef SONDE_HOST_PERF_H
#define SONDE_HOST_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

#include "arch_regs.h"

/* Bytes of stack copied with each sample: the inner frames at one instant. The record must fit into
 * 64 KiB, and into the ring. */
#define SONDE__PERF_STACK_BYTES 32768u

struct sonde__host_perf {
    int32_t fd; /* readable when a sample is there */
    void *ring;
    size_t ring_size;
    uint64_t lost; /* samples that the kernel dropped: ring full */
    bool waits;    /* of an event of switches: as of the last record */
};

struct sonde__host_perf_sample {
    uint64_t tid;
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    struct sonde__regs regs;
    uint64_t stack_address; /* of the first byte copied: the stack pointer */
    size_t stack_size;
    uint8_t stack[SONDE__PERF_STACK_BYTES];
};

/* Sample thread `tid` each `period_ns` of its own CPU time.
 * Returns OK | ABSENT | DENIED (paranoid level, another user) | UNSUPPORTED | LIMIT (no memory may
 * be locked for the ring, or no descriptor) | OS; *ret_os_error (may be null) on failure.
 * Ownership: close it. */
SONDE_NODISCARD enum sonde_status sonde__host_perf_open(uint64_t tid, uint64_t period_ns,
                                                        struct sonde__host_perf *ret_perf,
                                                        int32_t *ret_os_error);
/* Take the oldest sample. False: none is there. */
bool sonde__host_perf_next(struct sonde__host_perf *perf, struct sonde__host_perf_sample *ret);
/* Is the thread off its processor since the last sample that was taken, and at rest there until
 * now? It may have run on between the sample and that moment. False also where the kernel does not
 * tell.
 */
bool sonde__host_perf_is_off(const struct sonde__host_perf *perf);
/* Forget samples that were not taken, and start the sampling again after a pause. */
void sonde__host_perf_restart(struct sonde__host_perf *perf);
/* Stop and start the sampling (an open event samples). */
void sonde__host_perf_pause(struct sonde__host_perf *perf, bool pause);
void sonde__host_perf_close(struct sonde__host_perf *perf);

/* When a thread began and ended to wait, from the scheduler's own records: first and last of these
 * moments, CLOCK_MONOTONIC; 0: none was. To lose the CPU to another thread is none of them. */
struct sonde__host_switches {
    uint64_t first_ns, last_ns;
    uint32_t count;
    bool lost; /* some records are not there: nothing is known */
};

/* Follow the switches of thread `tid`. Returns as sonde__host_perf_open(). It costs the thread some
 * tenths of a microsecond for each switch. Ownership: close it. */
SONDE_NODISCARD enum sonde_status sonde__host_perf_open_switches(uint64_t tid,
                                                                 struct sonde__host_perf *ret_perf,
                                                                 int32_t *ret_os_error);
/* The switches since the last call or restart, until until_ns; later ones are for the next call. */
void sonde__host_perf_switches(struct sonde__host_perf *perf, uint64_t until_ns,
                               struct sonde__host_switches *ret_switches);

#endif
