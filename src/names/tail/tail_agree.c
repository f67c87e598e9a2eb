// SPDX-License-Identifier: Apache-2.0
#include "tail_agree.h"

#include <stdlib.h>

#include "base_status.h"
#include "mem_heap.h"
#include "mem_sort.h"

struct agree {
    struct sonde__tail_input *input;
    struct sonde__tail_function *functions;
    const struct sonde__tail_input *described;
    struct sonde__tail_jump *described_at; /* described jumps, with functions of the code */
    size_t said_count;
    uint32_t *numbers; /* described function -> function of the code; NONE: not a function there */
    uint8_t *marks;    /* by function of the code */
    struct tail_agreement *out;
    size_t jump_count, call_count;
};

enum { MARK_DESCRIBED = 1, MARK_DIFFERS = 2, MARK_CLOSED = 4, MARK_EXTERNAL = 8 };

/* Both lists are sorted by start. */
static void number_functions(struct agree *a)
{
    size_t k = 0;
    for (size_t i = 0; i < a->described->function_count; i++) {
        const struct sonde__tail_function *f = &a->described->functions[i];
        while (k < a->input->function_count && a->functions[k].start < f->start) {
            k++;
        }
        bool is_one = k < a->input->function_count && a->functions[k].start == f->start &&
                      a->functions[k].owner == k && f->owner == i;
        a->numbers[i] = is_one ? (uint32_t)k : SONDE__TAIL_NONE;
        if (is_one) {
            bool external = (f->flags & SONDE__TAIL_EXTERNAL) != 0;
            /* if the code never leaves the image, a described external jump stays inside: unknown
             * target */
            bool closed = (f->flags & SONDE__TAIL_OPEN) == 0 &&
                          (!external || (a->functions[k].flags & SONDE__TAIL_EXTERNAL) != 0);
            a->marks[k] = (uint8_t)(MARK_DESCRIBED | (closed ? MARK_CLOSED : 0) |
                                    (external ? MARK_EXTERNAL : 0));
        }
    }
}

/* Map described jumps to the code's functions. A target that is no function there is a
 * disagreement. */
static void map_described(struct agree *a)
{
    const struct sonde__tail_input *d = a->described;
    size_t count = sonde__tail_jumps_sort(d->functions, d->jumps, d->jump_count);
    for (size_t i = 0; i < count; i++) {
        uint32_t from = a->numbers[d->jumps[i].from];
        uint32_t to = a->numbers[d->jumps[i].to];
        if (from == SONDE__TAIL_NONE) {
            continue;
        }
        if (to == SONDE__TAIL_NONE) {
            a->marks[from] |= MARK_DIFFERS;
        } else {
            a->described_at[a->said_count++] =
                (struct sonde__tail_jump){from, to, d->jumps[i].place};
        }
    }
}

static bool is_open(const struct agree *a, uint32_t function)
{
    return (a->functions[function].flags & SONDE__TAIL_OPEN) != 0;
}

static void take_jump(struct agree *a, const struct sonde__tail_jump *jump, bool is_seen,
                      bool is_said)
{
    uint8_t *marks = &a->marks[jump->from];
    bool allowed = is_seen && is_said;
    if (!is_said) {
        allowed = (*marks & MARK_CLOSED) == 0;
    } else if (!is_seen) {
        allowed = is_open(a, jump->from);
    }
    if (allowed) {
        a->out->jumps[a->jump_count++] = *jump;
    } else {
        *marks |= MARK_DIFFERS;
    }
}

static int compare_jumps(const struct sonde__tail_jump *x, const struct sonde__tail_jump *y)
{
    return SONDE__ORDER2(x, y, from, to);
}

