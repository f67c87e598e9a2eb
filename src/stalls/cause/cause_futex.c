// SPDX-License-Identifier: Apache-2.0
/* Futexes: the kind of lock and its owner.
 *
 * Sources: futex(2); glibc sysdeps/nptl/bits/struct_mutex.h, sysdeps/x86/nptl/bits/struct_rwlock.h,
 * sysdeps/nptl/bits/struct_rwlock.h (aarch64 has the same offsets), nptl/pthreadP.h and
 * nptl/pthread_rwlock_common.c; unchanged from glibc 2.25 to 2.41. An owner is reported only if it
 * is a thread now. */
#include <inttypes.h>
#include <string.h>

#include "cause_private.h"

/* futex(2): the call's second argument without its flags (private, clock) */
enum { FUTEX_COMMAND = 0x7f, FUTEX_SHARED_IS_0 = 0x80 };
enum { FUTEX_WAIT_ = 0, FUTEX_LOCK_PI_ = 6, FUTEX_WAIT_BITSET_ = 9, FUTEX_LOCK_PI2_ = 13 };
#define FUTEX_TID     0x3fffffffu
#define FUTEX_WAITERS 0x80000000u

/* Words of pthread_mutex_t and bits of its kind */
enum { MUTEX_OWNER = 2, MUTEX_KIND = 4, MUTEX_WORDS = 5 };
enum {
    KIND_TYPE = 3,
    KIND_ROBUST = 0x10,
    KIND_INHERITS = 0x20,
    KIND_SHARED = 0x80,
    KIND_ALL = 0x3ff,
};
/* Words of pthread_rwlock_t. The third and fourth are the futex words. */
enum {
    RWLOCK_READERS = 0,
    RWLOCK_PHASE = 2,
    RWLOCK_WRITERS = 3,
    RWLOCK_OWNER = 6,
    RWLOCK_WORDS = 7
};
enum { RWLOCK_READER_SHIFT = 3, RWLOCK_PHASE_FREE = 2, RWLOCK_FUTEX_MAX = 3 };

struct futex {
    struct cause_look *look;
    uint64_t address;
    unsigned command;
    uint32_t expected; /* value of the word when the thread began to wait */
    bool shared;
};

static const char *const makers_without_owner[] = {
    [CAUSE_BY_OTHER] = "owner not recorded",
    [CAUSE_BY_GLIBC] = "owner not recorded",
    [CAUSE_BY_MUSL] = "owner not recorded (musl)",
    [CAUSE_BY_GLIB] = "owner not recorded (GLib)",
    [CAUSE_BY_RUST] = "owner not recorded (Rust)",
    [CAUSE_BY_CXX] = "owner not recorded (C++ runtime)",
};

static void describe(const struct futex *f, enum sonde__cause_kind kind, const char *what,
                     const char *owner)
{
    struct sonde__cause *cause = f->look->cause;
    struct sonde__text text = cause_resource(cause);
    cause->kind = (uint8_t)kind;
    cause_put(&text, "%s 0x%" PRIx64, what, f->address);
    text = cause_owner(cause);
    sonde__base_text_str(&text, owner);
}

/* The lock stores its owner as a tid in the process's own pid namespace. */
static void describe_owner(const struct futex *f, uint64_t recorded, bool shared, const char *how)
{
    struct sonde__causes *causes = f->look->causes;
    struct sonde__cause *cause = f->look->cause;
    struct sonde__text text = cause_owner(cause);
    uint64_t tid = recorded;
    int32_t pid = causes->pid;
    if (causes->other_numbers) {
        tid = sonde__host_thread_of_inner(causes->pid, recorded);
    }
    if (shared && !causes->other_numbers && !sonde__host_has_thread(pid, tid)) {
        pid = sonde__host_thread_process(tid);
    }
    if (tid == 0 || pid == 0 || !sonde__host_has_thread(pid, tid)) {
        cause_put(&text, "%sthread %" PRIu64 ", which is no thread of it any more", how, recorded);
        return;
    }
    cause->owner_tid = tid;
    cause->owner_pid = pid;
    sonde__base_text_str(&text, how);
    if (tid == f->look->tid) {
        sonde__base_text_str(&text, "this thread itself");
        return;
    }
    cause_put_thread(&text, pid, tid);
    if (pid != causes->pid) {
        sonde__base_text_str(&text, " of ");
        cause_put_process(&text, pid);
    }
}

static bool read_words(const struct futex *f, uint64_t address, uint32_t *words, size_t count)
{
    return cause_read(f->look, address, words, count * sizeof *words) == count * sizeof *words;
}

