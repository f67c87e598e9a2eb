// SPDX-License-Identifier: Apache-2.0
/* Searches writable memory for the classes of blocks.
 *
 * A block on the heap is an allocation of its own. So where the allocator lists its allocations,
 * only their beginnings are looked at. If a part of it does not, all memory is searched, and what
 * is inside of a listed allocation is none. Elsewhere all memory is searched.
 *
 * This process' memory is searched in place, in isolation (host_apart.h). If that is impossible, or
 * for another process, it is copied in pieces that fit the cache. Untouched pages are skipped,
 * because reading would allocate them in the target. Our own buffers with copies of results are
 * left out. */
#include <stdlib.h>
#include <string.h>

#include "base_status.h"
#include "blockheap_inside.h"
#include "host_apart.h"
#include "host_present.h"
#include "host_process.h"
#include "host_words.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "os.h"

enum {
    HITS_MAX = 1 << 14,    /* of one step */
    COPY_BYTES = 1 << 18,  /* in another process; the L2 cache has 1 MiB */
    STEP_BYTES = 1 << 26,  /* for this process: stops the thread for some ms */
    PIECE_WORDS = 1 << 14, /* 128 KiB, which fit the L2 cache */
    PAGE_BYTES = 4096,
    SPARSE_BYTES = 1 << 24, /* of larger maps only resident pages are read */
    NEAR_BYTES = 4096,      /* allocations that begin this near each other are copied at once */
    HEADER_BYTES = 32,      /* of a block */
    RANGES = 64,
    ITEMS_MAX = 1 << 26, /* blocks */
};

/* The result of a step, in its own mapping. */
struct hits {
    uint32_t at[HITS_MAX];         /* offset in words from the start of the step */
    uint64_t headers[HITS_MAX][4]; /* all read at once; zero beyond the end of the step */
    uint64_t copy[COPY_BYTES / 8];
};

struct step {
    const uint64_t *words;
    size_t count;
    const uint64_t *needles;
    unsigned needle_count;
    struct hits *hits;
    size_t hit_count, done;
};

struct scan {
    struct sonde__blockheap *heap;
    struct sonde__blockheap_found *found;
    struct hits *hits;
    uint64_t needles[BLOCKHEAP_CLASSES_MAX];
    unsigned needle_count;
    int32_t mem_fd, page_fd; /* -1: not available */
    uint64_t page_bytes;
    bool is_live;
    bool apart; /* this process' memory can be searched in place */
    bool no_memory;
    uint64_t own_begin, own_end; /* our own memory, left out */
    uint64_t bytes_max;
};

/* Read the headers of the hits from index `from` on; the words begin at `at`. */
__attribute__((no_sanitize_address, no_sanitize_thread)) static void
take_headers(struct step *step, size_t from, size_t at)
{
    for (size_t i = from; i < step->hit_count; i++) {
        size_t word = at + step->hits->at[i];
        step->hits->at[i] = (uint32_t)word;
        for (size_t w = 0; w < 4; w++) {
            step->hits->headers[i][w] = word + w < step->count ? step->words[word + w] : 0;
        }
    }
}

/* Runs isolated: no lock, no heap, no libc. Headers are read while their words are in the L2
 * cache. */
__attribute__((no_sanitize_address, no_sanitize_thread)) static void take_step(void *ctx)
{
    struct step *step = ctx;
    size_t at = 0;
    step->hit_count = 0;
    while (at < step->count) {
        size_t left = step->count - at, count = left < PIECE_WORDS ? left : PIECE_WORDS, done;
        size_t before = step->hit_count;
        step->hit_count += sonde__host_words_find(
            SONDE__HOST_WORDS_BEST, step->words + at, count, step->needles, step->needle_count,
            step->hits->at + before, HITS_MAX - before, &done);
        take_headers(step, before, at);
        at += done;
        if (done < count) { /* full */
            break;
        }
    }
    step->done = at;
}

static void add_item(struct scan *scan, const struct sonde__blockheap_item *item)
{
    struct sonde__blockheap_found *found = scan->found;
    if (found->count >= ITEMS_MAX ||
        !SONDE__MEM_ADD(found->items, found->count, found->capacity, *item)) {
        scan->no_memory = true;
        return;
    }
}

/* Is it in the midst of an allocation? */
static bool is_inside(const struct scan *scan, uint64_t address)
{
    const struct sonde__target_range *listed = blockheap_listed(scan->heap, address);
    return listed != NULL && listed->start != address;
}

