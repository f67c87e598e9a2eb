// SPDX-License-Identifier: Apache-2.0
#include "watch_scopes.h"

#include <stdlib.h>

#include "base_math.h"
#include "base_text.h"
#include "host_clock.h"
#include "probe_scope.h"
#include "watch_live.h"
#include "watch_loop.h"

#define MS 1000000u

/* The levels of one thread. */
struct sonde__watch_scoped {
    uint32_t used; /* levels that have had a scope */
    struct sonde__watch_loop levels[SONDE__PROBE_SCOPE_LEVELS];
};

struct sonde__watch_scope_list {
    uint32_t used; /* threads: the probe takes the first free place */
    struct sonde__watch_scoped *threads[SONDE__PROBE_SCOPE_THREADS]; /* null: never looked at */
};

/* The label is the program's: a string that lives as long as it. */
static void put_scope(struct sonde__text *text, uint64_t label, int64_t limit_ns)
{
    const char *name = (const char *)(uintptr_t)label;
    sonde__base_text_str(text, "\"");
    for (uint32_t i = 0; name != NULL && name[i] != '\0' && i < SONDE__WATCH_LABEL_BYTES; i++) {
        sonde__base_text_char(text, name[i]);
    }
    sonde__base_text_str(text, "\", limit ");
    sonde__base_text_dec(text, (uint64_t)limit_ns / MS);
    sonde__base_text_str(text, " ms");
}

void sonde__watch_scope_name(const struct sonde__probe_long *turn, char *ret_text, size_t capacity)
{
    struct sonde__text text;
    sonde__base_text_init(&text, ret_text, capacity);
    put_scope(&text, turn->object, turn->long_ns);
}

bool sonde__watch_scope_begin(struct sonde__watch_loop *loop, uint64_t since_ns)
{
    struct sonde__probe_scope scope, outer;
    struct sonde__text text;
    if (!sonde__probe_read_scope(loop->slot, &scope) || scope.begin_ns != since_ns ||
        scope.limit_ns <= 0) {
        return false;
    }
    sonde__base_text_init(&text, loop->scope, sizeof loop->scope);
    put_scope(&text, scope.label, scope.limit_ns);
    for (const struct sonde__watch_loop *o = loop->outer; o != NULL; o = o->outer) {
        if (sonde__probe_read_scope(o->slot, &outer) && outer.begin_ns <= scope.begin_ns) {
            sonde__base_text_str(&text, ", in ");
            put_scope(&text, outer.label, outer.limit_ns);
        }
    }
    loop->scope_caller = scope.caller;
    loop->inner_ns = 0;
    loop->threshold_ns = (uint64_t)scope.limit_ns;
    loop->decision.threshold_ns = loop->threshold_ns;
    return true;
}

bool sonde__watch_scope_reports(struct sonde__watch_loop *loop, uint64_t duration_ns)
{
    if (loop->inner_ns != 0 &&
        duration_ns - sonde__base_min(loop->inner_ns, duration_ns) < loop->decision.threshold_ns) {
        return false;
    }
    for (struct sonde__watch_loop *o = loop->outer; o != NULL; o = o->outer) {
        o->inner_ns += o->decision.phase != SONDE__WATCH_IDLE ? duration_ns : 0;
    }
    return true;
}

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
        sonde__watch_stall_init(&loop->stall);
        sonde__watch_decide_init(&loop->decision, s->options.threshold_ns);
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
        /* inner ones first: what is reported of them does not count for the outer ones */
        for (uint32_t level = thread->used; level-- > 0;) {
            uint64_t next = sonde__watch_loop_inspect(s, &thread->levels[level], now_ns, ret_busy);
            wait = next < wait ? next : wait;
        }
    }
    return wait;
}

bool sonde__watch_scopes_are_open(const struct sonde__watch_session *s)
{
    for (uint32_t i = 0; s->scopes != NULL && i < SONDE__PROBE_SCOPE_THREADS; i++) {
        const struct sonde__probe_scoped *thread = &s->scopes->threads[i];
        if (atomic_load(&thread->tid) != 0 &&
            atomic_load(&thread->levels[0].beat) != SONDE__PROBE_IDLE) {
            return true;
        }
    }
    return false;
}

bool sonde__watch_scopes_are_unsettled(const struct sonde__watch_session *s)
{
    for (uint32_t i = 0; s->scope_list != NULL && i < s->scope_list->used; i++) {
        const struct sonde__watch_scoped *thread = s->scope_list->threads[i];
        for (uint32_t level = 0; thread != NULL && level < thread->used; level++) {
            const struct sonde__watch_loop *loop = &thread->levels[level];
            if (loop->is_live || loop->decision.phase == SONDE__WATCH_STALL) {
                return true;
            }
        }
    }
    return false;
}

void sonde__watch_scopes_finish(struct sonde__watch_session *s)
{
    for (uint32_t i = used_threads(s); i-- > 0;) {
        struct sonde__watch_scoped *thread = s->scope_list->threads[i];
        for (uint32_t level = thread != NULL ? thread->used : 0; level-- > 0;) {
            struct sonde__watch_loop *loop = &thread->levels[level];
            sonde__watch_loop_finish(s, loop);
            sonde__watch_live_take_back(s, loop);
            sonde__watch_stall_done(&loop->stall);
            sonde__watch_clock_close(&loop->clock);
        }
        free(thread);
    }
    free(s->scope_list);
    s->scope_list = NULL;
}
