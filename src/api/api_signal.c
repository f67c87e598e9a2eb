// SPDX-License-Identifier: Apache-2.0
/* Asks running threads by signal.
 *
 * The signal is ignored by default, so a late delivery does no harm. Our handler is set only during
 * a request and passes on signals that are not ours. Afterwards the program's action is restored,
 * or later if a signal is pending. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api_thread.h"
#include "base_text.h"
#include "capture_park.h"
#include "capture_thread.h"
#include "host_self.h"
#include "host_signal.h"
#include "mem_heap.h"
#include "os.h"

enum { SIGNAL = SONDE__API_SIGNAL };
_Static_assert(SIGNAL == SONDE__HOST_SAMPLE_SIGNAL, "what host looks for");
enum { LOOK_AGAIN_NS = 20000 /* about the time that a handler needs to return */ };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static bool is_taken; /* guarded by mutex */
/* guarded by is_taken: the holder's */
static struct sigaction program_action;
static bool has_unanswered;   /* one of our signals may still be pending */
static bool is_left;          /* our handler stayed after a capture */
static uint64_t answered_tid; /* the last thread that answered, which may still be in our handler */

static void on_signal(int signal, siginfo_t *info, void *ucontext)
{
    int saved = errno;
    sonde__capture_on_signal(signal, info, ucontext);
    errno = saved;
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == on_signal;
}

static bool is_function(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

static enum sonde_status set_handler_locked(void)
{
    struct sonde__capture_chain chain = {0};
    struct sigaction ours = {.sa_sigaction = on_signal};
    struct sigaction now;
    if (sigaction(SIGNAL, NULL, &now) != 0) {
        return SONDE_OS;
    }
    if (is_ours(&now)) {
        return SONDE_OK; /* see restore_handler_locked() */
    }
    program_action = now;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    if (is_function(&now)) {
        /* still valid for the program's own signals */
        ours.sa_mask = now.sa_mask;
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (now.sa_flags & (SA_RESTART | SA_NODEFER));
        if ((now.sa_flags & SA_SIGINFO) != 0) {
            chain.full = (void (*)(int, void *, void *))(void (*)(void))now.sa_sigaction;
        } else {
            chain.simple = now.sa_handler;
        }
    }
    sonde__capture_chain_set(&chain);
    return sigaction(SIGNAL, &ours, NULL) == 0 ? SONDE_OK : SONDE_OS;
}

static bool is_pending_anywhere(void)
{
    struct sonde__os_stop *threads;
    size_t count;
    bool is_pending = sonde__host_signal_waits_here();
    if (is_pending || sonde__api_threads_open(&threads, &count) != SONDE_OK) {
        return true; /* unknown: the handler stays */
    }
    for (size_t i = 0; i < count && !is_pending; i++) {
        struct sonde__capture_stat stat;
        is_pending = sonde__capture_read_stat(threads[i].tid, &stat) == SONDE_OK &&
                     (stat.pending >> (SIGNAL - 1) & 1) != 0;
    }
    sonde__api_threads_close(threads, count);
    return is_pending;
}

/* When a signal becomes ignored, the system discards pending ones in every thread, even those that
 * a thread of the program blocks and takes by sigwait() or a signalfd. So our handler stays while
 * one is pending, which does not affect such a thread, and while the program's handler could get
 * one of ours. The next capture tries again. */
static void restore_handler_locked(void)
{
    struct sigaction now;
    is_left = (has_unanswered || !is_function(&program_action)) && is_pending_anywhere();
    if (is_left) {
        return;
    }
    has_unanswered = false;
    if (sigaction(SIGNAL, NULL, &now) == 0 && is_ours(&now)) {
        sigaction(SIGNAL, &program_action, NULL);
    }
}

/* Some systems have no mutex with a timed wait. */
static enum sonde_status lock_until(uint64_t timeout_ns)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(timeout_ns / 1000000000u);
    until.tv_nsec += (long)(timeout_ns % 1000000000u);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&mutex);
    while (is_taken && pthread_cond_timedwait(&released, &mutex, &until) == 0) {
    }
    bool was_taken = is_taken;
    is_taken = true;
    pthread_mutex_unlock(&mutex);
    return was_taken ? SONDE_BUSY : SONDE_OK;
}

