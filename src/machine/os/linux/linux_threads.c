// SPDX-License-Identifier: Apache-2.0
/* Threads in /proc: the list, and the small files of each. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base_mem.h"
#include "base_text.h"
#include "linux_syscall.h"
#include "os.h"

enum { PATH_CAPACITY = 64, LIST_BUFFER = 2048, TEXT_CAPACITY = 256 };

int32_t sonde__os_pid(void)
{
    return (int32_t)linux_call(SYS_getpid, 0, 0, 0, 0);
}

uint64_t sonde__os_main_tid(void)
{
    return (uint64_t)sonde__os_pid();
}

uint64_t sonde__os_tid(void)
{
    return (uint64_t)linux_call(SYS_gettid, 0, 0, 0, 0);
}

static void write_task_path(struct sonde__text *path, char *buffer, int32_t pid)
{
    sonde__base_text_init(path, buffer, PATH_CAPACITY);
    sonde__base_text_str(path, "/proc/");
    if (pid == 0) {
        sonde__base_text_str(path, "self");
    } else {
        sonde__base_text_dec(path, (uint64_t)pid);
    }
    sonde__base_text_str(path, "/task");
}

/* struct linux_dirent64 of getdents64(2): u64 inode, s64 offset, u16 record length, u8 type, name.
 * The kernel's length is checked: a wrong one must not lead out of the buffer. */
static size_t take_entries(const uint8_t *entries, size_t size, uint64_t *tids, size_t capacity,
                           size_t total)
{
    size_t at = 0;
    while (size - at >= 20) {
        /* the kernel wrote it: NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
        size_t length = (size_t)(entries[at + 16] | entries[at + 17] << 8);
        uint32_t tid = 0;
        if (length < 20 || length > size - at) {
            break;
        }
        for (size_t i = 19; i < length && entries[at + i] >= '0' && entries[at + i] <= '9'; i++) {
            tid = tid * 10 + (entries[at + i] - '0');
        }
        if (tid != 0) {
            if (total < capacity) {
                tids[total] = (uint64_t)tid;
            }
            total++;
        }
        at += length;
    }
    return total;
}

enum sonde_status sonde__os_list_threads(int32_t pid, uint64_t *ret_tids, size_t capacity,
                                         size_t *ret_total, int32_t *ret_os_error)
{
    struct sonde__text path;
    char path_buffer[PATH_CAPACITY];
    _Alignas(8) uint8_t entries[LIST_BUFFER];
    size_t total = 0;
    long n;
    long fd;
    write_task_path(&path, path_buffer, pid);
    fd = linux_call(SYS_openat, AT_FDCWD, path_buffer, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (linux_failed(fd)) {
        return linux_status(fd, ret_os_error);
    }
    while ((n = linux_call(SYS_getdents64, fd, entries, sizeof entries, 0)) > 0) {
        total = take_entries(entries, (size_t)n, ret_tids, capacity, total);
    }
    sonde__os_close((int32_t)fd);
    if (linux_failed(n) && total == 0) {
        return linux_status(n, ret_os_error);
    }
    *ret_total = total;
    return SONDE_OK;
}

/* The link count of the task folder is the number of threads (Linux, fs/proc/base.c,
 * proc_task_getattr) plus the two of every folder. */
enum sonde_status sonde__os_count_threads(size_t *ret_count)
{
    struct stat about;
    long result = linux_call(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &about, 0);
    if (linux_failed(result)) {
        return linux_status(result, NULL);
    }
    /* the kernel wrote it: NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
    if (about.st_nlink < 3) {
        return SONDE_OS;
    }
    *ret_count = (size_t)about.st_nlink - 2;
    return SONDE_OK;
}

enum sonde_status sonde__os_thread_open(int32_t pid, uint64_t tid, enum sonde__os_thread_file file,
                                        int32_t *ret_fd, int32_t *ret_os_error)
{
    static const char names[][12] = {"/syscall", "/schedstat", "/stat", "/comm"};
    struct sonde__text path;
    char path_buffer[PATH_CAPACITY];
    write_task_path(&path, path_buffer, pid);
    sonde__base_text_char(&path, '/');
    sonde__base_text_dec(&path, (uint64_t)tid);
    sonde__base_text_str(&path, names[file]);
    return sonde__os_open(path_buffer, ret_fd, ret_os_error);
}

enum sonde_status sonde__os_read_wait(int32_t fd, struct sonde__os_wait *ret_wait,
                                      int32_t *ret_os_error)
{
    char text[TEXT_CAPACITY];
    size_t size = 0;
    enum sonde_status status = sonde__os_pread(fd, text, sizeof text, 0, &size, ret_os_error);
    if (status != SONDE_OK) {
        return status;
    }
    return sonde__os_parse_wait(text, size, ret_wait) ? SONDE_OK : SONDE_CORRUPT;
}

enum sonde_status sonde__os_read_schedstat(int32_t fd, struct sonde__os_schedstat *ret,
                                           int32_t *ret_os_error)
{
    char text[TEXT_CAPACITY];
    size_t size = 0;
    enum sonde_status status = sonde__os_pread(fd, text, sizeof text, 0, &size, ret_os_error);
    if (status != SONDE_OK) {
        return status;
    }
    return sonde__os_parse_schedstat(text, size, ret) ? SONDE_OK : SONDE_CORRUPT;
}
