// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "export_series.h"

#include "mem_heap.h"
#include "mem_sort.h"

/* --- heap blocks: the sum over all times for each stack --- */

static enum sonde_status gather_blocks(struct sonde__export_set *set)
{
    uint32_t count = sonde__report_heap_blocks_count(set->report);
    set->blocks = sonde__mem_alloc_array((size_t)count + 1, sizeof *set->blocks);
    if (set->blocks == NULL) {
        return SONDE_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde__report_heap_blocks *b = sonde__report_heap_blocks(set->report, i);
        set->blocks[i] =
            (struct sonde__export_blocks){(uint64_t)b->stack << 32 | i, b->growth, b->growth_bytes};
    }
    SONDE__SORT_BY(set->blocks, count, key);
    for (uint32_t i = 0; i < count; i++) {
        struct sonde__export_blocks *last =
            set->block_count == 0 ? NULL : &set->blocks[set->block_count - 1];
        if (last != NULL && last->key >> 32 == set->blocks[i].key >> 32) {
            last->count = (int64_t)((uint64_t)last->count + (uint64_t)set->blocks[i].count);
            last->bytes = (int64_t)((uint64_t)last->bytes + (uint64_t)set->blocks[i].bytes);
        } else {
            set->blocks[set->block_count++] = set->blocks[i];
        }
    }
    return SONDE_OK;
}

/* Add the functions that have no frame: recorded functions and threads. */
static bool name_functions(struct sonde__export_set *set)
{
    uint32_t number;
    bool done = true;
    for (uint32_t i = 0; i < sonde__report_call_count(set->report) && done; i++) {
        done = sonde__export_function_named(&set->functions,
                                            sonde__report_call(set->report, i)->function, &number);
    }
    for (uint32_t i = 0; i < sonde__report_thread_count(set->report) && done; i++) {
        done = sonde__export_function_named(&set->functions,
                                            sonde__report_thread(set->report, i)->name, &number);
    }
    for (uint32_t i = 0; i < sonde__report_stall_count(set->report) && done; i++) {
        const struct sonde__report_stall *stall = sonde__report_stall(set->report, i);
        for (uint32_t k = 0; k < stall->thread_count && done; k++) {
            done = sonde__export_function_named(&set->functions, stall->threads[k].name, &number);
        }
    }
    return done;
}

enum sonde_status sonde__export_set_make(struct sonde__export_set *set,
                                         const struct sonde__report *report, bool raw_names)
{
    *set = (struct sonde__export_set){.report = report};
    enum sonde_status status = sonde__export_functions_make(&set->functions, report, raw_names);
    if (status == SONDE_OK && !name_functions(set)) {
        status = SONDE_MEMORY;
    }
    return status == SONDE_OK ? gather_blocks(set) : status;
}

void sonde__export_set_done(struct sonde__export_set *set)
{
    sonde__export_functions_done(&set->functions);
    sonde__mem_free(set->blocks);
    *set = (struct sonde__export_set){0};
}

/* --- series --- */

bool sonde__export_next(const struct sonde__export_set *set, uint32_t *at,
                        struct sonde__export_series *ret_series)
{
    const struct sonde__report *r = set->report;
    uint32_t stalls = sonde__report_stall_count(r);
    const struct {
        enum sonde__export_series_kind kind;
        uint32_t count;
    } others[] = {{SONDE__EXPORT_CALLS, sonde__report_call_count(r)},
                  {SONDE__EXPORT_BLOCKS, set->block_count},
                  {SONDE__EXPORT_THREADS, sonde__report_thread_count(r)}};
    uint32_t number = (*at)++;
    if (stalls != 0 || sonde__report_sample_count(r) != 0 ||
        sonde__report_header(r)->kind == SONDE__REPORT_WATCH) {
        bool is_stall = number < stalls;
        *ret_series = (struct sonde__export_series){
            is_stall ? SONDE__EXPORT_STALL : SONDE__EXPORT_LOOSE, is_stall ? number : 0};
        return is_stall || (number == stalls && sonde__report_sample_count(r) != 0);
    }
    for (uint32_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i].count != 0) { /* only one kind, because units differ */
            *ret_series = (struct sonde__export_series){others[i].kind, 0};
            return number == 0;
        }
    }
    return false;
}

/* --- samples --- */

struct stall_walk {
    struct sonde__export_sample sample; /* fields common to all samples */
    uint64_t begin_ns;
    uint64_t at_ns;   /* end of the samples delivered so far */
    uint64_t free_ns; /* time without samples that is still to be delivered */
    sonde__export_take *take;
    void *ctx;
};

static bool put_gap(struct stall_walk *w, uint64_t gap_ns)
{
    struct sonde__export_sample sample = w->sample;
    if (gap_ns == 0) {
        return true;
    }
    sample.leaf = SONDE__EXPORT_NOT_SAMPLED + 1;
    sample.at_ns = w->begin_ns + w->at_ns;
    sample.weight = gap_ns;
    w->at_ns += gap_ns;
    w->free_ns -= gap_ns;
    return w->take(w->ctx, &sample);
}

