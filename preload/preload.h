// SPDX-License-Identifier: Apache-2.0
/* State shared by the files of the probe, which runs in an unmodified program.
 *
 * Invariant: it creates no thread, keeps no descriptor, writes no output, preserves errno, changes
 * no signal action (except one for a signal ignored by default, if nothing else can sample running
 * threads: sampler.c), and restores the environment. A fork child has no page (the kernel wipes the
 * pointer), so it never publishes turns as its parent. A vfork child shares everything with its
 * suspended parent, but waits without its slot (vfork.c). Context of everything but the
 * constructor: handler. */
#ifndef SONDE_PRELOAD_H
#define SONDE_PRELOAD_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include "clock.h"
#include "page.h"
#include "probe_turn.h"

/* The address of a real function. All are looked up at start, because a look-up takes the loader's
 * lock, which a wrapper in a signal handler must not take. */
struct preload_cell {
    const char *name;
    void *real;
    /* 1: `real` is libc's own; the wrapper may make the system call itself while there is one
     * thread */
    uint32_t direct;
} __attribute__((aligned(32))); /* cells form an array in their section, without gaps */

/* May the wrapper make the system call itself? libc's own wait does so in a process with one
 * thread, which cannot be cancelled. This saves a call of libc in every turn. */
static inline bool preload_is_direct(const struct preload_cell *cell)
{
#if defined(__x86_64__)
    return __atomic_load_n(&cell->direct, __ATOMIC_RELAXED) != 0 && __libc_single_threaded != 0;
#else
    (void)cell;
    return false;
#endif
}

/* A system call with four arguments; sets errno as libc does. */
static inline long preload_syscall(long number, long a, long b, long c, long d)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    if (__builtin_expect(result < 0, false)) {
        errno = (int)-result;
        return -1;
    }
    return result;
#else
    return syscall(number, a, b, c, d);
#endif
}

void *preload_look_up(struct preload_cell *cell);
/* At start: allow direct system calls for functions that are libc's own (another library may
 * interpose them). Forbid: for the rest of the process. */
void preload_allow_direct(void);
void preload_forbid_direct(void);
/* libc's own function; null: it has none of that name. */
static inline void *preload_real(struct preload_cell *cell)
{
    void *real = __atomic_load_n(&cell->real, __ATOMIC_RELAXED);
    return __builtin_expect(real != NULL, true) ? real : preload_look_up(cell);
}

/* The slot of this thread; null until it first waits. */
extern _Thread_local struct sonde__probe_slot *preload_slot;
/* No slot was free for this thread. */
extern _Thread_local bool preload_slotless;
/* Call it before vfork(), whose child runs with this thread's variables (vfork.c). */
void preload_set_slot_aside(void);
/* Call it first in a wait that finds no slot. False: this is a vfork child, in its parent's
 * memory. */
bool preload_take_slot_back(const struct sonde__probe_page *page);
/* In a new fork child: forget the slot, which is the parent's. */
void preload_forget_slot(void);
/* The tid of this thread, without a system call if possible. */
uint32_t preload_own_tid(void);

/* Slow paths: a thread's first wait and waits of an unknown loop (returns null if nested); waking
 * the supervisor. */
struct sonde__probe_slot *preload_learn(uint32_t kind, uint64_t object, uint64_t sp,
                                        uint64_t caller, unsigned flags);
void preload_wake(struct sonde__probe_page *page);

enum { PRELOAD_INSTANT = 1, PRELOAD_LEARN = 2, PRELOAD_TIMED = 4 };

/* Before a wait: the thread's slot, if this is the wait of its known loop and nothing else is to
 * do; null: call preload_learn(). */
static inline __attribute__((always_inline)) struct sonde__probe_slot *
preload_known(uint32_t kind, uint64_t object, uint64_t sp, bool instant)
{
    struct sonde__probe_slot *slot = preload_slot;
    if (preload_page() == NULL || slot == NULL || !sonde__probe_knows(slot, kind, object, sp) ||
        atomic_load_explicit(&slot->stamp, memory_order_relaxed) != 0) {
        return NULL;
    }
    (void)sonde__probe_enter_known(slot, instant);
    return slot;
}

/* Read the page again: a handler may have forked, and this may be the child. */
static inline __attribute__((always_inline)) void preload_end(struct sonde__probe_slot *slot)
{
    struct sonde__probe_page *page = preload_page();
    if (page == NULL) {
        return;
    }
    uint64_t now_ns = preload_now_ns();
    if (__builtin_expect(sonde__probe_must_check(page, slot, now_ns), false)) {
        sonde__probe_check(page, slot, now_ns);
    }
    sonde__probe_leave(slot, now_ns);
    if (__builtin_expect(sonde__probe_must_wake(page), false)) {
        preload_wake(page);
    }
}

/* As preload_end(), after a wait that went through preload_learn(). */
void preload_end_any(struct sonde__probe_slot *slot);

/* --- follow.c: followed programs. Null: nothing is followed, and every exec is passed on.
 * preload_follow_all: children's execs, too (`sonde run --follow`). */
extern struct sonde__probe_follow *preload_follow;
extern bool preload_follow_all;
void preload_learn_follow(int fd, const struct sonde__probe_page *page);
/* Is a program that this process executes now to be watched? */
bool preload_follows_exec(void);
/* Tell the watch that the process is about to become another program. */
void preload_leave_program(void);
/* The exec failed. */
void preload_stay_in_program(void);

/* Far more than a compiler's command line has; a program with more arguments is executed unchanged
 * and counted. They are on the stack, as in libc's execl(): a vfork child must not allocate. */
#define PRELOAD_ARGUMENTS_MAX 1024u
struct preload_command {
    const char *words[SONDE__PROBE_FOLLOW_WORDS + 1 + PRELOAD_ARGUMENTS_MAX + 1];
};
/* Make the argv of `sonde run ... -- path argv...`. False: execute the program unchanged. Preserves
 * errno. */
bool preload_make_command(const char *path, char *const argv[], char *const envp[],
                          struct preload_command *ret_command);
/* May a program with this `envp` be followed now? If not, it is counted. */
bool preload_may_follow(char *const envp[]);
void preload_count_missed(enum sonde__probe_missed reason);
/* Does a child that is not followed execute a program? Then count it: afterwards there is nobody
 * left to. */
bool preload_begin_stranger(void);
/* The call has failed. */
void preload_end_stranger(bool begun);
/* This process has made a child that executes a program and is not followed. */
void preload_count_stranger(void);
/* Find the file that execvp() would execute first, if it can be followed. Preserves errno. */
#define PRELOAD_PATH_MAX 4096u
bool preload_find(const char *name, char *ret_path);

/* --- workers.c: children that are forked and execute no program, as workers of servers. Normal
 * context, at start. follow: null: nothing is followed. */
void preload_learn_workers(int fd, struct sonde__probe_follow *follow);
/* In a wait of a process without a page: take a page if it is such a child. */
struct sonde__probe_page *preload_claim_page(uint32_t kind, bool instant);

/* --- sampler.c: normal context. Set the handler that samples a running thread, if the program does
 * not use the signal. */
void preload_sampler_start(struct sonde__probe_page *page);

/* At start: find out if a thread can read its tid without a system call. */
void preload_learn_own_tid(void);

#endif
