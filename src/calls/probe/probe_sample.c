// SPDX-License-Identifier: Apache-2.0
/* See probe_sample.h. */
#include "probe_sample.h"

#include "os.h"
#include "os_context.h"

enum { IDLE, WAITING, COPYING, DONE, ABANDONED, PHASES = 8 };

/* Upper half of the value that our signals carry. */
#define MARK ((uint64_t)0x736f6e64 << 32) /* "sond" */

bool sonde__probe_sample_ask(struct sonde__probe_sample *sample, uint64_t *ret_value)
{
    uint32_t state = atomic_load_explicit(&sample->state, memory_order_acquire);
    uint32_t waiting = (state / PHASES + 1) * PHASES + WAITING;
    if (state % PHASES == COPYING || state % PHASES == ABANDONED) {
        return false;
    }
    /* seq_cst: the program first says that the signal is its own, then looks for a request */
    atomic_store_explicit(&sample->state, waiting, memory_order_seq_cst);
    *ret_value = MARK | waiting;
    return true;
}

enum sonde__probe_answer sonde__probe_sample_look(struct sonde__probe_sample *sample,
                                                  uint64_t value)
{
    /* acquire: pairs with the handler's release of the answer */
    uint32_t state = atomic_load_explicit(&sample->state, memory_order_acquire);
    uint32_t waiting = (uint32_t)value;
    return state == waiting - WAITING + DONE      ? SONDE__PROBE_ANSWERED
           : state == waiting - WAITING + COPYING ? SONDE__PROBE_ANSWERING
                                                  : SONDE__PROBE_ASKED;
}

static bool change(struct sonde__probe_sample *sample, uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong_explicit(&sample->state, &from, to, memory_order_acq_rel,
                                                   memory_order_acquire);
}

bool sonde__probe_sample_drop(struct sonde__probe_sample *sample, uint64_t value)
{
    uint32_t epoch = (uint32_t)value - WAITING;
    return !change(sample, epoch + WAITING, epoch + IDLE) &&
           !change(sample, epoch + COPYING, epoch + ABANDONED);
}

void sonde__probe_sample_answer(struct sonde__probe_sample *sample, int32_t supervisor,
                                const void *siginfo, const void *ucontext)
{
    uint64_t value;
    uint32_t epoch;
    if (!sonde__os_signal_sent_by(siginfo, supervisor, &value) || (value ^ MARK) >> 32 != 0) {
        return;
    }
    epoch = (uint32_t)value - WAITING;
    if (!change(sample, epoch + WAITING, epoch + COPYING)) {
        atomic_fetch_add_explicit(&sample->late, 1, memory_order_relaxed);
        return;
    }
    sonde__os_context_regs(ucontext, &sample->regs);
    sample->stack_address = sample->regs.r[sonde__arch_sp(SONDE__ARCH_HOST)];
    /* the stack may be a coroutine's, with nothing mapped behind it: no plain loads */
    sample->stack_size = sonde__os_read(sample->stack_address, sample->stack, sizeof sample->stack);
    if (!change(sample, epoch + COPYING, epoch + DONE)) {
        atomic_fetch_add_explicit(&sample->late, 1, memory_order_relaxed);
        atomic_store_explicit(&sample->state, epoch + IDLE, memory_order_release);
    }
}

bool sonde__probe_sample_busy(struct sonde__probe_sample *sample)
{
    uint32_t phase = atomic_load_explicit(&sample->state, memory_order_seq_cst) % PHASES;
    return phase == WAITING || phase == COPYING;
}
