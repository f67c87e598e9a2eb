// SPDX-License-Identifier: Apache-2.0
/* Asks a running thread of a watched program by a signal: the last resort, if both perf events and
 * ptrace are refused.
 *
 * A signal ends most blocking calls early. So it is sent only to a thread that has run without a
 * wait for about as long as a perf event would need, and that does not wait right before; and
 * only while the probe's handler is set, the signal is not blocked, and no other one is pending.
 * A thread may still enter a wait between the last check and the delivery; the answer shows
 * that, and it is counted. */
#include "arch_syscall.h"
#include "host_process.h"
#include "os.h"
#include "target_process.h"

enum {
    STEADY_NS = 200000, /* the period of the perf event that this replaces */
    CPU_NS = 30000000,  /* the slowest kernels update a thread's CPU time each 10 ms */
    ANSWER_NS = 100000000,
    /* a handler that has begun needs some 10 us of CPU */
    FINISH_NS = 300000000,
    POLL_FIRST_NS = 10000,
    POLL_MAX_NS = 1000000,
};

/* --- does it run, and will it go on? --- */

/* Has the thread, which has not waited since `first`, run? Either it is on a CPU now and was at
 * `before`, or its CPU time shows it, which is updated later. */
static bool has_run(const struct sonde__host_signal_look *first,
                    const struct sonde__host_signal_look *before,
                    const struct sonde__host_signal_look *now)
{
    return (before->on_cpu && now->on_cpu) || now->cpu_ns - first->cpu_ns >= STEADY_NS / 2;
}

enum sonde__target_runs sonde__target_runs_on(struct sonde__target_process *p, uint64_t tid,
                                              struct sonde__host_signal_look *ret_look)
{
    uint64_t begin_ns = sonde__os_now_ns();
    struct sonde__host_signal_look before;
    if (!sonde__host_signal_look(p->base.pid, tid, &before) || before.letter != 'R') {
        return SONDE__TARGET_WAITS;
    }
    if (p->runner_tid != tid || p->runner.waits != before.waits) {
        p->runner_tid = tid;
        p->runner = before;
    }
    for (;;) {
        sonde__host_sleep(STEADY_NS);
        if (!sonde__host_signal_look(p->base.pid, tid, ret_look) || ret_look->letter != 'R' ||
            ret_look->waits != before.waits) {
            return SONDE__TARGET_WAITS;
        }
        if (has_run(&p->runner, &before, ret_look)) {
            return SONDE__TARGET_RUNS;
        }
        if (sonde__os_now_ns() - begin_ns > CPU_NS) {
            return SONDE__TARGET_STARVES;
        }
        before = *ret_look;
    }
}

bool sonde__target_ended_early(struct sonde__target_process *p, const struct sonde__regs *regs)
{
    uint8_t code[4];
    size_t size =
        sonde__os_read_process(p->base.pid, regs->pc - sizeof code, code, sizeof code, NULL);
    return sonde__arch_call_ended_early(regs, code, (unsigned)size);
}

/* --- may it be asked? --- */

static const char taken[] = "it runs, and SIGURG, by which it would be asked, is not answered: a "
                            "handler that is not ours took it";

/* Why the thread may not be asked; null: it may. */
static const char *objection(const struct sonde__host_signal_look *look,
                             const struct sonde__probe_sample *sample)
{
    switch ((enum sonde__probe_handler)atomic_load(&sample->handler)) {
    case SONDE__PROBE_HANDLER_SET:
        break;
    case SONDE__PROBE_HANDLER_PROGRAM:
        return "it runs, and SIGURG, by which it would be asked, is the program's own";
    case SONDE__PROBE_HANDLER_SILENT:
        return taken;
    default:
        return "it runs, and the probe has no handler in it by which it could be asked";
    }
    return !look->caught       ? "it runs, and the handler by which it would be asked is gone"
           : look->tracer != 0 ? "it runs, and a debugger would meet the signal that would ask it"
           : look->blocked     ? "it runs and blocks the signal that would ask it (SIGURG)"
           : look->pending     ? "it runs, and a SIGURG that is not ours is on its way"
           : look->confined
               ? "it runs under a seccomp filter of its own, so no signal was sent to ask it"
               : NULL;
}

bool sonde__target_may_ask(struct sonde__target_process *p,
                           const struct sonde__host_signal_look *look,
                           struct sonde__capture *capture)
{
    const char *why = objection(look, p->sample_of_probe);
    if (why != NULL) {
        p->base.signals.refused++;
        sonde__target_note(capture, "%s", why);
    }
    return why == NULL;
}