static void each_of_stall(const struct sonde__report_stall *stall, sonde__export_take *take,
                          void *ctx)
{
    struct stall_walk w = {
        .sample = {.thread = stall->thread_name, .tid = stall->tid},
        .begin_ns = stall->begin_ns,
        .free_ns = stall->duration_ns,
        .take = take,
        .ctx = ctx,
    };
    for (uint32_t i = 0; i < stall->sample_count; i++) {
        uint64_t weight_ns = stall->samples[i].weight_ns;
        w.free_ns -= weight_ns < w.free_ns ? weight_ns : w.free_ns;
    }
    for (uint32_t i = 0; i < stall->sample_count; i++) {
        const struct sonde__report_sample *s = &stall->samples[i];
        struct sonde__export_sample sample = w.sample;
        uint64_t gap_ns = s->time_ns > w.at_ns ? s->time_ns - w.at_ns : 0;
        if (!put_gap(&w, gap_ns < w.free_ns ? gap_ns : w.free_ns)) {
            return;
        }
        sample.stack = s->stack;
        sample.at_ns = w.begin_ns + w.at_ns;
        sample.weight = s->weight_ns;
        sample.sample = s;
        w.at_ns += s->weight_ns;
        if (sample.weight != 0 && !take(ctx, &sample)) {
            return;
        }
    }
    (void)put_gap(&w, w.free_ns);
}

static void each_loose(const struct sonde__export_set *set, sonde__export_take *take, void *ctx)
{
    bool more = true;
    for (uint32_t i = 0; i < sonde__report_sample_count(set->report) && more; i++) {
        const struct sonde__report_sample *s = sonde__report_sample(set->report, i);
        const struct sonde__export_sample sample = {.stack = s->stack,
                                                    .tid = s->tid,
                                                    .at_ns = s->time_ns,
                                                    .weight = s->weight_ns,
                                                    .sample = s};
        more = s->weight_ns == 0 || take(ctx, &sample);
    }
}

static bool take_thread(const struct sonde__report_thread *thread, uint64_t at_ns,
                        sonde__export_take *take, void *ctx)
{
    const struct sonde__export_sample sample = {.stack = thread->stack,
                                                .thread = thread->name,
                                                .tid = thread->tid,
                                                .at_ns = at_ns,
                                                .weight = 1};
    return take(ctx, &sample);
}

static void each_call(const struct sonde__export_set *set, sonde__export_take *take, void *ctx)
{
    bool more = true;
    for (uint32_t i = 0; i < sonde__report_call_count(set->report) && more; i++) {
        const struct sonde__report_call *call = sonde__report_call(set->report, i);
        const struct sonde__export_sample sample = {
            .stack = call->stack,
            .leaf = sonde__export_function_find(&set->functions, call->function) + 1,
            .tid = call->tid,
            .weight = call->count,
        };
        more = call->count == 0 || take(ctx, &sample);
    }
}

static void each_block(const struct sonde__export_set *set, sonde__export_take *take, void *ctx)
{
    bool more = true;
    for (uint32_t i = 0; i < set->block_count && more; i++) {
        const struct sonde__export_blocks *b = &set->blocks[i];
        const struct sonde__export_sample sample = {
            .stack = (uint32_t)(b->key >> 32),
            .weight = b->count > 0 ? (uint64_t)b->count : 0,
            .bytes = b->bytes > 0 ? (uint64_t)b->bytes : 0,
        };
        more = sample.weight == 0 || take(ctx, &sample);
    }
}

void sonde__export_each(const struct sonde__export_set *set,
                        const struct sonde__export_series *series, sonde__export_take *take,
                        void *ctx)
{
    const struct sonde__report_stall *stall = NULL;
    bool more = true;
    switch (series->kind) {
    case SONDE__EXPORT_STALL:
        each_of_stall(sonde__report_stall(set->report, series->stall), take, ctx);
        break;
    case SONDE__EXPORT_OTHERS:
        stall = sonde__report_stall(set->report, series->stall);
        for (uint32_t i = 0; i < stall->thread_count && more; i++) {
            more = take_thread(&stall->threads[i], stall->begin_ns, take, ctx);
        }
        break;
    case SONDE__EXPORT_LOOSE:
        each_loose(set, take, ctx);
        break;
    case SONDE__EXPORT_THREADS:
        for (uint32_t i = 0; i < sonde__report_thread_count(set->report) && more; i++) {
            const struct sonde__report_thread *thread = sonde__report_thread(set->report, i);
            more = take_thread(thread, thread->time_ns, take, ctx);
        }
        break;
    case SONDE__EXPORT_CALLS:
        each_call(set, take, ctx);
        break;
    case SONDE__EXPORT_BLOCKS:
        each_block(set, take, ctx);
        break;
    }
}

static bool add_up(void *ctx, const struct sonde__export_sample *sample)
{
    struct sonde__export_sum *sum = ctx;
    sum->count++;
    sum->weight += sample->weight;
    return true;
}

struct sonde__export_sum sonde__export_sum(const struct sonde__export_set *set,
                                           const struct sonde__export_series *series)
{
    struct sonde__export_sum sum = {0, 0};
    sonde__export_each(set, series, add_up, &sum);
    return sum;
}

void sonde__export_put_title(struct sonde__report_out *out, const struct sonde__export_set *set,
                             const struct sonde__export_series *series)
{
    static const char *const titles[] = {
        [SONDE__EXPORT_STALL] = "stall ",
        [SONDE__EXPORT_OTHERS] = "other threads in stall ",
        [SONDE__EXPORT_LOOSE] = "outside stalls",
        [SONDE__EXPORT_THREADS] = "threads",
        [SONDE__EXPORT_CALLS] = "calls",
        [SONDE__EXPORT_BLOCKS] = "live blocks",
    };
    sonde__report_out_str(out, titles[series->kind]);
    if (series->kind <= SONDE__EXPORT_OTHERS) {
        sonde__report_out_dec(out, (uint64_t)series->stall + 1);
    }
    if (series->kind == SONDE__EXPORT_STALL) {
        const struct sonde__report_stall *stall = sonde__report_stall(set->report, series->stall);
        sonde__report_out_print(out, ": %s [%" PRId64 "], %s",
                                sonde__report_text(set->report, stall->thread_name), stall->tid,
                                sonde__report_duration(stall->duration_ns).text);
    }
}
