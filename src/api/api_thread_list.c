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
#include "os_stop.h"

/* Room for threads that start while the list is read. */
enum { SPARE = 16, FIRST_GUESS = 64 };

/* The main thread comes first. */
static int compare_threads(const void *a, const void *b)
{
    uint64_t x = ((const struct sonde__os_stop *)a)->tid, main = sonde__os_main_tid();
    uint64_t y = ((const struct sonde__os_stop *)b)->tid;
    return x == y ? 0 : x == main || (y != main && x < y) ? -1 : 1;
}

enum sonde_status sonde__api_threads_open(struct sonde__os_stop **ret_threads, size_t *ret_count)
{
    size_t capacity = FIRST_GUESS;
    for (;;) {
        struct sonde__os_stop *threads = sonde__mem_alloc_array(capacity, sizeof *threads);
        size_t total = 0;
        if (threads == NULL) {
            return SONDE_MEMORY;
        }
        enum sonde_status status = sonde__api_thread_refer_all(threads, capacity, &total);
        if (status == SONDE_OK && total <= capacity) {
            qsort(threads, total, sizeof *threads, compare_threads);
            *ret_threads = threads;
            *ret_count = total;
            return SONDE_OK;
        }
        sonde__api_threads_close(threads, status == SONDE_OK ? capacity : 0);
        if (status != SONDE_OK) {
            return status == SONDE_MEMORY ? SONDE_MEMORY : SONDE_UNREADABLE;
        }
        capacity = total + SPARE;
    }
}

void sonde__api_threads_close(struct sonde__os_stop *threads, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sonde__api_thread_release(&threads[i]);
    }
    sonde__mem_free(threads);
}

enum sonde_status sonde_threads_list(struct sonde_thread *threads, uint32_t capacity,
                                     uint32_t *ret_count)
{
    struct sonde__os_stop *all;
    size_t count;
    uint32_t total = 0;
    if (ret_count == NULL || (capacity > 0 && !sonde__base_sized_is_set(threads))) {
        return SONDE_USAGE;
    }
    SONDE_TRY(sonde__api_threads_open(&all, &count));
    for (size_t i = 0; i < count; i++) {
        struct sonde_thread thread;
        if (sonde__api_thread_describe(&all[i], &thread) != SONDE_OK) {
            continue; /* it has ended */
        }
        if (total < capacity) {
            sonde__base_sized_give_at(threads, total, &thread, sizeof thread);
        }
        total++;
    }
    sonde__api_threads_close(all, count);
    *ret_count = total;
    return total <= capacity ? SONDE_OK : SONDE_LIMIT;
}

enum sonde_status sonde_thread_find_name(const char *name, uint64_t *ret_tid)
{
    struct sonde__os_stop *all;
    size_t count;
    uint64_t found = 0;
    enum sonde_status status = SONDE_ABSENT;
    if (name == NULL || ret_tid == NULL) {
        return SONDE_USAGE;
    }
    SONDE_TRY(sonde__api_threads_open(&all, &count));
    for (size_t i = 0; i < count && status != SONDE_AMBIGUOUS; i++) {
        char text[32];
        if (sonde__api_thread_name(&all[i], text, sizeof text) == SONDE_OK &&
            sonde__base_str_compare(text, name) == 0) {
            status = status == SONDE_ABSENT ? SONDE_OK : SONDE_AMBIGUOUS;
            found = all[i].tid;
        }
    }
    sonde__api_threads_close(all, count);
    if (status == SONDE_OK) {
        *ret_tid = found;
    }
    return status;
}

enum sonde_status sonde_thread_find_pthread(pthread_t thread, uint64_t *ret_tid)
{
    struct sonde__os_stop found;
    uint64_t tid;
    if (ret_tid == NULL) {
        return SONDE_USAGE;
    }
    SONDE_TRY(sonde__host_thread_number(thread, &tid));
    if (sonde__api_thread_refer(tid, &found) == SONDE_ABSENT) {
        return SONDE_ABSENT;
    }
    sonde__api_thread_release(&found);
    *ret_tid = tid;
    return SONDE_OK;
}