/* --- asking --- */

/* A request was not answered: has another handler taken the signal? Our handler counts itself
 * late when it runs at last; a thread that lost its CPU meanwhile gets the same time again.
 * While a handler runs, the signal is blocked, and we do not know whose handler it is. */
static bool was_taken(const struct sonde__target_process *p, uint64_t tid, uint32_t late_before)
{
    uint64_t begin_ns = sonde__os_now_ns();
    struct sonde__host_signal_look look;
    do {
        if (!sonde__host_signal_look(p->base.pid, tid, &look) || look.pending || look.blocked ||
            !look.caught || atomic_load(&p->sample_of_probe->late) != late_before) {
            return false;
        }
        sonde__host_sleep(POLL_MAX_NS);
    } while (sonde__os_now_ns() - begin_ns < ANSWER_NS);
    return true;
}

static bool await_answer(struct sonde__target_process *p, uint64_t value)
{
    uint64_t begin_ns = sonde__os_now_ns(), pause_ns = POLL_FIRST_NS;
    for (;;) {
        enum sonde__probe_answer answer = sonde__probe_sample_look(p->sample_of_probe, value);
        uint64_t spent_ns = sonde__os_now_ns() - begin_ns;
        if (answer == SONDE__PROBE_ANSWERED) {
            return true;
        }
        if (spent_ns > (answer == SONDE__PROBE_ANSWERING ? FINISH_NS : ANSWER_NS)) {
            return sonde__probe_sample_drop(p->sample_of_probe, value);
        }
        sonde__host_sleep(pause_ns);
        pause_ns = pause_ns * 2 < POLL_MAX_NS ? pause_ns * 2 : POLL_MAX_NS;
    }
}

/* Between the check and the signal, nothing slow may happen: the thread may enter a wait. */
static enum sonde_status ask(struct sonde__target_process *p, uint64_t tid,
                             const struct sonde__host_signal_look *look,
                             struct sonde__capture *capture)
{
    struct sonde__probe_sample *sample = p->sample_of_probe;
    uint32_t late = atomic_load(&sample->late);
    uint64_t value;
    int32_t os_error = 0;
    enum sonde_status status;
    if (!sonde__probe_sample_ask(sample, &value)) {
        sonde__target_note(capture, "it runs, and another thread has not yet answered");
        return SONDE_BUSY;
    }
    if (!sonde__target_may_ask(p, look, capture)) {
        (void)sonde__probe_sample_drop(sample, value);
        return SONDE_BUSY;
    }
    status = sonde__host_identity_holds(&p->process)
                 ? sonde__host_signal_send(p->base.pid, tid, value, &os_error)
                 : SONDE_ABSENT;
    if (status != SONDE_OK) {
        (void)sonde__probe_sample_drop(sample, value);
        p->base.signals.refused += status != SONDE_ABSENT;
        sonde__target_note(capture, "it runs, and a signal to it is refused (errno %d)", os_error);
        return status;
    }
    p->base.signals.sent++;
    if (!await_answer(p, value)) {
        p->base.signals.unanswered++;
        if (was_taken(p, tid, late)) {
            atomic_store(&sample->handler, SONDE__PROBE_HANDLER_SILENT);
        }
        sonde__target_note(capture, atomic_load(&sample->handler) == SONDE__PROBE_HANDLER_SILENT
                                        ? taken
                                        : "it runs and did not answer the signal in time");
        return SONDE_TIMEOUT;
    }
    return SONDE_OK;
}

enum sonde_status sonde__target_ask(struct sonde__target_process *p, uint64_t tid,
                                    const struct sonde__host_signal_look *look,
                                    struct sonde_stack *stack, struct sonde__capture *capture)
{
    const struct sonde__probe_sample *sample = p->sample_of_probe;
    enum sonde_status status = ask(p, tid, look, capture);
    capture->status = status;
    if (status != SONDE_OK) {
        return status;
    }
    /* the answer does not change until the next request */
    uint64_t size = *(const volatile uint64_t *)&sample->stack_size; /* may be written: one load */
    size = size <= sizeof sample->stack ? size : 0;
    capture->regs = sample->regs;
    capture->regs.arch = SONDE__ARCH_HOST;
    sonde__target_walk_copy(p, sample->stack, sample->stack_address, size, stack, capture);
    capture->by = SONDE__CAPTURED_SIGNAL;
    capture->early = sonde__target_ended_early(p, &capture->regs);
    p->base.signals.early += capture->early;
    return SONDE_OK;
}