/* Check the hits of a step of `count` words at `begin` in the target. */
static void check_hits(struct scan *scan, const struct step *step, uint64_t begin)
{
    for (size_t i = 0; i < step->hit_count && !scan->no_memory; i++) {
        struct sonde__blockheap_item item;
        uint64_t address = begin + (uint64_t)step->hits->at[i] * 8;
        bool whole = step->hits->at[i] + 4 <= step->count;
        scan->found->hits++;
        if (!is_inside(scan, address) &&
            (whole
                 ? sonde__blockheap_check_header(scan->heap, address, step->hits->headers[i], &item)
                 : sonde__blockheap_check(scan->heap, address, &item))) {
            add_item(scan, &item);
        } else {
            scan->found->stale++;
        }
    }
}

/* Search a local copy of the target's words at `begin`, for up to four classes at a time. */
static bool search_words(struct scan *scan, const uint64_t *words, size_t count, uint64_t begin,
                         bool apart, uint64_t *ret_fault)
{
    for (unsigned n = 0; n < scan->needle_count; n += SONDE__HOST_NEEDLES_MAX) {
        unsigned left = scan->needle_count - n;
        for (size_t at = 0; at < count && !scan->no_memory;) {
            struct step step = {.words = words + at,
                                .count = count - at,
                                .needles = scan->needles + n,
                                .needle_count =
                                    left < SONDE__HOST_NEEDLES_MAX ? left : SONDE__HOST_NEEDLES_MAX,
                                .hits = scan->hits};
            if (!apart) {
                take_step(&step);
            } else if (sonde__host_apart(take_step, &step, ret_fault) != SONDE_OK) {
                return false;
            }
            check_hits(scan, &step, begin + at * 8);
            at += step.done;
        }
    }
    return true;
}

/* process_vm_readv copies once; /proc/PID/mem copies twice, but can read pages that the call
 * cannot. */
static size_t copy_target(struct scan *scan, uint64_t begin, size_t size)
{
    size_t done = sonde__target_read(scan->heap->target, begin, scan->hits->copy, size);
    if (done < 8 && scan->mem_fd >= 0 &&
        sonde__os_pread(scan->mem_fd, scan->hits->copy, size, begin, &done, NULL) != SONDE_OK) {
        return 0;
    }
    return done & ~(size_t)7;
}

static void search_copied(struct scan *scan, uint64_t begin, uint64_t end)
{
    while (begin < end && !scan->no_memory) {
        size_t size = end - begin < COPY_BYTES ? (size_t)(end - begin) : COPY_BYTES;
        size_t got = copy_target(scan, begin, size);
        if (got == 0) { /* unmapped: continue after the page */
            uint64_t next = (begin / PAGE_BYTES + 1) * PAGE_BYTES;
            scan->found->unreadable += (next < end ? next : end) - begin;
            begin = next;
            continue;
        }
        scan->found->bytes += got;
        (void)search_words(scan, scan->hits->copy, got / 8, begin, false, NULL);
        begin += got;
    }
}

static void search_in_place(struct scan *scan, uint64_t begin, uint64_t end)
{
    while (begin < end && !scan->no_memory) {
        uint64_t stop = end - begin < STEP_BYTES ? end : begin + STEP_BYTES, fault = 0;
        const struct sonde__blockheap_found before = *scan->found;
        const uint64_t *words = (const uint64_t *)(uintptr_t)begin;
        while (stop > begin &&
               !search_words(scan, words, (size_t)(stop - begin) / 8, begin, true, &fault)) {
            scan->found->count = before.count; /* repeat, up to the unmapped page */
            scan->found->hits = before.hits;
            scan->found->stale = before.stale;
            if (fault < begin || fault >= stop) { /* the step could not be run */
                scan->apart = false;
                search_copied(scan, begin, end);
                return;
            }
            stop = fault & ~(uint64_t)(PAGE_BYTES - 1);
        }
        scan->found->bytes += stop - begin;
        begin = stop;
        if (fault != 0) {
            scan->found->unreadable += PAGE_BYTES;
            begin += PAGE_BYTES;
        }
    }
}

