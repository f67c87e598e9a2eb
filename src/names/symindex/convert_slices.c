// SPDX-License-Identifier: Apache-2.0
/* Reads units with several threads. The result does not depend on their number.
 *
 * The units are cut into slices of adjacent units. A thread takes the next slice and reads it into
 * a state of its own. The states are then appended in slice order: strings, files and scopes get
 * the numbers that one thread would have assigned, because those follow first use. Slices depend on
 * each other only through the work budget and through a split unit that two skeletons claim. If
 * either matters (malformed input), one thread reads everything again.
 *
 * There are more slices than threads, because units differ in size. The first slice is read
 * directly into the final state. */
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "convert.h"
#include "mem_heap.h"

/* Starting a thread takes some 50 us, as long as reading 32 KiB. */
#define SLICE_BYTES_MIN ((uint64_t)32 << 10)
/* Cost of a unit without its DIEs: its tables, or its split file. */
#define UNIT_BYTES      8192u
#define SLICES_A_THREAD 4u
#define THREADS_MAX     64u
/* Largest frames: a path, and the open ranges (convert_files.c, convert_flatten.c). */
#define STACK_BYTES ((size_t)1 << 20)

/* --- cutting --- */

static struct convert *slice_at(struct convert *c, size_t i)
{
    return i == 0 ? c : &c->slices[i - 1];
}

/* Cost of all units before this one, in bytes. */
static uint64_t cost_before(const struct convert *c, size_t unit)
{
    uint64_t bytes = (uint64_t)(c->sections->info.end - c->sections->info.begin);
    return (uint64_t)unit * UNIT_BYTES +
           (unit < c->main.unit_count ? c->main.unit_offsets[unit] : bytes);
}

static size_t wanted_slices(const struct convert *c)
{
    uint64_t most = cost_before(c, c->main.unit_count) / SLICE_BYTES_MIN;
    uint64_t wanted = (uint64_t)c->threads * SLICES_A_THREAD;
    wanted = wanted < most ? wanted : most;
    return wanted < c->main.unit_count ? (size_t)wanted : c->main.unit_count;
}

/* Slices of about the same cost; some may be empty. */
static void cut(struct convert *c, size_t count)
{
    uint64_t cost = cost_before(c, c->main.unit_count);
    size_t unit = 0;
    for (size_t i = 0; i < count; i++) {
        struct convert *slice = slice_at(c, i);
        uint64_t limit = cost / count * (i + 1);
        if (i > 0) {
            *slice = (struct convert){.source = c->source,
                                      .sections = c->sections,
                                      .base = c->base,
                                      .size = c->size,
                                      .work_left = c->work_left,
                                      .main = c->main,
                                      .supplementary = c->supplementary,
                                      .is_slice = true,
                                      .shared = c->shared};
        }
        slice->unit_first = unit;
        while (unit < c->main.unit_count && (i + 1 == count || cost_before(c, unit) < limit)) {
            unit++;
        }
        slice->unit_last = unit;
    }
}

/* --- reading --- */

static void read_slice(struct convert *c, size_t i, bool quiet)
{
    struct convert *slice = slice_at(c, i);
    slice->quiet = quiet;
    if (i == 0 || convert_begin(slice)) {
        convert_units(slice);
    }
    if (slice->status != SONDE_OK) {
        atomic_store_explicit(&c->shared->stop, true, memory_order_relaxed);
    }
}

/* Read slices until none is left. The first one belongs to the caller's thread. */
static void read_slices(struct convert *c, bool quiet)
{
    for (;;) {
        size_t i = 1 + atomic_fetch_add_explicit(&c->shared->taken, 1, memory_order_relaxed);
        if (i > c->slice_count) {
            return;
        }
        read_slice(c, i, quiet);
    }
}

static void *work(void *whole)
{
    read_slices(whole, true);
    return NULL;
}

