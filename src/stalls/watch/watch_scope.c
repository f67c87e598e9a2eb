// SPDX-License-Identifier: Apache-2.0
/* Functions for one scope, and queries of all scopes that do not need the loops (watch_scopes.c
 * does). */
#include "base_math.h"
#include "base_text.h"
#include "probe_scope.h"
#include "watch_scopes.h"

#define MS 1000000u

/* The label is a string of the program, and lives as long as the program. */
static void put_scope(struct sonde__text *text, uint64_t label, int64_t limit_ns)
{
    const char *name = (const char *)(uintptr_t)label;
    sonde__base_text_str(text, "\"");
    for (uint32_t i = 0; name != NULL && name[i] != '\0' && i < SONDE__ENTRY_LABEL_BYTES; i++) {
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
        o->inner_ns += o->decision.phase != SONDE__DECIDE_IDLE ? duration_ns : 0;
    }
    return true;
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
            if (loop->is_live || loop->decision.phase == SONDE__DECIDE_STALL) {
                return true;
            }
        }
    }
    return false;
}

uint32_t sonde__watch_scopes_stalled(const struct sonde__watch_session *s)
{
    uint32_t count = 0;
    for (uint32_t i = 0; s->scope_list != NULL && i < s->scope_list->used; i++) {
        const struct sonde__watch_scoped *thread = s->scope_list->threads[i];
        for (uint32_t level = 0; thread != NULL && level < thread->used; level++) {
            count += thread->levels[level].decision.phase == SONDE__DECIDE_STALL;
        }
    }
    return count;
}