/* Search [begin, end) in order, without our own memory. */
static void search_part(struct scan *scan, uint64_t begin, uint64_t end)
{
    if (scan->heap->is_self && begin < scan->own_end && end > scan->own_begin) {
        if (begin < scan->own_begin) {
            search_part(scan, begin, scan->own_begin);
        }
        if (end > scan->own_end) {
            search_part(scan, scan->own_end, end);
        }
        return;
    }
    if (scan->found->bytes >= scan->bytes_max) {
        scan->found->left_out += end - begin;
    } else if (scan->apart) {
        search_in_place(scan, begin, end);
    } else {
        search_copied(scan, begin, end);
    }
}

/* Large maps are often mostly unused, so only resident pages are read. */
static void search_sparse(struct scan *scan, uint64_t begin, uint64_t end)
{
    struct sonde__host_range ranges[RANGES];
    while (begin < end && !scan->no_memory) {
        uint64_t next = end;
        size_t count = sonde__host_present(scan->page_fd, begin, end, ranges, RANGES, &next,
                                           &scan->found->left_out);
        for (size_t i = 0; i < count; i++) {
            search_part(scan, ranges[i].start, ranges[i].end);
        }
        begin = next;
    }
}

/* A core contains all memory that it lists. */
static void search_memory(struct scan *scan, const struct sonde__target_memory *memory)
{
    for (uint32_t i = 0; i < memory->count && !scan->no_memory; i++) {
        const struct sonde__target_range *range = &memory->ranges[i];
        if (scan->is_live && range->end - range->start >= SPARSE_BYTES) {
            search_sparse(scan, range->start, range->end);
        } else {
            search_part(scan, range->start, range->end);
        }
    }
}

/* --- allocations --- */

static bool is_needle(const struct scan *scan, uint64_t word)
{
    for (unsigned i = 0; i < scan->needle_count; i++) {
        if (scan->needles[i] == word) {
            return true;
        }
    }
    return false;
}

static void check_allocation(struct scan *scan, const struct sonde__target_range *range,
                             const uint64_t header[4])
{
    struct sonde__blockheap_item item;
    if (!is_needle(scan, header[0])) {
        return;
    }
    scan->found->hits++;
    if (sonde__blockheap_check_header(scan->heap, range->start, header, &item) &&
        item.size <= range->end - range->start) {
        add_item(scan, &item);
    } else {
        scan->found->stale++;
    }
}

/* The number of allocations, from the first one on, that are copied at once. */
static size_t count_near(const struct sonde__target_range *ranges, size_t left)
{
    size_t count = 1;
    while (count < left && ranges[count].start - ranges[count - 1].start <= NEAR_BYTES &&
           ranges[count].start - ranges[0].start <= COPY_BYTES - HEADER_BYTES) {
        count++;
    }
    return count;
}

/* Returns how many of the allocations were there. */
static size_t search_near(struct scan *scan, const struct sonde__target_range *ranges, size_t count)
{
    const struct sonde__target_range *last = &ranges[count - 1];
    uint64_t of_last = last->end - last->start;
    size_t size =
        (size_t)(last->start - ranges[0].start + (of_last < HEADER_BYTES ? 8 : HEADER_BYTES));
    size_t got = copy_target(scan, ranges[0].start, size);
    for (size_t i = 0; i < count && !scan->no_memory; i++) {
        size_t at = (size_t)(ranges[i].start - ranges[0].start);
        bool is_large = ranges[i].end - ranges[i].start >= HEADER_BYTES;
        if (at + (is_large ? HEADER_BYTES : 0) > got) {
            return i;
        }
        scan->found->bytes += ranges[i].end - ranges[i].start;
        if (is_large) {
            check_allocation(scan, &ranges[i], scan->hits->copy + at / 8);
        }
    }
    return count;
}

/* What is not there any more was freed meanwhile. */
static void search_allocations(struct scan *scan)
{
    const struct sonde__target_allocations *listed = &scan->heap->listed;
    for (size_t i = 0; i < listed->count && !scan->no_memory;) {
        size_t count = count_near(listed->ranges + i, listed->count - i);
        size_t done = search_near(scan, listed->ranges + i, count);
        if (done < count) {
            scan->found->unreadable +=
                listed->ranges[i + done].end - listed->ranges[i + done].start;
        }
        i += done < count ? done + 1 : count;
    }
}