static void merge_jumps(struct agree *a)
{
    struct sonde__tail_input *input = a->input;
    size_t seen = 0, described_at = 0;
    size_t count = sonde__tail_jumps_sort(a->functions, input->jumps, input->jump_count);
    while (seen < count || described_at < a->said_count) {
        int order = seen == count ? 1
                    : described_at == a->said_count
                        ? -1
                        : compare_jumps(&input->jumps[seen], &a->described_at[described_at]);
        /* both know it: keep the code's, which has the more exact place */
        take_jump(a, order <= 0 ? &input->jumps[seen] : &a->described_at[described_at], order <= 0,
                  order >= 0);
        seen += order <= 0;
        described_at += order >= 0;
    }
}

static void settle_flags(struct agree *a, struct sonde__tail_origin *origin)
{
    for (size_t i = 0; i < a->input->function_count; i++) {
        struct sonde__tail_function *f = &a->functions[i];
        uint8_t marks = a->marks[i];
        if (f->owner != i || (marks & MARK_DESCRIBED) == 0) {
            continue;
        }
        if ((marks & MARK_DIFFERS) != 0) {
            f->flags |= SONDE__TAIL_OPEN;
            origin->functions++;
        }
        f->flags |= (marks & MARK_EXTERNAL) != 0 ? (uint32_t)SONDE__TAIL_EXTERNAL : 0;
    }
}

/* --- calls --- */

static int by_back(const void *a, const void *b)
{
    const struct sonde__tail_call *x = a, *y = b;
    return SONDE__ORDER2(x, y, back, to);
}

static void merge_calls(struct agree *a, struct sonde__tail_origin *origin)
{
    const struct sonde__tail_input *d = a->described;
    struct sonde__tail_call *calls = a->out->calls;
    size_t count = 0;
    for (size_t i = 0; i < a->input->call_count; i++) {
        calls[count++] = a->input->calls[i];
    }
    for (size_t i = 0; i < d->call_count; i++) {
        uint32_t to = a->numbers[d->calls[i].to];
        if (to != SONDE__TAIL_NONE) {
            calls[count++] = (struct sonde__tail_call){d->calls[i].back, to};
        }
    }
    if (count != 0) {
        qsort(calls, count, sizeof *calls, by_back);
    }
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && calls[end].back == calls[i].back) {
            end++;
        }
        if (calls[i].to == calls[end - 1].to) {
            calls[a->call_count++] = calls[i];
        } else {
            origin->calls++;
        }
        i = end;
    }
}

/* --- both --- */

enum sonde_status tail_agree(struct sonde__tail_input *input,
                             struct sonde__tail_function *functions,
                             const struct sonde__tail_input *described,
                             struct tail_agreement *ret_agreement,
                             struct sonde__tail_origin *ret_origin)
{
    struct agree a = {.input = input, .functions = functions, .described = described};
    enum sonde_status status = SONDE_MEMORY;
    a.out = ret_agreement;
    a.numbers = sonde__mem_alloc_array(described->function_count, sizeof *a.numbers);
    a.marks = sonde__mem_alloc_zeroed(input->function_count);
    a.described_at = sonde__mem_alloc_array(described->jump_count, sizeof *a.described_at);
    a.out->jumps =
        sonde__mem_alloc_array(input->jump_count + described->jump_count, sizeof *a.out->jumps);
    a.out->calls =
        sonde__mem_alloc_array(input->call_count + described->call_count, sizeof *a.out->calls);
    if (a.numbers != NULL && a.marks != NULL && a.described_at != NULL && a.out->jumps != NULL &&
        a.out->calls != NULL) {
        number_functions(&a);
        map_described(&a);
        merge_jumps(&a);
        settle_flags(&a, ret_origin);
        merge_calls(&a, ret_origin);
        input->jumps = a.out->jumps;
        input->jump_count = a.jump_count;
        input->calls = a.out->calls;
        input->call_count = a.call_count;
        ret_origin->sources |= SONDE__TAIL_FROM_SITES;
        status = SONDE_OK;
    }
    sonde__mem_free(a.numbers);
    sonde__mem_free(a.marks);
    sonde__mem_free(a.described_at);
    return status;
}

void tail_agreement_done(struct tail_agreement *agreement)
{
    sonde__mem_free(agreement->jumps);
    sonde__mem_free(agreement->calls);
}
