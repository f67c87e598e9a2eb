// SPDX-License-Identifier: Apache-2.0
/* The fields of /proc/self/task/T/stat (proc(5)) that decide whether a thread may be signalled.
 * Its masks show signals 1 to 31, in decimal. */
#include "base_bytes.h"
#include "base_status.h"
#include "capture_thread.h"
#include "os.h"

enum { FIELD_FLAGS = 9, FIELD_PENDING = 31, FIELD_BLOCKED = 32, TEXT_CAPACITY = 1024 };

/* Linux, include/linux/sched.h */
enum { PF_IO_WORKER = 0x10, PF_USER_WORKER = 0x4000, PF_KTHREAD = 0x200000 };

bool sonde__capture_is_kernels(const struct sonde__capture_stat *stat)
{
    return (stat->flags & (PF_IO_WORKER | PF_USER_WORKER | PF_KTHREAD)) != 0;
}

/* Without SIGKILL and SIGSTOP (bits 8 and 18), which cannot be blocked. */
enum { ALL_SIGNALS = 0x7ffbfeff };

bool sonde__capture_blocks_all(const struct sonde__capture_stat *stat)
{
    return (stat->blocked & ALL_SIGNALS) == ALL_SIGNALS;
}

bool sonde__capture_parse_stat(const char *text, size_t size, struct sonde__capture_stat *ret_stat)
{
    struct sonde__capture_stat stat = {0};
    size_t at = size;
    unsigned field = 2; /* the name, in parentheses; it may hold anything: the last ')' ends it */
    while (at > 0 && text[at - 1] != ')') {
        at--;
    }
    if (at == 0) {
        return false;
    }
    while (at < size && field < FIELD_BLOCKED) {
        uint64_t value = 0;
        char first;
        if (text[at] != ' ') {
            return false;
        }
        at++;
        field++;
        first = at < size ? text[at] : ' ';
        for (; at < size && text[at] != ' ' && text[at] != '\n'; at++) {
            value = value * 10 + (uint64_t)(uint8_t)(text[at] - '0');
        }
        if (field == 3) {
            stat.letter = first;
        } else if (field == FIELD_FLAGS) {
            stat.flags = (uint32_t)value;
        } else if (field == FIELD_PENDING) {
            stat.pending = (uint32_t)value;
        } else if (field == FIELD_BLOCKED) {
            stat.blocked = (uint32_t)value;
        }
    }
    if (field < FIELD_BLOCKED) {
        return false;
    }
    *ret_stat = stat;
    return true;
}

enum sonde_status sonde__capture_read_stat_file(int32_t fd, struct sonde__capture_stat *ret_stat)
{
    char text[TEXT_CAPACITY];
    size_t size = 0;
    SONDE_TRY(sonde__os_pread(fd, text, sizeof text, 0, &size, NULL));
    return sonde__capture_parse_stat(text, size, ret_stat) ? SONDE_OK : SONDE_CORRUPT;
}

enum sonde_status sonde__capture_read_stat(uint64_t tid, struct sonde__capture_stat *ret_stat)
{
    int32_t fd;
    enum sonde_status status;
    SONDE_TRY(sonde__os_thread_open(0, tid, SONDE__OS_THREAD_STAT, &fd, NULL));
    status = sonde__capture_read_stat_file(fd, ret_stat);
    sonde__os_close(fd);
    return status;
}