static void choose_needles(struct scan *scan)
{
    const struct sonde__blockheap *heap = scan->heap;
    for (uint32_t i = 0; i < heap->class_count; i++) {
        if (heap->classes[i].kind == SONDE__BLOCK_CLASS_STACK ||
            heap->classes[i].kind == SONDE__BLOCK_CLASS_MALLOC) {
            scan->needles[scan->needle_count++] = heap->classes[i].address;
        }
    }
}

static int by_address(const void *a, const void *b)
{
    const struct sonde__blockheap_item *x = a, *y = b;
    return SONDE__ORDER(x, y, address);
}

/* Items are unsorted only after several passes over the same memory; sorting sorted items would
 * also cost time. */
static void sort_items(struct sonde__blockheap_found *found)
{
    for (size_t i = 1; i < found->count; i++) {
        if (by_address(&found->items[i - 1], &found->items[i]) > 0) {
            qsort(found->items, found->count, sizeof *found->items, by_address);
            return;
        }
    }
}

/* Before anything of this search is allocated: the allocator may not be usable. */
static enum sonde_status list_allocations(struct sonde__blockheap *heap,
                                          struct sonde__blockheap_found *ret_found,
                                          struct sonde_error *ret_error)
{
    struct sonde__target_allocations *listed = &heap->listed;
    sonde__target_allocations_done(listed);
    SONDE_TRY(sonde__target_allocations(heap->target, listed, ret_error));
    ret_found->allocations = listed->count;
    ret_found->zones = listed->zones;
    ret_found->unlisted = listed->unlisted;
    memcpy(ret_found->note, listed->note, sizeof ret_found->note);
    return SONDE_OK;
}

static bool open_scan(struct scan *scan)
{
    struct sonde__blockheap *heap = scan->heap;
    scan->hits = sonde__os_map(sizeof *scan->hits);
    if (scan->hits == NULL) {
        return false;
    }
    scan->own_begin = (uint64_t)(uintptr_t)scan->hits;
    scan->own_end = scan->own_begin + (sizeof *scan->hits + scan->page_bytes - 1) /
                                          scan->page_bytes * scan->page_bytes;
    scan->mem_fd = !scan->is_live || heap->is_self ? -1 : sonde__host_memory_open(heap->pid);
    scan->page_fd = scan->is_live ? sonde__host_present_open(heap->pid) : -1;
    choose_needles(scan);
    return true;
}

static void close_scan(struct scan *scan)
{
    if (scan->mem_fd >= 0) {
        sonde__os_close(scan->mem_fd);
    }
    if (scan->page_fd >= 0) {
        sonde__os_close(scan->page_fd);
    }
    sonde__os_unmap(scan->hits, sizeof *scan->hits);
}

enum sonde_status sonde__blockheap_scan(struct sonde__blockheap *heap, uint64_t bytes_max,
                                        struct sonde__blockheap_found *ret_found,
                                        struct sonde_error *ret_error)
{
    struct scan scan = {.heap = heap,
                        .found = ret_found,
                        .is_live = sonde__target_is_live(heap->target),
                        .apart = heap->is_self,
                        .page_bytes = sonde__os_page_size(),
                        .bytes_max = bytes_max != 0 ? bytes_max : SONDE__BLOCKHEAP_BYTES_MAX};
    struct sonde__target_memory memory;
    *ret_found = (struct sonde__blockheap_found){.count = 0};
    SONDE_TRY(list_allocations(heap, ret_found, ret_error));
    SONDE_TRY(sonde__target_own_memory(heap->target, &memory, ret_error));
    ret_found->unreadable = memory.missing;
    if (!open_scan(&scan)) {
        sonde__target_memory_done(&memory);
        return sonde__base_fail(ret_error, SONDE_MEMORY, "search for blocks", NULL, 0, 0);
    }
    if (ret_found->zones > 0 && ret_found->unlisted == 0) {
        search_allocations(&scan);
    } else {
        search_memory(&scan, &memory);
    }
    sonde__target_memory_done(&memory);
    close_scan(&scan);
    ret_found->in_place = scan.apart;
    sort_items(ret_found);
    if (scan.no_memory) {
        sonde__blockheap_found_done(ret_found);
        return sonde__base_fail(ret_error, SONDE_MEMORY, "blocks that were found", NULL, 0, 0);
    }
    return SONDE_OK;
}

void sonde__blockheap_found_done(struct sonde__blockheap_found *found)
{
    sonde__mem_free(found->items);
    *found = (struct sonde__blockheap_found){0};
}
