// SPDX-License-Identifier: Apache-2.0
/* The stalls that a watch has told this program: the thread, and its part of the text. A machine
 * that has no processor for the watch or for the stalled thread may keep a stall from being told,
 * so a handler stalls until the watch says so, and a program tries again until it has seen all. */
#ifndef SONDE_DARWIN_TOLD_H
#define SONDE_DARWIN_TOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <sonde/thread.h>
#include <sonde/watch.h>

enum { TOLD_MAX = 256, TOLD_BYTES = 4096 };
static struct told {
    uint64_t tid, duration_ns;
    char text[TOLD_BYTES];
} told[TOLD_MAX];
static unsigned told_count;

/* sonde_watch_options.on_stall */
static inline void take_stall(void *ctx, const struct sonde_stall *stall)
{
    (void)ctx;
    if (told_count < TOLD_MAX) {
        struct told *taken = &told[told_count];
        const char *others = strstr(stall->text, "\nthread ");
        size_t size = others != NULL ? (size_t)(others - stall->text) : stall->text_bytes;
        size = size < TOLD_BYTES ? size : TOLD_BYTES - 1;
        taken->tid = stall->tid;
        taken->duration_ns = stall->duration_ns;
        memcpy(taken->text, stall->text, size);
        taken->text[size] = '\0';
        __atomic_store_n(&told_count, told_count + 1, __ATOMIC_SEQ_CST);
    }
}

/* A stall of this thread (0: of any) with both in its text; detail: null: any. */
static inline const struct told *find_stall(uint64_t tid, const char *function, const char *detail)
{
    unsigned known = __atomic_load_n(&told_count, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < known; i++) {
        if ((tid == 0 || told[i].tid == tid) && strstr(told[i].text, function) != NULL &&
            (detail == NULL || strstr(told[i].text, detail) != NULL)) {
            return &told[i];
        }
    }
    return NULL;
}

static inline uint64_t told_now(void)
{
    return clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
}

/* Is it time to give up? The runner ends a program after 200 s. */
static inline bool is_too_late(void)
{
    static uint64_t begin_ns;
    begin_ns = begin_ns == 0 ? told_now() : begin_ns;
    return told_now() - begin_ns > 100000000000u;
}

/* The stalls that have begun: their threads. */
static uint64_t begun[2 * TOLD_MAX];
static unsigned begun_count;

/* sonde_watch_options.on_begin */
static inline void take_begin(void *ctx, const struct sonde_stall *stall)
{
    (void)ctx;
    if (begun_count < 2 * TOLD_MAX) {
        begun[begun_count] = stall->tid;
        __atomic_store_n(&begun_count, begun_count + 1, __ATOMIC_SEQ_CST);
    }
}

/* A handler that stalls: since when, on which thread, and how many stalls had begun. */
struct stalling {
    uint64_t since_ns, tid;
    unsigned begun;
};

static inline struct stalling begin_stalling(void)
{
    return (struct stalling){told_now(), sonde_thread_self(),
                             __atomic_load_n(&begun_count, __ATOMIC_SEQ_CST)};
}

/* Must the handler go on? For this time at least, until its stall has begun; but not for ever: the
 * stall may have begun before the handler. */
static inline bool is_stalling(const struct stalling *stalling, uint64_t least_ns)
{
    uint64_t passed_ns = told_now() - stalling->since_ns;
    bool is_seen = false;
    unsigned known = __atomic_load_n(&begun_count, __ATOMIC_SEQ_CST);
    for (unsigned i = stalling->begun; i < known; i++) {
        is_seen |= begun[i] == stalling->tid;
    }
    return passed_ns < least_ns || (!is_seen && passed_ns < 10 * least_ns);
}

#endif