/* If a thread cannot be created, the others read its slices. */
static void run_threads(struct convert *c, unsigned wanted)
{
    pthread_t threads[THREADS_MAX];
    pthread_attr_t attr;
    sigset_t all, before;
    unsigned count = 0;
    sigfillset(&all); /* signals are for the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_attr_init(&attr) == 0) {
        (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
        while (count + 1 < wanted && pthread_create(&threads[count], &attr, work, c) == 0) {
            count++;
        }
        pthread_attr_destroy(&attr);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    read_slice(c, 0, false);
    read_slices(c, false);
    for (unsigned i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* --- merging --- */

/* Maps ids of a slice to final ids. */
struct ids {
    uint32_t *strings, *files;
};

static bool translate(struct convert *c, const struct convert *slice, struct ids *ids)
{
    ids->strings = sonde__mem_alloc_zeroed((slice->strings.count + 1) * sizeof *ids->strings);
    ids->files = sonde__mem_alloc_zeroed(slice->file_count * sizeof *ids->files);
    if (ids->strings == NULL || ids->files == NULL) {
        c->status = SONDE_MEMORY;
        return false;
    }
    for (size_t i = 1; i < slice->strings.count; i++) {
        const struct string *s = &slice->strings.all[i];
        ids->strings[i] = convert_string(c, s->text, s->size);
    }
    for (size_t i = 1; i < slice->file_count; i++) {
        const struct file *f = &slice->files[i];
        ids->files[i] = convert_file_of(c, ids->strings[f->directory], ids->strings[f->base]);
    }
    return c->status == SONDE_OK;
}

static bool add_room(struct convert *c, const struct convert *slice)
{
    if (c->scope_count + slice->scope_count >= CONVERT_NONE ||
        c->piece_count + slice->piece_count >= CONVERT_NONE ||
        c->chunk_count + slice->chunk_count >= CONVERT_NONE ||
        c->bad_unit_count + slice->bad_unit_count >= CONVERT_NONE) {
        c->status = SONDE_LIMIT;
        return false;
    }
    return convert_reserve_more(c, &c->scopes, c->scope_count + slice->scope_count,
                                &c->scope_capacity, sizeof *c->scopes) &&
           convert_reserve_more(c, &c->pieces, c->piece_count + slice->piece_count,
                                &c->piece_capacity, sizeof *c->pieces) &&
           convert_reserve_more(c, &c->chunks, c->chunk_count + slice->chunk_count,
                                &c->chunk_capacity, sizeof *c->chunks) &&
           convert_reserve_more(c, &c->bad_units, c->bad_unit_count + slice->bad_unit_count,
                                &c->bad_unit_capacity, sizeof *c->bad_units);
}

static uint32_t moved(uint32_t scope, size_t by)
{
    return scope != CONVERT_NONE ? scope + (uint32_t)by : CONVERT_NONE;
}

static void append(struct convert *c, const struct convert *slice, const struct ids *ids)
{
    size_t scopes = c->scope_count;
    size_t pieces = c->piece_count;
    for (size_t i = 0; i < slice->scope_count; i++) {
        struct scope s = slice->scopes[i];
        s.name = ids->strings[s.name];
        s.parent = moved(s.parent, scopes);
        s.call_file = ids->files[s.call_file];
        c->scopes[c->scope_count++] = s;
    }
    for (size_t i = 0; i < slice->piece_count; i++) {
        struct piece p = slice->pieces[i];
        p.scope = moved(p.scope, scopes);
        p.file = ids->files[p.file];
        c->pieces[c->piece_count++] = p;
    }
    for (size_t i = 0; i < slice->chunk_count; i++) {
        struct chunk chunk = slice->chunks[i];
        chunk.first += pieces;
        c->chunks[c->chunk_count++] = chunk;
    }
    for (size_t i = 0; i < slice->bad_unit_count; i++) {
        struct bad_unit bad = slice->bad_units[i];
        bad.name = ids->strings[bad.name];
        bad.what = ids->strings[bad.what];
        c->bad_units[c->bad_unit_count++] = bad;
    }
}

/* Free a slice except its arena, which holds its strings. */
static void drop(struct convert *slice)
{
    struct sonde__arena arena = slice->arena;
    sonde__arena_init(&slice->arena);
    convert_done(slice);
    *slice = (struct convert){.is_slice = true, .arena = arena};
}

/* Would a single thread have had enough work left for this slice? Every slice started with the
 * whole budget. */
static bool had_work(struct convert *c, const struct convert *slice, uint64_t first)
{
    uint64_t needed = first - slice->work_least;
    if (slice->out_of_work || (slice->work_least < first && needed > c->work_left)) {
        return false;
    }
    c->work_left = c->work_left - first + slice->work_left;
    return true;
}

static void put_together(struct convert *c, uint64_t first_work)
{
    c->again = c->shared->split_twice || c->out_of_work;
    for (size_t i = 1; i <= c->slice_count && c->status == SONDE_OK && !c->again; i++) {
        struct convert *slice = slice_at(c, i);
        struct ids ids = {NULL, NULL};
        c->status = slice->status;
        c->again = !had_work(c, slice, first_work);
        if (c->status == SONDE_OK && !c->again && translate(c, slice, &ids) && add_room(c, slice)) {
            append(c, slice, &ids);
            convert_sites_append(c, &slice->sites, ids.strings);
        }
        sonde__mem_free(ids.strings);
        sonde__mem_free(ids.files);
        drop(slice);
    }
    c->again = c->again && c->status == SONDE_OK;
}

void convert_slices(struct convert *c)
{
    struct convert_shared shared = {0};
    unsigned threads = c->threads < THREADS_MAX ? c->threads : THREADS_MAX;
    size_t count = threads > 1 ? wanted_slices(c) : 0;
    uint64_t work = c->work_left;
    c->slices = count > 1 ? sonde__mem_alloc_zeroed((count - 1) * sizeof *c->slices) : NULL;
    if (c->slices == NULL) { /* also if there is no memory for slices */
        convert_units(c);
        return;
    }
    c->slice_count = count - 1;
    c->shared = &shared;
    pthread_mutex_init(&shared.split_lock, NULL);
    cut(c, count);
    run_threads(c, threads < count ? threads : (unsigned)count);
    put_together(c, work);
    c->shared = NULL;
    pthread_mutex_destroy(&shared.split_lock);
    sonde__mem_free(shared.split_ids.entries);
}
