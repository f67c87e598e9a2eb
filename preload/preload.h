// SPDX-License-Identifier: Apache-2.0
/* The probe in an unmodified program: state shared by its files.
 *
 * Invariant: creates no thread, keeps no descriptor, writes no output, changes no errno and no
 * signal (except one that is ignored by default, where nothing else can sample running threads:
 * sampler.c); leaves the environment as it would be without it. A fork child has no page (the
 * kernel wipes the pointer to it), so it can never publish turns as its parent. A child of vfork
 * shares everything with its suspended parent, but waits without its slot (vfork.c).
 * Context of everything here but the constructor: handler. */
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

/* The address of a real function. All are looked up when the process starts: a look-up takes the
 * loader's lock, which a wrapper in a signal handler must not. */
struct preload_cell {
    const char *name;
    void *real;
    /* 1: `real` is the C library's own; the wrapper may make the system call while there is one
     * thread */
    uint32_t direct;
} __attribute__((aligned(32))); /* cells make up an array in their section: no gaps between */

/* May the wrapper make the system call itself? libc's own wait does so in a process of one thread,
 * which cannot be cancelled; it saves a call of libc in every turn. */
static inline bool preload_is_direct(const struct preload_cell *cell)
{
#if defined(__x86_64__)
    return __atomic_load_n(&cell->direct, __ATOMIC_RELAXED) != 0 && __libc_single_threaded != 0;
#else
    (void)cell;
    return false;
#endif
}

/* A system call of four arguments; errno as libc sets it. */
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
/* At start: allow it where the function is libc's own (another library may interpose it). Forbid it
 * for the rest of the process. */
void preload_allow_direct(void);
void preload_forbid_direct(void);
/* The C library's own function; null: it has none of that name. */
static inline void *preload_real(struct preload_cell *cell)
{
    void *real = __atomic_load_n(&cell->real, __ATOMIC_RELAXED);
    return __builtin_expect(real != NULL, true) ? real : preload_look_up(cell);
}

/* The slot of this thread; null until it first waits. */
extern _Thread_local struct sonde__probe_slot *preload_slot;
/* There was none for it. */
extern _Thread_local bool preload_slotless;
/* Before vfork(), whose child runs with this thread's variables (vfork.c). */
void preload_set_slot_aside(void);
/* Before anything else in a wait that finds no slot. False: this is a child of vfork(), in the
 * parent's memory. */
bool preload_take_slot_back(const struct sonde__probe_page *page);
/* In a new child: this thread's slot was the parent's. */
void preload_forget_slot(void);
/* The number of this thread, without a system call where that is possible. */
uint32_t preload_own_tid(void);

/* The slow paths: a thread's first wait and waits of an unknown loop (null: nested), waking
 * the supervisor. */
struct sonde__probe_slot *preload_learn(uint32_t kind, uint64_t object, uint64_t sp,
                                        uint64_t caller, unsigned flags);
void preload_wake(struct sonde__probe_page *page);

enum { PRELOAD_INSTANT = 1, PRELOAD_LEARN = 2, PRELOAD_TIMED = 4 };

/* Before a wait: the slot of this thread, if this is the wait of its known loop and nothing else is
 * to be done; null: call preload_learn(). */
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

/* The same after a wait that went through preload_learn(). */
void preload_end_any(struct sonde__probe_slot *slot);

/* --- follow.c: what is executed. Null: nothing is followed; every exec is then passed straight on.
 * preload_follow_all: also what children execute (`sonde run --follow`). */
extern struct sonde__probe_follow *preload_follow;
extern bool preload_follow_all;
void preload_learn_follow(int fd, const struct sonde__probe_page *page);
/* Is what this process executes now to be watched? */
bool preload_follows_exec(void);
/* What the watch is told before the process becomes another program. */
void preload_leave_program(void);
/* It has not become one. */
void preload_stay_in_program(void);

/* Far more arguments than a compiler's command line has; with more, the program is executed
 * unchanged and counted. On the stack, as in libc's execl(): a vfork child must not allocate. */
#define PRELOAD_ARGUMENTS_MAX 1024u
struct preload_command {
    const char *words[SONDE__PROBE_FOLLOW_WORDS + 1 + PRELOAD_ARGUMENTS_MAX + 1];
};
/* argv of `sonde run ... -- path argv...`. False: execute this one unchanged. Keeps errno. */
bool preload_make_command(const char *path, char *const argv[], char *const envp[],
                          struct preload_command *ret_command);
/* May a program that gets `envp` be followed now? Else it is counted. */
bool preload_may_follow(char *const envp[]);
void preload_count_missed(enum sonde__probe_missed reason);
/* The file that execvp() would execute first, if it can be followed. Keeps errno. */
#define PRELOAD_PATH_MAX 4096u
bool preload_find(const char *name, char *ret_path);

/* --- workers.c: children that fork and execute nothing, as the workers of servers do. Normal
 * context, at start; follow: null: nothing is followed. */
void preload_learn_workers(int fd, struct sonde__probe_follow *follow);
/* In a wait of a process without a page: one of its own, if it is such a child and has none yet. */
struct sonde__probe_page *preload_claim_page(uint32_t kind, bool instant);

/* --- sampler.c: normal context. Sets the handler that samples a running thread, if the signal is
 * free. */
void preload_sampler_start(struct sonde__probe_page *page);

/* At start: can the number of a thread be read without a system call? */
void preload_learn_own_tid(void);

#endif
