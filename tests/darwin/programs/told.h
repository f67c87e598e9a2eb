// SPDX-License-Identifier: Apache-2.0
/* The stalls that a watch has told this program: the thread, and its part of the text. */
#ifndef SONDE_DARWIN_TOLD_H
#define SONDE_DARWIN_TOLD_H

#include <stdint.h>
#include <string.h>

#include <sonde/watch.h>

enum { TOLD_MAX = 64, TOLD_BYTES = 4096 };
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

#endif
