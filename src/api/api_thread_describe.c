// SPDX-License-Identifier: Apache-2.0
/* Names and states of threads, on a system that has them in text files. */
#include "api_thread.h"
#include "base_status.h"
#include "capture_thread.h"
#include "os.h"

enum sonde_status sonde__api_thread_name(uint64_t tid, char *name, size_t capacity)
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
    SONDE_TRY(sonde__api_thread_name(tid, thread.name, sizeof thread.name));
    SONDE_TRY(sonde__capture_read_stat(tid, &stat));
    thread.letter = stat.letter;
    thread.state = (uint8_t)sonde__target_thread_state(stat.letter);
    *ret_thread = thread;
    return SONDE_OK;
}
