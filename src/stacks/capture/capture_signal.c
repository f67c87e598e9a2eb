// SPDX-License-Identifier: Apache-2.0
/* A running thread captures itself when a signal asks it to.
 *
 * One request at a time, with one word of state. A compare-and-swap decides who may write the
 * caller's stack. The requester withdraws the request at its deadline if the thread has not begun;
 * a thread that begins too late finds another epoch and does nothing.
 *
 *     IDLE -> WAITING(epoch) -> WALKING(epoch) -> DONE(epoch)
 *                    \-> IDLE (deadline, or the thread has ended) */
#include "base_mem.h"
#include "capture_park.h"
#include "capture_thread.h"
#include "capture_walk.h"
#include "os.h"
#include "os_context.h"

enum { IDLE, WAITING, WALKING, DONE, STATE_COUNT };

/* How long the requester waits before it checks that a silent thread still exists. */
enum { ALIVE_LOOK_NS = 1000000, ALIVE_LOOK_MAX_NS = 50000000 };

static struct {
    uint32_t state; /* epoch * STATE_COUNT + one of the above */
    int32_t signal;
    uint64_t sent_tid; /* the thread asked, once the signal has been sent */
    struct sonde_stack *stack;
} request;

static struct sonde__capture_chain chain;

/* The upper half of our signals' values: a process may hold two copies of this library. */
static uint32_t own_mark(void)
{
    return (uint32_t)((uint64_t)(uintptr_t)&request >> 3) ^ 0x736f6e64u;
}

void sonde__capture_chain_set(const struct sonde__capture_chain *new_chain)
{
    __atomic_store_n(&chain.simple, new_chain->simple, __ATOMIC_RELAXED);
    __atomic_store_n(&chain.full, new_chain->full, __ATOMIC_RELAXED);
}

/* The program's action as of now. The requester may restore it as soon as it has its answer, so
 * the handler reads it first. A late delivery may see half of a change, and then one of two
 * actions that were set. */
static struct sonde__capture_chain chain_now(void)
{
    return (struct sonde__capture_chain){
        .simple = __atomic_load_n(&chain.simple, __ATOMIC_RELAXED),
        .full = __atomic_load_n(&chain.full, __ATOMIC_RELAXED),
    };
}

/* The current request whose signal the system dropped, because the signal that came now was
 * pending (capture_park.c says more). IDLE: none. */
static uint32_t dropped(int32_t signal)
{
    uint32_t state = __atomic_load_n(&request.state, __ATOMIC_ACQUIRE);
    bool is_it = state % STATE_COUNT == WAITING &&
                 __atomic_load_n(&request.sent_tid, __ATOMIC_ACQUIRE) == sonde__os_tid() &&
                 __atomic_load_n(&request.signal, __ATOMIC_RELAXED) == signal &&
                 !sonde__os_signal_is_pending(signal);
    return is_it ? state : IDLE;
}

