// SPDX-License-Identifier: Apache-2.0
/* Lists threads with their names. */
#include <stdlib.h>

#include "api_thread.h"
#include "base_mem.h"
#include "base_sized.h"
#include "base_status.h"
#include "host_self.h"
#include "mem_heap.h"
#include "os.h"
#include "target_self.h"

/* Room for threads that start while the list is read. */
enum { SPARE = 16, FIRST_GUESS = 64 };

static int compare_tids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort_tids(uint64_t *tids, size_t count, uint64_t first)
{
    qsort(tids, count, sizeof *tids, compare_tids);
    for (size_t i = 0; i < count; i++) {
        if (tids[i] == first) {
            sonde__base_mem_move(tids + 1, tids, i * sizeof *tids);
            tids[0] = first;
            break;
        }
    }
}

enum sonde_status sonde__api_thread_tids(uint64_t **ret_tids, size_t *ret_count)
{
    size_t capacity = FIRST_GUESS;
    for (;;) {
        uint64_t *tids = sonde__mem_alloc_array(capacity, sizeof *tids);
        size_t total;
        enum sonde_status status;
        if (tids == NULL) {
            return SONDE_MEMORY;
        }
        status = sonde__os_list_threads(0, tids, capacity, &total, NULL);
        if (status == SONDE_OK && total <= capacity) {
            sort_tids(tids, total, sonde__os_main_tid());
            *ret_tids = tids;
            *ret_count = total;
            return SONDE_OK;
        }
        sonde__mem_free(tids);
        if (status != SONDE_OK) {
            return SONDE_UNREADABLE;
        }
        capacity = total + SPARE;
    }
}

enum sonde_status sonde_threads_list(struct sonde_thread *threads, uint32_t capacity,
                                     uint32_t *ret_count)
{
    uint64_t *tids;
    size_t count;
    uint32_t total = 0;
    if (ret_count == NULL || (capacity > 0 && !sonde__base_sized_is_set(threads))) {
        return SONDE_USAGE;
    }
    SONDE_TRY(sonde__api_thread_tids(&tids, &count));
    for (size_t i = 0; i < count; i++) {
        struct sonde_thread thread;
        if (sonde__api_thread_describe(tids[i], &thread) != SONDE_OK) {
            continue; /* it has ended */
        }
        if (total < capacity) {
            sonde__base_sized_give_at(threads, total, &thread, sizeof thread);
        }
        total++;
    }
    sonde__mem_free(tids);
    *ret_count = total;
    return total <= capacity ? SONDE_OK : SONDE_LIMIT;
}

enum sonde_status sonde_thread_find_name(const char *name, uint64_t *ret_tid)
{
    uint64_t *tids;
    size_t count;
    uint64_t found = 0;
    enum sonde_status status = SONDE_ABSENT;
    if (name == NULL || ret_tid == NULL) {
        return SONDE_USAGE;
    }
    SONDE_TRY(sonde__api_thread_tids(&tids, &count));
    for (size_t i = 0; i < count && status != SONDE_AMBIGUOUS; i++) {
        char text[32];
        if (sonde__api_thread_name(tids[i], text, sizeof text) == SONDE_OK &&
            sonde__base_str_compare(text, name) == 0) {
            status = status == SONDE_ABSENT ? SONDE_OK : SONDE_AMBIGUOUS;
            found = tids[i];
        }
    }
    sonde__mem_free(tids);
    if (status == SONDE_OK) {
        *ret_tid = found;
    }
    return status;
}

enum sonde_status sonde_thread_find_pthread(pthread_t thread, uint64_t *ret_tid)
{
    struct sonde_thread described;
    uint64_t tid;
    if (ret_tid == NULL) {
        return SONDE_USAGE;
    }
    SONDE_TRY(sonde__host_thread_number(thread, &tid));
    if (sonde__api_thread_describe(tid, &described) == SONDE_ABSENT) {
        return SONDE_ABSENT;
    }
    *ret_tid = tid;
    return SONDE_OK;
}
