// SPDX-License-Identifier: Apache-2.0
/* Lists threads with their names. */
#include <stdlib.h>

#include "api_thread.h"
#include "base_mem.h"
#include "base_sized.h"
#include "base_status.h"
#include "capture_thread.h"
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

static enum sonde_status read_name(uint64_t tid, char *name, size_t capacity)
{
    int32_t fd;
    size_t size = 0;
    enum sonde_status status;
    SONDE_TRY(sonde__os_thread_open(0, tid, SONDE__OS_THREAD_COMM, &fd, NULL));
    status = sonde__os_pread(fd, name, capacity - 1, 0, &size, NULL);
    sonde__os_close(fd);
    if (status == SONDE_OK) {
        name[size > 0 && name[size - 1] == '\n' ? size - 1 : size] = '\0';
    }
    return status;
}

enum sonde_status sonde__api_thread_describe(uint64_t tid, struct sonde_thread *ret_thread)
{
    struct sonde_thread thread = {
        .struct_bytes = sizeof thread, .tid = tid, .letter = '?', .state = SONDE_THREAD_UNKNOWN};
    struct sonde__capture_stat stat;
    thread.is_main = tid == sonde__os_main_tid();
    thread.is_self = tid == sonde__os_tid();
    SONDE_TRY(read_name(tid, thread.name, sizeof thread.name));
    SONDE_TRY(sonde__capture_read_stat(tid, &stat));
    thread.letter = stat.letter;
    thread.state = (uint8_t)sonde__target_thread_state(stat.letter);
    *ret_thread = thread;
    return SONDE_OK;
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
        if (read_name(tids[i], text, sizeof text) == SONDE_OK &&
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