/* Is this a mutex of glibc, with or without an owner? */
static bool is_mutex(const uint32_t *words)
{
    return (words[MUTEX_KIND] & ~(uint32_t)KIND_ALL) == 0 && (words[MUTEX_OWNER] & ~FUTEX_TID) == 0;
}

static void look_mutex(const struct futex *f, struct cause_called called)
{
    uint32_t words[MUTEX_WORDS];
    if (called.maker != CAUSE_BY_GLIBC) {
        describe(f, SONDE__CAUSE_MUTEX, "mutex, futex", makers_without_owner[called.maker]);
        return;
    }
    if (!read_words(f, f->address, words, MUTEX_WORDS) || !is_mutex(words)) {
        describe(f, SONDE__CAUSE_FUTEX, "futex", "owner not recorded");
        return;
    }
    describe(f, SONDE__CAUSE_MUTEX, "mutex", "released meanwhile");
    if (words[MUTEX_OWNER] != 0) {
        describe_owner(f, words[MUTEX_OWNER], (words[MUTEX_KIND] & KIND_SHARED) != 0, "held by ");
    }
}

/* The kernel defines these locks: the word holds the owner, whichever library made the lock. */
static void look_inheriting(const struct futex *f, struct cause_called called)
{
    uint32_t word;
    describe(f, SONDE__CAUSE_MUTEX, called.maker == CAUSE_BY_GLIBC ? "mutex" : "mutex, futex",
             "owner not recorded");
    if (read_words(f, f->address, &word, 1) && (word & FUTEX_TID) != 0) {
        describe_owner(f, word & FUTEX_TID, f->shared, "held by ");
    }
}

/* A robust mutex stores the owner twice: in its word and in a field. */
static bool look_robust(const struct futex *f)
{
    uint32_t words[MUTEX_WORDS];
    if (f->command != FUTEX_WAIT_ || (f->expected & FUTEX_WAITERS) == 0 ||
        !read_words(f, f->address, words, MUTEX_WORDS) || !is_mutex(words) ||
        (words[MUTEX_KIND] & KIND_ROBUST) == 0 || words[MUTEX_OWNER] == 0 ||
        words[MUTEX_OWNER] != (words[0] & FUTEX_TID)) {
        return false;
    }
    describe(f, SONDE__CAUSE_MUTEX, "mutex", "");
    describe_owner(f, words[MUTEX_OWNER], (words[MUTEX_KIND] & KIND_SHARED) != 0, "held by ");
    return true;
}

static void look_rwlock(const struct futex *f, struct cause_called called)
{
    bool reads = called.function == CAUSE_FN_RWLOCK_READ;
    struct futex lock = *f;
    uint32_t words[RWLOCK_WORDS];
    const char *what = reads ? "read lock" : "write lock";
    if (called.maker != CAUSE_BY_GLIBC) {
        describe(f, SONDE__CAUSE_RWLOCK, reads ? "read lock, futex" : "write lock, futex",
                 makers_without_owner[called.maker]);
        return;
    }
    /* a reader waits for the phase word; a writer for the previous writer, or for the readers */
    bool by_phase = reads || f->expected == RWLOCK_PHASE_FREE;
    bool by_count = reads && f->expected > RWLOCK_FUTEX_MAX; /* the lock prefers writers */
    unsigned word = by_count ? RWLOCK_READERS : by_phase ? RWLOCK_PHASE : RWLOCK_WRITERS;
    lock.address -= sizeof(uint32_t) * word;
    if (!read_words(&lock, lock.address, words, RWLOCK_WORDS)) {
        describe(f, SONDE__CAUSE_FUTEX, "futex", "owner not recorded");
        return;
    }
    describe(&lock, SONDE__CAUSE_RWLOCK, what, "released meanwhile");
    if (words[RWLOCK_OWNER] != 0) {
        describe_owner(&lock, words[RWLOCK_OWNER], lock.shared, "held for writing by ");
    } else if (words[RWLOCK_READERS] >> RWLOCK_READER_SHIFT != 0) {
        struct sonde__text text = cause_owner(f->look->cause);
        cause_put(&text, "held for reading %u times, by whom is not recorded",
                  words[RWLOCK_READERS] >> RWLOCK_READER_SHIFT);
    }
}

