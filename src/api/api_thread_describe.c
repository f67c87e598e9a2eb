// SPDX-License-Identifier: Apache-2.0
/* Names and states of threads, on a system that has them in text files. */
#include "api_thread.h"
#include "base_status.h"
#include "capture_thread.h"
#include "mem_heap.h"
#include "os.h"

enum sonde_status sonde__api_thread_refer_all(struct sonde__os_stop *ret_threads, size_t capacity,
                                              size_t *ret_total)
{
    uint64_t *tids = sonde__mem_alloc_array(capacity, sizeof *tids);
    if (tids == NULL) {
        return SONDE_MEMORY;
    }
    enum sonde_status status = sonde__os_list_threads(0, tids, capacity, ret_total, NULL);
    for (size_t i = 0; status == SONDE_OK && i < capacity && i < *ret_total; i++) {
        ret_threads[i] = (struct sonde__os_stop){.tid = tids[i]};
    }
    sonde__mem_free(tids);
    return status;
}

enum sonde_status sonde__api_thread_refer(uint64_t tid, struct sonde__os_stop *ret_thread)
{
    struct sonde__capture_stat stat;
    enum sonde_status status = tid > 0 ? sonde__capture_read_stat(tid, &stat) : SONDE_ABSENT;
    *ret_thread = (struct sonde__os_stop){.tid = tid};
    return status == SONDE_ABSENT ? SONDE_ABSENT : SONDE_OK;
}

void sonde__api_thread_release(const struct sonde__os_stop *thread)
{
    (void)thread; /* a number */
}

enum sonde_status sonde__api_thread_name(const struct sonde__os_stop *thread, char *name,
                                         size_t capacity)
{
    int32_t fd;
    size_t size = 0;
    enum sonde_status status;
    SONDE_TRY(sonde__os_thread_open(0, thread->tid, SONDE__OS_THREAD_COMM, &fd, NULL));
    status = sonde__os_pread(fd, name, capacity - 1, 0, &size, NULL);
    sonde__os_close(fd);
    if (status == SONDE_OK) {
        name[size > 0 && name[size - 1] == '\n' ? size - 1 : size] = '\0';
    }
    return status;
}

enum sonde_status sonde__api_thread_describe(const struct sonde__os_stop *of,
                                             struct sonde_thread *ret_thread)
{
    uint64_t tid = of->tid;
    struct sonde_thread thread = {
        .struct_bytes = sizeof thread, .tid = tid, .letter = '?', .state = SONDE_THREAD_UNKNOWN};
    struct sonde__capture_stat stat;
    thread.is_main = tid == sonde__os_main_tid();
    thread.is_self = tid == sonde__os_tid();
    SONDE_TRY(sonde__api_thread_name(of, thread.name, sizeof thread.name));
    SONDE_TRY(sonde__capture_read_stat(tid, &stat));
    thread.letter = stat.letter;
    thread.state = (uint8_t)sonde__target_thread_state(stat.letter);
    *ret_thread = thread;
    return SONDE_OK;
}
