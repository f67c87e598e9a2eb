// SPDX-License-Identifier: Apache-2.0
/* When and how a running thread is sent a signal.
 *
 * The signal is one that is ignored by default, so that a delivery which comes too late harms
 * nobody. Our handler is set only while a request is under way, passes on what is not ours, and is
 * replaced by the program's own action afterwards. It stays a little longer when a thread did not
 * answer and the signal is still pending for it: the program's own handler must never see it. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "api_thread.h"
#include "base_text.h"
#include "capture_thread.h"
#include "os.h"

enum { SIGNAL = SIGURG };
enum { LOOK_AGAIN_NS = 20000 /* about what a handler needs to return */ };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* guarded by mutex */
static struct sigaction program_action;
static int32_t pending_tid;  /* did not answer: our handler stays until it has; 0: none */
static int32_t answered_tid; /* the last that answered: perhaps it is still in our handler */

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
        return SONDE_OK; /* left there because of pending_tid */
    }
    program_action = now;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    if (is_function(&now)) {
        /* what it asked for still holds for its own signals */
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

static void restore_handler_locked(void)
{
    struct sigaction now;
    struct sonde__capture_stat stat;
    if (pending_tid != 0 && sonde__capture_read_stat(pending_tid, &stat) == SONDE_OK &&
        (stat.pending >> (SIGNAL - 1) & 1) != 0) {
        return;
    }
    pending_tid = 0;
    if (sigaction(SIGNAL, NULL, &now) == 0 && is_ours(&now)) {
        sigaction(SIGNAL, &program_action, NULL);
    }
}

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
    return pthread_mutex_timedlock(&mutex, &until) == 0 ? SONDE_OK : SONDE_BUSY;
}

static void note(struct sonde_captured *captured, const char *text)
{
    struct sonde__text out;
    sonde__base_text_init(&out, captured->note, sizeof captured->note);
    sonde__base_text_str(&out, text);
}

/* Does the thread block the signal? Inside our own handler it does, for a moment more. */
static enum sonde_status check_blocks_locked(int32_t tid, uint64_t timeout_ns, bool *ret_blocks)
{
    const struct timespec pause = {.tv_nsec = LOOK_AGAIN_NS};
    uint64_t begin_ns = sonde__os_now_ns();
    for (;;) {
        struct sonde__capture_stat stat;
        enum sonde_status status = sonde__capture_read_stat(tid, &stat);
        if (status != SONDE_OK) {
            return status;
        }
        *ret_blocks = (stat.blocked >> (SIGNAL - 1) & 1) != 0;
        if (!*ret_blocks || tid != answered_tid || sonde__os_now_ns() - begin_ns >= timeout_ns) {
            return SONDE_OK;
        }
        nanosleep(&pause, NULL);
    }
}

static enum sonde_status capture_locked(int32_t tid, uint64_t timeout_ns, struct sonde_stack *stack,
                                        struct sonde_captured *captured)
{
    bool blocks;
    enum sonde_status status = check_blocks_locked(tid, timeout_ns, &blocks);
    if (status != SONDE_OK) {
        return status;
    }
    if (blocks) {
        note(captured, "it runs and blocks the signal that would ask it (SIGURG)");
        return SONDE_BUSY;
    }
    if (pending_tid != 0) {
        restore_handler_locked();
        if (pending_tid != 0 && pending_tid == tid) {
            note(captured, "it has not yet taken the signal of an earlier request");
            return SONDE_BUSY;
        }
    }
    status = set_handler_locked();
    if (status == SONDE_OK) {
        status = sonde__capture_by_signal(tid, SIGNAL, timeout_ns, stack);
        if (status == SONDE_TIMEOUT && pending_tid == 0) {
            pending_tid = tid;
        }
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

enum sonde_status sonde__api_signal_capture(int32_t tid, uint64_t timeout_ns,
                                            struct sonde_stack *stack,
                                            struct sonde_captured *captured)
{
    enum sonde_status status = lock_until(timeout_ns);
    if (status != SONDE_OK) {
        note(captured, "another thread captures by signal right now");
        return status;
    }
    status = capture_locked(tid, timeout_ns, stack, captured);
    pthread_mutex_unlock(&mutex);
    return status;
}

void sonde__api_signal_after_fork(void)
{
    struct sigaction now;
    pthread_mutex_init(&mutex, NULL);
    pending_tid = 0;
    answered_tid = 0;
    if (sigaction(SIGNAL, NULL, &now) == 0 && is_ours(&now)) {
        sigaction(SIGNAL, &program_action, NULL);
    }
}
