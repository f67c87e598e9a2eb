// SPDX-License-Identifier: Apache-2.0
/* Files that are written, their attributes and locks. Which class of protection a file has is an
 * attribute here. Each call of F_FULLFSYNC is counted. */
#include <errno.h>
#include <fcntl.h>
#include <mach/vm_inherit.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim.h"

#define PROTECTION "sim.protection"
enum { HOST_THIS_FOLDER = -100 };

/* For tests. */
uint64_t sim_full_syncs, sim_locks;

static int result(int64_t got)
{
    return got >= 0 ? (int)got : sim_fail(-got);
}

static int open_at(int folder, const char *path, int flags, unsigned mode)
{
    static const int known[] = {O_RDWR,     O_CREAT,     O_EXCL,  O_TRUNC,
                                O_NOFOLLOW, O_DIRECTORY, O_APPEND};
    uint32_t how = 0;
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        how |= (flags & known[i]) != 0 ? 1u << i : 0;
    }
    how |= (flags & O_WRONLY) != 0;
    return result(host_open_at(folder == AT_FDCWD ? HOST_THIS_FOLDER : folder, path, how, mode));
}

static unsigned mode_of(int flags, va_list arguments)
{
    return (flags & O_CREAT) != 0 ? va_arg(arguments, unsigned) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    unsigned mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    unsigned mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_at(folder, path, flags, mode);
}

int mkdir(const char *path, mode_t mode)
{
    return result(host_make_folder(path, mode));
}

int lstat(const char *path, struct stat *ret_status)
{
    return fstatat(HOST_THIS_FOLDER, path, ret_status, AT_SYMLINK_NOFOLLOW);
}

int stat(const char *path, struct stat *ret_status)
{
    struct sim_status status;
    int64_t got = host_stat_path(path, &status);
    if (got != 0) {
        return sim_fail(-got);
    }
    sim_give_status(&status, ret_status);
    return 0;
}

int fstatat(int folder, const char *path, struct stat *ret_status, int flags)
{
    struct sim_status status;
    int64_t got = host_stat_at(folder, path, &status);
    if ((flags & AT_SYMLINK_NOFOLLOW) == 0 || got != 0) {
        return sim_fail(got != 0 ? -got : ENOTSUP);
    }
    sim_give_status(&status, ret_status);
    return 0;
}

int rename(const char *from, const char *to)
{
    return result(host_rename_at(HOST_THIS_FOLDER, from, HOST_THIS_FOLDER, to));
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    return result(host_rename_at(from_folder, from, to_folder, to));
}

int unlinkat(int folder, const char *path, int flags)
{
    return flags != 0 ? sim_fail(ENOTSUP) : result(host_unlink_at(folder, path));
}

int unlink(const char *path)
{
    return result(host_unlink_at(HOST_THIS_FOLDER, path));
}

int link(const char *from, const char *to)
{
    return result(host_link(from, to, 0));
}

int symlink(const char *from, const char *to)
{
    return result(host_link(from, to, 1));
}

int chmod(const char *path, mode_t mode)
{
    return result(host_change_mode(path, mode));
}

int chown(const char *path, uid_t user, gid_t group)
{
    return result(host_change_owner(path, user, group));
}

int mkfifo(const char *path, mode_t mode)
{
    return result(host_make_pipe(path, mode));
}

mode_t umask(mode_t mask)
{
    return (mode_t)host_set_umask(mask);
}

int ftruncate(int fd, off_t size)
{
    return result(host_resize(fd, (uint64_t)size));
}

int truncate(const char *path, off_t size)
{
    int fd = open(path, O_RDWR);
    int got = fd >= 0 ? ftruncate(fd, size) : -1;
    if (fd >= 0) {
        close(fd);
    }
    return got;
}

ssize_t pread(int fd, void *bytes, size_t size, off_t offset)
{
    int64_t got = host_pread(fd, bytes, size, (uint64_t)offset);
    return got >= 0 ? got : sim_fail(-got);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    int64_t got = host_pwrite(fd, bytes, size, (uint64_t)offset);
    return got >= 0 ? got : sim_fail(-got);
}

off_t lseek(int fd, off_t offset, int whence)
{
    int64_t got = host_seek(fd, offset, whence);
    return got >= 0 ? got : sim_fail(-got);
}

int fsync(int fd)
{
    return result(host_sync(fd));
}

/* Locks that processes of this simulation hold now: a system that suspends one of them with a lock
 * ends it. */
int flock(int fd, int how)
{
    int64_t got = host_lock_file(fd, (how & LOCK_UN) == 0);
    sim_locks += got == 0 && (how & LOCK_UN) == 0;
    sim_locks -= got == 0 && (how & LOCK_UN) != 0;
    return result(got);
}

int fcntl(int fd, int command, ...)
{
    va_list arguments;
    int32_t number = 0;
    va_start(arguments, command);
    switch (command) {
    case F_FULLFSYNC:
        va_end(arguments);
        sim_full_syncs++;
        return fsync(fd);
    case F_SETPROTECTIONCLASS:
        number = va_arg(arguments, int);
        va_end(arguments);
        return result(host_set_attribute(fd, PROTECTION, &number, sizeof number));
    case F_GETPROTECTIONCLASS:
        va_end(arguments);
        return host_get_attribute(fd, PROTECTION, &number, sizeof number) > 0 ? number : 0;
    case F_GETFD:
        va_end(arguments);
        return result(host_is_open(fd));
    default:
        va_end(arguments);
        return sim_fail(ENOTSUP);
    }
}

/* --- attributes: <sys/xattr.h> --- */

ssize_t fgetxattr(int fd, const char *name, void *value, size_t size, uint32_t position,
                  int options);
ssize_t fgetxattr(int fd, const char *name, void *value, size_t size, uint32_t position,
                  int options)
{
    (void)position;
    (void)options;
    return result(host_get_attribute(fd, name, value, size));
}

int fsetxattr(int fd, const char *name, const void *value, size_t size, uint32_t position,
              int options);
int fsetxattr(int fd, const char *name, const void *value, size_t size, uint32_t position,
              int options)
{
    (void)position;
    (void)options;
    return result(host_set_attribute(fd, name, value, size));
}

int fremovexattr(int fd, const char *name, int options);
int fremovexattr(int fd, const char *name, int options)
{
    (void)options;
    return result(host_remove_attribute(fd, name));
}

/* --- memory of files, and limits --- */

int minherit(void *memory, size_t size, int how)
{
    return (unsigned)how != VM_INHERIT_NONE ? sim_fail(ENOTSUP)
                                            : result(host_hide_from_children(memory, size));
}

static struct rlimit file_limit = {RLIM_INFINITY, RLIM_INFINITY};

int getrlimit(int resource, struct rlimit *ret_limit)
{
    *ret_limit =
        resource == RLIMIT_FSIZE ? file_limit : (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    return 0;
}

int setrlimit(int resource, const struct rlimit *limit)
{
    if (resource != RLIMIT_FSIZE) {
        return sim_fail(ENOTSUP);
    }
    file_limit = *limit;
    return 0;
}
