// SPDX-License-Identifier: Apache-2.0
#include "jit_names.h"

#include <stdlib.h>
#include <string.h>

#include "base_search.h"
#include "mem_heap.h"
#include "mem_sort.h"

void sonde__jit_init(struct sonde__jit *jit)
{
    memset(jit, 0, sizeof *jit);
    sonde__arena_init(&jit->arena);
}

void sonde__jit_done(struct sonde__jit *jit)
{
    sonde__arena_done(&jit->arena);
    sonde__mem_free(jit->codes);
    sonde__mem_free(jit->pieces);
    sonde__jit_init(jit);
}

enum sonde_status sonde__jit_add(struct sonde__jit *jit, uint64_t start, uint64_t end,
                                 const char *name, size_t name_size)
{
    const char *copy;
    if (end <= start || name_size == 0) {
        jit->bad++;
        return SONDE_OK;
    }
    if (jit->count == SONDE__JIT_CODES_MAX) {
        jit->lost++;
        return SONDE_OK;
    }
    copy = sonde__arena_copy_text(
        &jit->arena, name, name_size < SONDE__JIT_NAME_MAX ? name_size : SONDE__JIT_NAME_MAX);
    if (copy == NULL || !SONDE__MEM_ADD(jit->codes, jit->count, jit->capacity,
                                        (struct sonde__jit_code){start, end, copy})) {
        return SONDE_MEMORY;
    }
    return SONDE_OK;
}

/* --- later codes replace earlier ones --- */

struct sweep {
    struct sonde__jit *jit;
    uint32_t *sorted; /* codes by start */
    uint32_t *heap;   /* started codes, latest first; ended ones leave when at the top */
    size_t heap_count;
};

static void push(struct sweep *s, uint32_t code)
{
    size_t at = s->heap_count++;
    for (; at > 0 && s->heap[(at - 1) / 2] < code; at = (at - 1) / 2) {
        s->heap[at] = s->heap[(at - 1) / 2];
    }
    s->heap[at] = code;
}

static void pop(struct sweep *s)
{
    uint32_t last = s->heap[--s->heap_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= s->heap_count) {
            break;
        }
        child += child + 1 < s->heap_count && s->heap[child + 1] > s->heap[child];
        if (s->heap[child] <= last) {
            break;
        }
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = last;
}

static bool add_range(struct sonde__jit *jit, uint64_t start, uint64_t end, uint32_t code)
{
    struct sonde__jit_piece *last =
        jit->piece_count != 0 ? &jit->pieces[jit->piece_count - 1] : NULL;
    if (last != NULL && last->code == code && last->end == start) {
        last->end = end;
        return true;
    }
    return SONDE__MEM_ADD(jit->pieces, jit->piece_count, jit->piece_capacity,
                          (struct sonde__jit_piece){start, end, code});
}

/* Each step ends a code or reaches the next start, so there are at most two steps per code. */
static bool sweep(struct sweep *s)
{
    struct sonde__jit *jit = s->jit;
    uint64_t at = 0;
    size_t next = 0;
    while (next < jit->count || s->heap_count != 0) {
        if (s->heap_count == 0) {
            at = jit->codes[s->sorted[next]].start;
        }
        while (next < jit->count && jit->codes[s->sorted[next]].start <= at) {
            push(s, s->sorted[next++]);
        }
        while (s->heap_count != 0 && jit->codes[s->heap[0]].end <= at) {
            pop(s);
        }
        if (s->heap_count != 0) {
            uint64_t end = jit->codes[s->heap[0]].end;
            if (next < jit->count && jit->codes[s->sorted[next]].start < end) {
                end = jit->codes[s->sorted[next]].start;
            }
            if (!add_range(jit, at, end, s->heap[0])) {
                return false;
            }
            at = end;
        }
    }
    return true;
}

struct place {
    uint64_t start;
    uint32_t code;
};

static int by_start(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return SONDE__ORDER2(x, y, start, code);
}

static bool sort(struct sweep *s)
{
    struct sonde__jit *jit = s->jit;
    struct place *places = sonde__mem_alloc_array(jit->count, sizeof *places);
    if (places == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < jit->count; i++) {
        places[i] = (struct place){jit->codes[i].start, i};
    }
    qsort(places, jit->count, sizeof *places, by_start);
    for (uint32_t i = 0; i < jit->count; i++) {
        s->sorted[i] = places[i].code;
    }
    sonde__mem_free(places);
    return true;
}

enum sonde_status sonde__jit_settle(struct sonde__jit *jit)
{
    struct sweep s = {.jit = jit};
    bool ok = true;
    jit->piece_count = 0;
    if (jit->count != 0) {
        s.sorted = sonde__mem_alloc_array(jit->count, sizeof *s.sorted);
        s.heap = sonde__mem_alloc_array(jit->count, sizeof *s.heap);
        ok = s.sorted != NULL && s.heap != NULL && sort(&s) && sweep(&s);
    }
    sonde__mem_free(s.sorted);
    sonde__mem_free(s.heap);
    return ok ? SONDE_OK : SONDE_MEMORY;
}

bool sonde__jit_find(const struct sonde__jit *jit, uint64_t address,
                     struct sonde__jit_code *ret_code)
{
    /* the first that ends after it */
    size_t after = SONDE__SEARCH(0, jit->piece_count, i, jit->pieces[i].end <= address);
    if (after == jit->piece_count || jit->pieces[after].start > address) {
        return false;
    }
    *ret_code = jit->codes[jit->pieces[after].code];
    return true;
}
