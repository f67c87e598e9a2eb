// SPDX-License-Identifier: Apache-2.0
#include "watch_scopes.h"

#include <stdlib.h>

#include "probe_scope.h"
#include "watch_live.h"
#include "watch_loop.h"

/* Null: memory ran out. */
static struct sonde__watch_scoped *levels_of(struct sonde__watch_session *s, uint32_t index)
{
    struct sonde__watch_scoped *thread = s->scope_list->threads[index];
    if (thread != NULL) {
        return thread;
    }
    thread = calloc(1, sizeof *thread);
    for (uint32_t i = 0; thread != NULL && i < SONDE__PROBE_SCOPE_LEVELS; i++) {
        struct sonde__watch_loop *loop = &thread->levels[i];
        loop->slot = &s->scopes->threads[index].levels[i];
        loop->kind = SONDE__REPORT_STALL_SCOPE;
        loop->outer = i > 0 ? &thread->levels[i - 1] : NULL;
        sonde__sampler_stall_init(&loop->stall);
        sonde__decide_init(&loop->decision, s->options.threshold_ns);
    }
    s->scope_list->threads[index] = thread;
    return thread;
}

static uint32_t used_threads(struct sonde__watch_session *s)
{
    if (s->scopes == NULL) {
        return 0;
    }
    if (s->scope_list == NULL) {
        s->scope_list = calloc(1, sizeof *s->scope_list);
    }
    if (s->scope_list == NULL) {
        return 0;
    }
    while (s->scope_list->used < SONDE__PROBE_SCOPE_THREADS &&
           atomic_load(&s->scopes->threads[s->scope_list->used].tid) != 0) {
        s->scope_list->used++;
    }
    return s->scope_list->used;
}

uint64_t sonde__watch_scopes_inspect(struct sonde__watch_session *s, uint64_t now_ns,
                                     bool *ret_busy)
{
    uint64_t wait = UINT64_MAX;
    for (uint32_t i = used_threads(s); i-- > 0;) {
        struct sonde__watch_scoped *thread = levels_of(s, i);
        if (thread == NULL) {
            continue;
        }
        while (thread->used < SONDE__PROBE_SCOPE_LEVELS &&
               atomic_load(&thread->levels[thread->used].slot->turns) != 0) {
            thread->used++;
        }
        /* inner scopes first: time reported for them does not count for the outer ones */
        for (uint32_t level = thread->used; level-- > 0;) {
            uint64_t next = sonde__watch_loop_inspect(s, &thread->levels[level], now_ns, ret_busy);
            wait = next < wait ? next : wait;
        }
    }
    return wait;
}

void sonde__watch_scopes_finish(struct sonde__watch_session *s)
{
    for (uint32_t i = used_threads(s); i-- > 0;) {
        struct sonde__watch_scoped *thread = s->scope_list->threads[i];
        for (uint32_t level = thread != NULL ? thread->used : 0; level-- > 0;) {
            struct sonde__watch_loop *loop = &thread->levels[level];
            sonde__watch_loop_finish(s, loop);
            sonde__watch_live_take_back(s, loop);
            sonde__sampler_stall_done(&loop->stall);
            sonde__sampler_clock_close(&loop->clock);
        }
        free(thread);
    }
    free(s->scope_list);
    s->scope_list = NULL;
}
