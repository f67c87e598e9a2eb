// SPDX-License-Identifier: Apache-2.0
/* Waiting for the end of a process, for signals and for a word in shared memory at once.
 *
 * A word cannot be polled and a descriptor cannot be a futex, so one small thread of the supervisor
 * (never of the program) sleeps on the word and turns its change into an event. */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host_run.h"

struct sonde__host_waiter {
    int pidfd, signals, event;
    uint32_t *word;
    _Atomic uint32_t armed; /* 1: the thread waits for the word to become 0 */
    pthread_t thread;
};

static void wait_word(uint32_t *word, uint32_t value)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void wake_word(uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void *watch_word(void *arg)
{
    struct sonde__host_waiter *w = arg;
    for (;;) {
        uint64_t one = 1;
        while (atomic_load(&w->armed) == 0) {
            wait_word((uint32_t *)&w->armed, 0);
        }
        while (__atomic_load_n(w->word, __ATOMIC_SEQ_CST) == 1) {
            wait_word(w->word, 1);
        }
        atomic_store(&w->armed, 0);
        (void)!write(w->event, &one, sizeof one);
    }
    return NULL;
}

static void block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGQUIT);
    sigaddset(set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, set, NULL);
}

enum sonde_status sonde__host_waiter_create(int32_t pid, uint32_t *sleep_word,
                                            struct sonde__host_waiter **ret_waiter,
                                            struct sonde_error *ret_error)
{
    struct sonde__host_waiter *w = calloc(1, sizeof *w);
    sigset_t set;
    if (w == NULL) {
        return SONDE_MEMORY;
    }
    block_signals(&set);
    w->word = sleep_word;
    w->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    w->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->pidfd < 0 || w->signals < 0 || w->event < 0 ||
        pthread_create(&w->thread, NULL, watch_word, w) != 0) {
        *ret_error = (struct sonde_error){.status = SONDE_OS, .os_error = errno};
        snprintf(ret_error->what, sizeof ret_error->what, "waiting for process %d", (int)pid);
        free(w); /* its descriptors end with the supervisor, which exits now */
        return SONDE_OS;
    }
    *ret_waiter = w;
    return SONDE_OK;
}

static uint32_t take_signals(struct sonde__host_waiter *w)
{
    struct signalfd_siginfo info;
    uint32_t events = 0;
    while (read(w->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        events |= info.ssi_signo == SIGQUIT ? SONDE__HOST_ASKED : SONDE__HOST_TERMINATE;
    }
    return events;
}

uint32_t sonde__host_wait(struct sonde__host_waiter *w, uint64_t timeout_ns, bool sleeping)
{
    struct pollfd p[3] = {{w->pidfd, POLLIN, 0}, {w->signals, POLLIN, 0}, {w->event, POLLIN, 0}};
    struct timespec limit = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
    uint32_t events = 0;
    uint64_t count;
    if (sleeping && atomic_load(&w->armed) == 0) {
        __atomic_store_n(w->word, 1, __ATOMIC_SEQ_CST);
        atomic_store(&w->armed, 1);
        wake_word((uint32_t *)&w->armed);
    }
    if (ppoll(p, 3, timeout_ns == UINT64_MAX ? NULL : &limit, NULL) > 0) {
        events |= p[0].revents != 0 ? (uint32_t)SONDE__HOST_ENDED : 0;
        events |= p[1].revents != 0 ? take_signals(w) : 0;
        if (p[2].revents != 0 && read(w->event, &count, sizeof count) > 0) {
            events |= SONDE__HOST_WOKEN;
        }
    }
    if (!sleeping && __atomic_exchange_n(w->word, 0, __ATOMIC_SEQ_CST) == 1) {
        wake_word(w->word);
    }
    return events;
}
