// SPDX-License-Identifier: Apache-2.0
/* The primitives of files that are written, and of other processes. All return 0 or a result, or an
 * error's number, negative. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

#define RESULT(call)                                                                               \
    do {                                                                                           \
        int64_t result = (call);                                                                   \
        return result >= 0 ? result : -errno;                                                      \
    } while (0)

static int64_t host_open_at(int32_t folder, const char *path, uint32_t how, uint32_t mode)
{
    static const int flags[] = {O_RDWR,     O_CREAT,     O_EXCL,  O_TRUNC,
                                O_NOFOLLOW, O_DIRECTORY, O_APPEND};
    int all = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
        all |= (how >> i & 1) != 0 ? flags[i] : 0;
    }
    RESULT(openat(folder, path, all, mode));
}

static int64_t host_make_folder(const char *path, uint32_t mode)
{
    RESULT(mkdir(path, mode));
}

static int64_t host_stat_at(int32_t folder, const char *path, struct host_status *ret_status)
{
    int fd = openat(folder, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    int32_t result = host_stat(fd, ret_status);
    close(fd);
    return result;
}

static int64_t host_rename_at(int32_t from_folder, const char *from, int32_t to_folder,
                              const char *to)
{
    RESULT(renameat(from_folder, from, to_folder, to));
}

static int64_t host_unlink_at(int32_t folder, const char *path)
{
    RESULT(unlinkat(folder, path, 0));
}

static int64_t host_link(const char *from, const char *to, int32_t is_symbolic)
{
    RESULT(is_symbolic ? symlink(from, to) : link(from, to));
}

static int64_t host_change_mode(const char *path, uint32_t mode)
{
    RESULT(chmod(path, mode));
}

static int64_t host_change_owner(const char *path, uint32_t user, uint32_t group)
{
    RESULT(chown(path, user, group));
}

static int64_t host_geteuid(void)
{
    return geteuid();
}

static int64_t host_become(uint32_t user)
{
    RESULT(seteuid(user));
}

static int64_t host_make_pipe(const char *path, uint32_t mode)
{
    RESULT(mkfifo(path, mode));
}

static int64_t host_set_umask(uint32_t mask)
{
    return umask(mask);
}

static int64_t host_resize(int32_t fd, uint64_t size)
{
    RESULT(ftruncate(fd, (off_t)size));
}

static int64_t host_write_file(int32_t fd, const void *bytes, uint64_t size)
{
    RESULT(write(fd, bytes, size));
}

static int64_t host_pread(int32_t fd, void *bytes, uint64_t size, uint64_t offset)
{
    RESULT(pread(fd, bytes, size, (off_t)offset));
}

static int64_t host_pwrite(int32_t fd, const void *bytes, uint64_t size, uint64_t offset)
{
    RESULT(pwrite(fd, bytes, size, (off_t)offset));
}

static int64_t host_seek(int32_t fd, int64_t offset, int32_t whence)
{
    RESULT(lseek(fd, offset, whence));
}

static int64_t host_sync(int32_t fd)
{
    RESULT(fsync(fd));
}

static int64_t host_lock_file(int32_t fd, int32_t is_locked)
{
    RESULT(flock(fd, is_locked ? LOCK_EX | LOCK_NB : LOCK_UN));
}

/* Attributes are Linux' of users. */
static void name_attribute(const char *name, char ret_name[256])
{
    snprintf(ret_name, 256, "user.%s", name);
}

static int64_t host_get_attribute(int32_t fd, const char *name, void *value, uint64_t size)
{
    char full[256];
    name_attribute(name, full);
    RESULT(fgetxattr(fd, full, value, size));
}

static int64_t host_set_attribute(int32_t fd, const char *name, const void *value, uint64_t size)
{
    char full[256];
    name_attribute(name, full);
    RESULT(fsetxattr(fd, full, value, size, 0));
}

static int64_t host_remove_attribute(int32_t fd, const char *name)
{
    char full[256];
    name_attribute(name, full);
    RESULT(fremovexattr(fd, full));
}