/* True: the signal is ours, even if too late. */
static bool answer(int32_t signal, uint64_t value, const void *ucontext)
{
    bool is_ours = (uint32_t)(value >> 32) == own_mark();
    uint32_t now = __atomic_load_n(&request.state, __ATOMIC_RELAXED);
    uint32_t asked = is_ours && (uint32_t)value == now ? now : dropped(signal);
    uint32_t waiting = asked;
    struct sonde__regs regs;
    /* acquire: pairs with the requester's release of request.stack */
    if (asked == IDLE ||
        !__atomic_compare_exchange_n(&request.state, &waiting, asked - WAITING + WALKING, false,
                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return is_ours; /* too late: the request was withdrawn */
    }
    sonde__os_context_regs(ucontext, &regs);
    sonde__capture_walk_counted(request.stack, &regs, true, 0, SONDE__CAPTURE_OWN);
    /* release: pairs with the requester's acquire */
    __atomic_store_n(&request.state, asked - WAITING + DONE, __ATOMIC_RELEASE);
    sonde__os_wake(&request.state, false, false);
    return is_ours;
}

/* The system keeps one signal of a kind pending for a thread: if the program sent its own while
 * ours was pending, that one is lost, and nobody can tell. A program that relies on it may hang
 * for good (Go's runtime does not ask a goroutine to stop a second time). A program that gets
 * one signal too many checks and finds nothing to do. So the program's handler runs for our
 * signals, too. */
void sonde__capture_on_signal(int signal, void *siginfo, void *ucontext)
{
    struct sonde__capture_chain next = chain_now();
    uint64_t value = 0;
    if (!sonde__os_signal_value(siginfo, &value)) {
        value = 0;
    }
    if (sonde__capture_park_answer(signal, value, ucontext) || answer(signal, value, ucontext)) {
        sonde__os_signal_plain(siginfo);
    }
    if (next.full != NULL) {
        next.full(signal, siginfo, ucontext);
    } else if (next.simple != NULL) {
        next.simple(signal);
    }
}

/* Withdraw the request. False: the thread is answering it. */
static bool withdraw(uint32_t waiting)
{
    uint32_t expected = waiting;
    return __atomic_compare_exchange_n(&request.state, &expected, waiting - WAITING + IDLE, false,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* A thread that ends drops its pending signals, without notice. */
static bool has_ended(uint64_t tid)
{
    struct sonde__capture_stat stat;
    enum sonde_status status = sonde__capture_read_stat(tid, &stat);
    return status == SONDE_ABSENT ||
           (status == SONDE_OK && (stat.letter == 'Z' || stat.letter == 'X'));
}

/* Wait until DONE. Withdraws the request at the deadline, or when the thread has ended. */
static enum sonde_status wait_done(uint64_t tid, uint32_t waiting, uint64_t timeout_ns)
{
    uint64_t begin_ns = sonde__os_now_ns();
    uint64_t pause_ns = ALIVE_LOOK_NS;
    for (;;) {
        uint32_t state = __atomic_load_n(&request.state, __ATOMIC_ACQUIRE);
        uint64_t spent_ns = sonde__os_now_ns() - begin_ns;
        if (state == waiting - WAITING + DONE) {
            return SONDE_OK;
        }
        if (state == waiting && spent_ns >= timeout_ns && withdraw(waiting)) {
            return SONDE_TIMEOUT;
        }
        uint64_t left_ns = spent_ns < timeout_ns ? timeout_ns - spent_ns : 0;
        uint64_t wait_ns = left_ns < pause_ns ? left_ns : pause_ns;
        if (state != waiting) {
            wait_ns = SONDE__OS_FOREVER; /* it has begun, and will end */
        }
        if (sonde__os_sleep(&request.state, state, wait_ns, false) != SONDE_TIMEOUT ||
            state != waiting) {
            continue;
        }
        if (has_ended(tid) && withdraw(waiting)) {
            return SONDE_ABSENT;
        }
        pause_ns = pause_ns * 2 < ALIVE_LOOK_MAX_NS ? pause_ns * 2 : ALIVE_LOOK_MAX_NS;
    }
}

enum sonde_status sonde__capture_by_signal(uint64_t tid, int signal, uint64_t timeout_ns,
                                           struct sonde_stack *stack)
{
    uint32_t epoch = __atomic_load_n(&request.state, __ATOMIC_RELAXED) / STATE_COUNT + 1;
    uint32_t waiting = epoch * STATE_COUNT + WAITING;
    enum sonde_status status;
    request.stack = stack;
    __atomic_store_n(&request.signal, signal, __ATOMIC_RELAXED);
    __atomic_store_n(&request.sent_tid, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&request.state, waiting, __ATOMIC_RELEASE);
    status = sonde__os_signal_thread(sonde__os_sender(), tid, signal,
                                     (uint64_t)own_mark() << 32 | waiting);
    if (status != SONDE_OK) {
        __atomic_store_n(&request.state, waiting - WAITING + IDLE, __ATOMIC_RELAXED);
        return status;
    }
    __atomic_store_n(&request.sent_tid, tid, __ATOMIC_RELEASE);
    return wait_done(tid, waiting, timeout_ns);
}
