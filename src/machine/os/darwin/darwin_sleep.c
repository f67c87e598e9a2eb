// SPDX-License-Identifier: Apache-2.0
/* Sleeping on a word, by semaphores of Mach: Darwin has no public futex before macOS 14.4.
 *
 * A sleeper notes its word in a table and looks at the word again; who wakes changes the word and
 * then looks at the table. So one of the two sees the other. A signal that comes too late ends the
 * next sleep of that place early, which a sleep may (os.h). Semaphores are made at a place's first
 * use and stay; a fork child makes its own, because ports are not inherited. */
#include <mach/kern_return.h>
#include <mach/mach_init.h>
#include <mach/mach_traps.h>
#include <mach/semaphore.h>
#include <mach/task.h>
#include <mach/thread_switch.h>
#include <stdatomic.h>

#include "os.h"

/* Only the few threads of a watch and of an upload sleep here. */
enum { SLEEPERS_MAX = 16 };
/* Without a place: the pause until the caller looks at its word again. */
#define PAUSE_MS  1
#define SECOND_NS 1000000000u

static struct sleeper {
    _Atomic(const uint32_t *) word; /* null: nobody sleeps here */
    _Atomic uint32_t is_taken;
    _Atomic int32_t pid; /* of the process that the semaphore is of; 0: there is none */
    semaphore_t semaphore;
} sleepers[SLEEPERS_MAX];

static bool has_semaphore(struct sleeper *place)
{
    int32_t pid = sonde__os_pid();
    if (atomic_load(&place->pid) != pid && semaphore_create(mach_task_self(), &place->semaphore,
                                                            SYNC_POLICY_FIFO, 0) == KERN_SUCCESS) {
        atomic_store(&place->pid, pid);
    }
    return atomic_load(&place->pid) == pid;
}

/* Null: all places are taken, or the system gives no semaphore. */
static struct sleeper *take_place(void)
{
    for (unsigned i = 0; i < SLEEPERS_MAX; i++) {
        uint32_t expected = 0;
        if (atomic_compare_exchange_strong(&sleepers[i].is_taken, &expected, 1)) {
            if (has_semaphore(&sleepers[i])) {
                return &sleepers[i];
            }
            atomic_store(&sleepers[i].is_taken, 0);
            return NULL;
        }
    }
    return NULL;
}

static enum sonde_status wait_for(semaphore_t semaphore, uint64_t timeout_ns)
{
    if (timeout_ns / SECOND_NS > INT32_MAX) {
        (void)semaphore_wait(semaphore);
        return SONDE_OK;
    }
    const mach_timespec_t timeout = {(unsigned)(timeout_ns / SECOND_NS),
                                     (clock_res_t)(timeout_ns % SECOND_NS)};
    return semaphore_timedwait(semaphore, timeout) == KERN_OPERATION_TIMED_OUT ? SONDE_TIMEOUT
                                                                               : SONDE_OK;
}

enum sonde_status sonde__os_sleep(const uint32_t *word, uint32_t expected, uint64_t timeout_ns,
                                  bool shared)
{
    struct sleeper *place = take_place();
    enum sonde_status status = SONDE_OK;
    (void)shared; /* this port shares no memory with other processes */
    if (place == NULL) {
        (void)thread_switch(MACH_PORT_NULL, SWITCH_OPTION_WAIT, PAUSE_MS);
        return SONDE_OK;
    }
    atomic_store(&place->word, word);
    if (__atomic_load_n(word, __ATOMIC_SEQ_CST) == expected) {
        status = wait_for(place->semaphore, timeout_ns);
    }
    atomic_store(&place->word, NULL);
    atomic_store(&place->is_taken, 0);
    return status;
}

bool sonde__os_wake(const uint32_t *word, bool all, bool shared)
{
    bool is_woken = false;
    (void)shared;
    atomic_thread_fence(memory_order_seq_cst);
    for (unsigned i = 0; i < SLEEPERS_MAX && (all || !is_woken); i++) {
        if (atomic_load(&sleepers[i].word) == word &&
            atomic_load(&sleepers[i].pid) == sonde__os_pid()) {
            is_woken = semaphore_signal(sleepers[i].semaphore) == KERN_SUCCESS;
        }
    }
    return is_woken;
}
