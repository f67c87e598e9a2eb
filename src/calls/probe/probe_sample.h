// SPDX-License-Identifier: Apache-2.0
/* One sample at a time that a running thread of a watched program takes of itself, because a signal
 * of the supervisor asks it to: registers and the inner end of its stack, into memory that both
 * share.
 *
 * Who may write the answer is decided by one compare-and-swap on one word. The supervisor takes a
 * request back at its deadline; a delivery that comes later finds another epoch and does nothing.
 * If a handler has begun but does not end, the supervisor abandons the request and makes no further
 * one until the handler ends, because it may still write.
 *
 *     IDLE -> WAITING(epoch) -> COPYING(epoch) -> DONE(epoch)
 *                    \-> IDLE           \-> ABANDONED -> IDLE
 *
 * Names are looked up and frames are walked by the supervisor: the handler copies and returns.
 * Context of everything here: handler. */
#ifndef SONDE_PROBE_SAMPLE_H
#define SONDE_PROBE_SAMPLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch_regs.h"

/* Bytes of stack copied: as a perf sample has them (host_perf.h). */
#define SONDE__PROBE_SAMPLE_BYTES 32768u

/* Who handles the signal in the watched program. */
enum sonde__probe_handler {
    SONDE__PROBE_HANDLER_NONE, /* our handler is not set: not wanted, or no probe */
    SONDE__PROBE_HANDLER_SET,
    SONDE__PROBE_HANDLER_PROGRAM, /* the program's: it set an action, or was started with one */
    SONDE__PROBE_HANDLER_SILENT,  /* a signal was delivered and not answered: our handler was
                                     replaced */
};

struct sonde__probe_sample {
    _Atomic uint32_t wanted;  /* 1: the supervisor has no other way, the probe sets its handler */
    _Atomic uint32_t handler; /* enum sonde__probe_handler */
    _Atomic uint32_t state;   /* epoch and phase */
    _Atomic uint32_t late;    /* deliveries that found their request taken back */
    /* the answer: */
    struct sonde__regs regs;
    uint64_t stack_address; /* of the first byte copied: the stack pointer */
    uint64_t stack_size;
    uint8_t stack[SONDE__PROBE_SAMPLE_BYTES];
};

/* --- the supervisor's side --- */

/* Begin a request. *ret_value is what the signal must carry. False: a handler is still at work. */
bool sonde__probe_sample_ask(struct sonde__probe_sample *sample, uint64_t *ret_value);
enum sonde__probe_answer {
    SONDE__PROBE_ASKED,     /* the handler has not begun */
    SONDE__PROBE_ANSWERING, /* it has */
    SONDE__PROBE_ANSWERED,  /* the answer is there, until the next request */
};
enum sonde__probe_answer sonde__probe_sample_look(struct sonde__probe_sample *sample,
                                                  uint64_t value);
/* Give the request up. True: the answer is there after all. */
bool sonde__probe_sample_drop(struct sonde__probe_sample *sample, uint64_t value);

/* --- the program's side --- */

/* In the handler. supervisor: whose signals are answered; all others are not ours. */
void sonde__probe_sample_answer(struct sonde__probe_sample *sample, int32_t supervisor,
                                const void *siginfo, const void *ucontext);
/* A request is open; its signal may still arrive. */
bool sonde__probe_sample_busy(struct sonde__probe_sample *sample);

#endif