/* glibc waits for a word that holds the tid until the kernel clears it at the thread's end. */
static bool look_join(const struct futex *f, bool is_said)
{
    uint32_t word;
    bool waits = f->command == FUTEX_WAIT_ || f->command == FUTEX_WAIT_BITSET_;
    if (!waits || !f->shared || f->expected == 0 || !read_words(f, f->address, &word, 1) ||
        word != f->expected) {
        return false;
    }
    struct sonde__causes *causes = f->look->causes;
    uint64_t tid =
        causes->other_numbers ? sonde__host_thread_of_inner(causes->pid, word) : (uint64_t)word;
    if (!sonde__host_has_thread(causes->pid, tid)) {
        return false;
    }
    bool is_glibc = f->look->stack != NULL && f->look->stack->count > 0 &&
                    cause_function_is_glibc(causes->functions, f->look->stack->pcs[0]);
    if (!is_said && !is_glibc) {
        return false;
    }
    struct sonde__text text = cause_resource(f->look->cause);
    f->look->cause->kind = SONDE__CAUSE_JOIN;
    f->look->cause->owner_tid = tid;
    f->look->cause->owner_pid = causes->pid;
    sonde__base_text_str(&text, "the end of ");
    cause_put_thread(&text, causes->pid, tid);
    return true;
}

static void look_called(const struct futex *f, struct cause_called called)
{
    const char *nobody = makers_without_owner[called.maker];
    /* the thread takes the mutex again after the condition was signalled: only then is the expected
     * value 2 */
    bool takes_mutex = called.function == CAUSE_FN_CONDITION && called.maker == CAUSE_BY_GLIBC &&
                       f->command == FUTEX_WAIT_ && f->expected == 2;
    switch (called.function) {
    case CAUSE_FN_MUTEX:
        look_mutex(f, called);
        break;
    case CAUSE_FN_RWLOCK_READ:
    case CAUSE_FN_RWLOCK_WRITE:
        look_rwlock(f, called);
        break;
    case CAUSE_FN_CONDITION:
        if (takes_mutex) {
            look_mutex(f, called);
        } else {
            describe(f, SONDE__CAUSE_CONDITION, "condition variable, futex", "");
        }
        break;
    case CAUSE_FN_SEMAPHORE:
        describe(f, SONDE__CAUSE_SEMAPHORE, "semaphore", "");
        break;
    case CAUSE_FN_BARRIER:
        describe(f, SONDE__CAUSE_BARRIER, "barrier, futex", "");
        break;
    case CAUSE_FN_ONCE:
        describe(f, SONDE__CAUSE_ONCE, "another thread's one-time initialization, futex",
                 "which thread is not recorded");
        break;
    case CAUSE_FN_JOIN:
        describe(f, SONDE__CAUSE_JOIN, "the end of a thread, futex",
                 "which thread is not recorded");
        break;
    default:
        describe(f, SONDE__CAUSE_FUTEX, "futex", nobody);
        break;
    }
}

/* The lock of an interpreter: the runtime tells where it is and who owns it. */
static bool look_interpreter(const struct futex *f)
{
    const struct sonde__script *script = f->look->script;
    if (script == NULL || f->address < script->lock_start || f->address >= script->lock_end) {
        return false;
    }
    struct sonde__text text = cause_resource(f->look->cause);
    f->look->cause->kind = SONDE__CAUSE_MUTEX;
    cause_put(&text, "%s's lock (GIL)", script->language);
    if (script->lock_holder != 0) {
        describe_owner(f, script->lock_holder, false, "held by ");
    }
    return true;
}

bool cause_look_futex(struct cause_look *look)
{
    struct cause_called called = {0};
    if (strcmp(look->call, "futex") != 0) {
        return false;
    }
    struct futex f = {.look = look,
                      .address = look->args[0],
                      .command = (unsigned)look->args[1] & FUTEX_COMMAND,
                      .expected = (uint32_t)look->args[2],
                      .shared = (look->args[1] & FUTEX_SHARED_IS_0) == 0};
    look->cause->timed = look->args[3] != 0;
    if (look_interpreter(&f)) {
        return true;
    }
    if (look->stack != NULL && look->causes->functions != NULL) {
        called = cause_function_find(look->causes->functions, look->stack);
    }
    if (f.command == FUTEX_LOCK_PI_ || f.command == FUTEX_LOCK_PI2_) {
        look_inheriting(&f, called);
        return true;
    }
    bool may_join = called.function == CAUSE_FN_JOIN || called.function == CAUSE_FN_NONE;
    if (may_join && look_join(&f, called.function == CAUSE_FN_JOIN)) {
        return true;
    }
    bool may_be_robust = called.function == CAUSE_FN_MUTEX && called.maker == CAUSE_BY_GLIBC;
    if (!may_be_robust || !look_robust(&f)) {
        look_called(&f, called);
    }
    return true;
}
