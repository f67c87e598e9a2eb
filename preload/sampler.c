// SPDX-License-Identifier: Apache-2.0
/* The probe's signal handler, hidden from the program, for machines that refuse other ways to
 * sample a running thread (perf events, ptrace).
 *
 * It is set only if the supervisor wants it and the program has no action for the signal, which is
 * ignored by default. A program that reads the action sees the default. A program that sets an
 * action gets it, after the current request has ended; from then on no signal is sent. Changes by
 * raw system calls are not seen here; the supervisor notices the missing answer. Context: handler,
 * except preload_sampler_start(). */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "preload_wrap.h"

enum { SIGNAL = SIGURG };

/* A signal reaches a running thread within microseconds, and one without a CPU later. */
enum { QUIET_NS = 10000000 };

/* 1: our handler is set in this process. A fork child inherits the handler and this. */
static _Atomic uint32_t installed;

typedef int sigaction_function(int, const struct sigaction *, struct sigaction *);

static struct preload_cell sigaction_cell
    __attribute__((used, section("preload_cells"))) = {"sigaction", NULL};

static sigaction_function *real_sigaction(void)
{
    return (sigaction_function *)(uintptr_t)preload_real(&sigaction_cell);
}

/* A fork child has no page: the handler does nothing, as the default action does. */
static void on_signal(int signal, siginfo_t *info, void *context)
{
    struct sonde__probe_page *page = preload_page();
    (void)signal;
    if (page != NULL) {
        sonde__probe_sample_answer(&page->sample, page->supervisor, info, context);
    }
}

static bool is_default(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) == 0 && action->sa_handler == SIG_DFL;
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == on_signal;
}

void preload_sampler_start(struct sonde__probe_page *page)
{
    struct sigaction now,
        ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    uint32_t expected = SONDE__PROBE_HANDLER_NONE;
    sigaction_function *real = real_sigaction();
    int saved = errno;
    bool free_to_take = real != NULL && real(SIGNAL, NULL, &now) == 0 && is_default(&now);
    if (atomic_compare_exchange_strong(&page->sample.handler, &expected,
                                       free_to_take ? SONDE__PROBE_HANDLER_SET
                                                    : SONDE__PROBE_HANDLER_PROGRAM) &&
        free_to_take) {
        atomic_store(&installed, 1);
        (void)real(SIGNAL, &ours, NULL);
    }
    errno = saved;
}

/* Wait until the current request has ended. No other begins: the supervisor announces a request and
 * then checks who owns the signal; here the order is reversed. */
static void await_quiet(struct sonde__probe_page *page)
{
    struct timespec now;
    int64_t begin_ns = 0, now_ns;
    atomic_store(&page->sample.handler, SONDE__PROBE_HANDLER_PROGRAM);
    while (sonde__probe_sample_busy(&page->sample)) {
        (void)preload_clock(CLOCK_MONOTONIC, &now);
        now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
        begin_ns = begin_ns == 0 ? now_ns : begin_ns;
        if (now_ns - begin_ns > QUIET_NS) {
            break;
        }
    }
}

/* The program is about to set an action: restore the default action and leave the signal to the
 * program. */
static void restore_default(int signal)
{
    struct sonde__probe_page *page = preload_page();
    const struct sigaction none = {.sa_handler = SIG_DFL};
    sigaction_function *real = real_sigaction();
    int saved = errno;
    if (signal != SIGNAL || real == NULL || atomic_exchange(&installed, 0) == 0) {
        return;
    }
    if (page != NULL) {
        await_quiet(page);
    }
    (void)real(SIGNAL, &none, NULL);
    errno = saved;
}

static int set_or_ask(sigaction_function *real, int signal, const struct sigaction *action,
                      struct sigaction *ret_former)
{
    int result;
    if (real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (action != NULL) {
        restore_default(signal);
    }
    result = real(signal, action, ret_former);
    if (result == 0 && signal == SIGNAL && ret_former != NULL && is_ours(ret_former)) {
        *ret_former = (struct sigaction){.sa_handler = SIG_DFL};
    }
    return result;
}

PRELOAD_EXPORT int sigaction(int signal, const struct sigaction *action, struct sigaction *former)
{
    return set_or_ask(real_sigaction(), signal, action, former);
}

PRELOAD_EXPORT int __sigaction(int signal, const struct sigaction *action,
                               struct sigaction *former);
PRELOAD_EXPORT int __sigaction(int signal, const struct sigaction *action, struct sigaction *former)
{
    return set_or_ask(real_sigaction(), signal, action, former);
}

/* Older functions that set an action. None of them can only read it. */
typedef void handler_function(int);
#define WRAP_SIGNAL(name)                                                                          \
    PRELOAD_EXPORT handler_function *name(int signal, handler_function *handler);                  \
    PRELOAD_EXPORT handler_function *name(int signal, handler_function *handler)                   \
    {                                                                                              \
        static struct preload_cell cell                                                            \
            __attribute__((used, section("preload_cells"))) = {#name, NULL};                       \
        handler_function *(*real)(int, handler_function *) =                                       \
            (handler_function * (*)(int, handler_function *))(uintptr_t)preload_real(&cell);       \
        if (real == NULL) {                                                                        \
            errno = ENOSYS;                                                                        \
            return SIG_ERR;                                                                        \
        }                                                                                          \
        restore_default(signal);                                                                   \
        return real(signal, handler);                                                              \
    }

WRAP_SIGNAL(signal)
WRAP_SIGNAL(bsd_signal)
WRAP_SIGNAL(ssignal)
WRAP_SIGNAL(sysv_signal)
WRAP_SIGNAL(__sysv_signal)
WRAP_SIGNAL(sigset)

PRELOAD_EXPORT int sigignore(int signal);
PRELOAD_EXPORT int sigignore(int signal)
{
    static struct preload_cell cell
        __attribute__((used, section("preload_cells"))) = {"sigignore", NULL};
    int (*real)(int) = (int (*)(int))(uintptr_t)preload_real(&cell);
    if (real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    restore_default(signal);
    return real(signal);
}
