// SPDX-License-Identifier: Apache-2.0
/* Without debug information, an inlined function leaves no trace in a stack. A build that inlines
 * main's callee has main -> open where the other has main -> load -> open: one call is new, the
 * other gone, and the program is the same. Such a pair cannot be told from a real change, so both
 * are in doubt. A call that is new while nothing like it is gone stays new.
 *
 * A pair is two calls of one function (and rule) whose functions are the same, in the same order,
 * but for those that the other stack may hide (report_call_key.h). */
#include <string.h>

#include "base_hash.h"
#include "base_status.h"
#include "diff_parts.h"
#include "mem_heap.h"

/* Functions compared in total: a second's work. Calls beyond stay new or gone. */
#define STEPS_MAX 100000000u

struct function {
    uint64_t hash; /* of its name, in all reports */
    bool may_hide;
};

/* The functions of a call, outermost first; none if they are not compared. */
struct calls {
    struct function *functions;
    uint32_t count;
};

struct work {
    struct sonde__diff *diff;
    struct sonde__report_path *path;
    struct sonde__report_call_key key;
    struct calls *calls; /* by index in diff->calls; only of new and gone ones */
    uint64_t steps;
};

static enum sonde_status read_call(struct work *w, const struct sonde__diff_call *call,
                                   struct calls *ret_calls)
{
    sonde__report_call_key(call->report, call->call, w->path, &w->key);
    ret_calls->functions = sonde__mem_alloc_array(w->key.count + 1, sizeof *ret_calls->functions);
    if (ret_calls->functions == NULL) {
        return SONDE_MEMORY;
    }
    ret_calls->count = w->key.has_more ? 0 : w->key.count;
    for (uint32_t i = 0; i < ret_calls->count; i++) {
        const struct sonde__report_call_function *f = &w->key.functions[i];
        struct sonde__report_element_name name =
            sonde__report_element_name(call->report, &f->element);
        uint64_t hash = sonde__base_hash_bytes(SONDE__HASH_EMPTY, name.bytes, name.size);
        hash = sonde__base_hash_bytes(hash, name.start, strlen(name.start));
        ret_calls->functions[i] = (struct function){hash, f->may_hide};
    }
    return SONDE_OK;
}

/* The place of `hash` from `from` on, or the count. */
static uint32_t find(const struct calls *calls, uint32_t from, uint64_t hash)
{
    while (from < calls->count && calls->functions[from].hash != hash) {
        from++;
    }
    return from;
}

static bool may_hide_at(const struct calls *calls, uint32_t at)
{
    return at > 0 && calls->functions[at - 1].may_hide;
}

/* Can both be stacks of the same calls? */
static bool may_be_same(const struct calls *a, const struct calls *b)
{
    uint32_t i = 0, k = 0;
    if (a->count == 0 || b->count == 0) {
        return false;
    }
    while (i < a->count && k < b->count) {
        if (a->functions[i].hash == b->functions[k].hash) {
            i++;
            k++;
            continue;
        }
        uint32_t in_b = find(b, k, a->functions[i].hash);
        uint32_t in_a = find(a, i, b->functions[k].hash);
        if (in_b < b->count && may_hide_at(a, i)) {
            k = in_b;
        } else if (in_a < a->count && may_hide_at(b, k)) {
            i = in_a;
        } else {
            return false;
        }
    }
    return (k == b->count || may_hide_at(a, i)) && (i == a->count || may_hide_at(b, k));
}

static bool is_one_function(const struct sonde__diff_call *a, const struct sonde__diff_call *b)
{
    const struct sonde__report_rule *a_rule = sonde__report_rule(a->report, a->call->rule);
    const struct sonde__report_rule *b_rule = sonde__report_rule(b->report, b->call->rule);
    return strcmp(a->function, b->function) == 0 &&
           strcmp(sonde__report_text(a->report, a_rule->name),
                  sonde__report_text(b->report, b_rule->name)) == 0;
}

/* Compare a new call with all that are gone; diff->calls is sorted by state and function. */
static void doubt_new(struct work *w, uint32_t index, uint32_t gone, uint32_t gone_end)
{
    struct sonde__diff_call *call = &w->diff->calls[index];
    for (uint32_t g = gone; g < gone_end && w->steps < STEPS_MAX; g++) {
        struct sonde__diff_call *other = &w->diff->calls[g];
        int order = strcmp(other->function, call->function);
        w->steps += 1 + w->calls[index].count;
        if (order > 0) {
            break;
        }
        if (order == 0 && is_one_function(call, other) &&
            may_be_same(&w->calls[index], &w->calls[g])) {
            call->doubt = SONDE__DIFF_INLINED;
            other->doubt = SONDE__DIFF_INLINED;
        }
    }
}

static enum sonde_status read_all(struct work *w, enum sonde__diff_state state, uint32_t *ret_begin,
                                  uint32_t *ret_end)
{
    uint32_t at = 0;
    while (at < w->diff->call_count && w->diff->calls[at].state != state) {
        at++;
    }
    *ret_begin = at;
    for (; at < w->diff->call_count && w->diff->calls[at].state == state; at++) {
        if (w->diff->calls[at].doubt == SONDE__DIFF_SURE) {
            SONDE_TRY(read_call(w, &w->diff->calls[at], &w->calls[at]));
        }
    }
    *ret_end = at;
    return SONDE_OK;
}

static enum sonde_status doubt_all(struct work *w)
{
    uint32_t fresh, fresh_end, gone, gone_end;
    SONDE_TRY(read_all(w, SONDE__DIFF_NEW, &fresh, &fresh_end));
    SONDE_TRY(read_all(w, SONDE__DIFF_GONE, &gone, &gone_end));
    for (; fresh < fresh_end; fresh++) {
        const struct sonde__diff_call *call = &w->diff->calls[fresh];
        while (gone < gone_end && strcmp(w->diff->calls[gone].function, call->function) < 0) {
            gone++;
        }
        doubt_new(w, fresh, gone, gone_end);
    }
    return SONDE_OK;
}

enum sonde_status sonde__diff_doubt_inlined(struct sonde__diff *diff,
                                            struct sonde__report_path *path)
{
    struct work *w = sonde__mem_alloc_zeroed(sizeof *w);
    enum sonde_status status = SONDE_MEMORY;
    if (w != NULL) {
        *w = (struct work){.diff = diff, .path = path};
        w->calls = sonde__mem_alloc_zeroed((diff->call_count + (size_t)1) * sizeof *w->calls);
        status = w->calls != NULL ? doubt_all(w) : SONDE_MEMORY;
        for (uint32_t i = 0; w->calls != NULL && i < diff->call_count; i++) {
            sonde__mem_free(w->calls[i].functions);
        }
        sonde__mem_free(w->calls);
    }
    sonde__mem_free(w);
    return status;
}