static void unlock(void)
{
    pthread_mutex_lock(&mutex);
    is_taken = false;
    pthread_cond_signal(&released);
    pthread_mutex_unlock(&mutex);
}

static void note(struct sonde_captured *captured, const char *text)
{
    struct sonde__text out;
    sonde__base_text_init(&out, captured->note, sizeof captured->note);
    sonde__base_text_str(&out, text);
}

static bool blocks_signal(const struct sonde__capture_stat *stat)
{
    return (stat->blocked >> (SIGNAL - 1) & 1) != 0;
}

/* Read the thread's signal masks. While it is in our handler, it blocks the signal. */
static enum sonde_status check_stat_locked(uint64_t tid, uint64_t timeout_ns,
                                           struct sonde__capture_stat *ret_stat)
{
    const struct timespec pause = {.tv_nsec = LOOK_AGAIN_NS};
    uint64_t begin_ns = sonde__os_now_ns();
    for (;;) {
        enum sonde_status status = sonde__capture_read_stat(tid, ret_stat);
        uint64_t spent_ns = sonde__os_now_ns() - begin_ns;
        if (status != SONDE_OK || !blocks_signal(ret_stat)) {
            return status;
        }
        bool is_leaving = tid == answered_tid || sonde__capture_park_was_inside(tid);
        uint64_t patience_ns = is_leaving                            ? timeout_ns
                               : sonde__capture_blocks_all(ret_stat) ? SONDE__CAPTURE_MOMENT_NS
                                                                     : 0;
        if (spent_ns >= patience_ns) {
            return SONDE_OK;
        }
        nanosleep(&pause, NULL);
    }
}

static enum sonde_status capture_locked(uint64_t tid, uint64_t timeout_ns,
                                        struct sonde_stack *stack, struct sonde_captured *captured)
{
    struct sonde__capture_stat stat;
    enum sonde_status status = check_stat_locked(tid, timeout_ns, &stat);
    if (status != SONDE_OK) {
        return status;
    }
    if (blocks_signal(&stat)) {
        note(captured, "it runs and blocks the signal that would ask it (SIGURG)");
        return SONDE_BUSY;
    }
    if ((stat.pending >> (SIGNAL - 1) & 1) != 0) {
        note(captured, "it runs, and a signal of that kind (SIGURG) is already pending");
        return SONDE_BUSY;
    }
    status = set_handler_locked();
    if (status == SONDE_OK) {
        status = sonde__capture_by_signal(tid, SIGNAL, timeout_ns, stack);
        has_unanswered = has_unanswered || status == SONDE_TIMEOUT;
        restore_handler_locked();
    }
    if (status == SONDE_OK) {
        captured->by = SONDE_CAPTURED_SIGNAL;
        answered_tid = tid;
    } else if (status == SONDE_TIMEOUT) {
        note(captured, "it runs and did not answer the signal in time");
    }
    return status;
}

enum sonde_status sonde__api_signal_capture(uint64_t tid, uint64_t timeout_ns,
                                            struct sonde_stack *stack,
                                            struct sonde_captured *captured)
{
    enum sonde_status status = lock_until(timeout_ns);
    if (status != SONDE_OK) {
        note(captured, "another thread captures by signal right now");
        return status;
    }
    status = capture_locked(tid, timeout_ns, stack, captured);
    unlock();
    return status;
}

enum sonde_status sonde__api_signal_begin(uint64_t timeout_ns)
{
    return lock_until(timeout_ns);
}

uint64_t sonde__api_signal_set(void)
{
    return set_handler_locked() == SONDE_OK ? (uint64_t)(uintptr_t)&on_signal : 0;
}

void sonde__api_signal_end(bool is_set, bool is_unanswered)
{
    has_unanswered = has_unanswered || is_unanswered;
    if (is_set || is_left) {
        restore_handler_locked();
    }
    unlock();
}

void sonde__api_signal_after_fork(void)
{
    struct sigaction now;
    pthread_mutex_init(&mutex, NULL);
    pthread_cond_init(&released, NULL);
    is_taken = false;
    has_unanswered = false;
    is_left = false;
    answered_tid = 0;
    if (sigaction(SIGNAL, NULL, &now) == 0 && is_ours(&now)) {
        sigaction(SIGNAL, &program_action, NULL);
    }
}