/* Null: it failed. */
static void *host_map_shared(int32_t fd, uint64_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    host_note_mappings();
    return memory != MAP_FAILED ? memory : NULL;
}

static int64_t host_map_shared_memory(uint64_t size, void **ret_memory)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    host_note_mappings();
    *ret_memory = memory;
    return memory != MAP_FAILED ? 0 : -errno;
}

static int64_t host_hide_from_children(void *memory, uint64_t size)
{
    RESULT(madvise(memory, size, MADV_DONTFORK));
}

/* --- processes --- */

static int64_t host_fork(void)
{
    pid_t child = fork();
    if (child == 0) {
        host_keep_own_thread();
    }
    RESULT(child);
}

static int64_t host_wait_for(int32_t pid, int32_t *ret_status)
{
    RESULT(waitpid(pid, ret_status, 0));
}

/* Numbers of signals are the same for those that tests send: 0, SIGKILL, SIGTERM, SIGABRT. */
static int64_t host_kill(int32_t pid, int32_t signal)
{
    RESULT(kill(pid, signal));
}

/* When a process began, in ticks since the boot, and whether it is a zombie. */
static int64_t host_process(int32_t pid, int32_t *ret_is_zombie)
{
    char path[64], text[1024] = "";
    /* of its main thread: an emulator answers for /proc/PID/stat of its own process itself */
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    const char *at = size > 0 ? strrchr(text, ')') : NULL;
    long long start = 0;
    char state = '?';
    /* fields 3 to 22 */
    if (at == NULL ||
        sscanf(at,
               ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld",
               &state, &start) != 2) {
        return -ESRCH;
    }
    *ret_is_zombie = state == 'Z' || state == 'X';
    return start;
}

static int64_t host_boot_id(char *text, uint64_t size)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[got > 0 ? got : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return got > 0 ? 0 : -ENOENT;
}

/* Seconds, minutes, hours, day, month, years since 1900, weekday, day of the year. */
static int64_t host_utc(int64_t seconds, int32_t ret_fields[9])
{
    time_t time = seconds;
    struct tm utc;
    if (gmtime_r(&time, &utc) == NULL) {
        return -EOVERFLOW;
    }
    const int32_t fields[9] = {utc.tm_sec,  utc.tm_min,  utc.tm_hour,
                               utc.tm_mday, utc.tm_mon,  utc.tm_year,
                               utc.tm_wday, utc.tm_yday, 0};
    memcpy(ret_fields, fields, sizeof fields);
    return 0;
}

#define PRIMITIVE(name)                                                                            \
    {                                                                                              \
        "_host_" #name, (uint64_t)(uintptr_t)host_##name                                           \
    }

const struct host_primitive host_store_primitives[] = {
    PRIMITIVE(open_at),
    PRIMITIVE(make_folder),
    PRIMITIVE(stat_at),
    PRIMITIVE(rename_at),
    PRIMITIVE(unlink_at),
    PRIMITIVE(link),
    PRIMITIVE(change_mode),
    PRIMITIVE(resize),
    PRIMITIVE(change_owner),
    PRIMITIVE(become),
    PRIMITIVE(geteuid),
    PRIMITIVE(make_pipe),
    PRIMITIVE(set_umask),
    PRIMITIVE(write_file),
    PRIMITIVE(pread),
    PRIMITIVE(pwrite),
    PRIMITIVE(seek),
    PRIMITIVE(sync),
    PRIMITIVE(lock_file),
    PRIMITIVE(get_attribute),
    PRIMITIVE(set_attribute),
    PRIMITIVE(remove_attribute),
    PRIMITIVE(map_shared),
    PRIMITIVE(map_shared_memory),
    PRIMITIVE(hide_from_children),
    PRIMITIVE(fork),
    PRIMITIVE(wait_for),
    PRIMITIVE(kill),
    PRIMITIVE(process),
    PRIMITIVE(boot_id),
    PRIMITIVE(utc),
    {NULL, 0},
};
