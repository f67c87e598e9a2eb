// SPDX-License-Identifier: Apache-2.0
#include "host_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base_status.h"
#include "host_file_port.h"
#include "host_folder_port.h"
#include "host_run.h"
#include "mem_heap.h"

enum { PATH_BYTES = 4096 };

#define OTHERS_MAY_WRITE (S_IWGRP | S_IWOTH)

static enum sonde_status fail(struct sonde_error *ret_error, const char *what, int error)
{
    enum sonde_status status = error == ENOENT                                       ? SONDE_ABSENT
                               : error == EACCES || error == EPERM || error == EROFS ? SONDE_DENIED
                               : error == ENOTDIR || error == ELOOP ? SONDE_UNSUPPORTED
                               : error == ENOSPC || error == EDQUOT ? SONDE_LIMIT
                                                                    : SONDE_OS;
    return sonde__base_fail(ret_error, status, what, NULL, error, 0);
}

void sonde__host_folders_above(const char *path)
{
    char folder[PATH_BYTES];
    if (snprintf(folder, sizeof folder, "%s", path) >= PATH_BYTES) {
        return;
    }
    for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(folder, 0700);
        *slash = '/';
    }
}

static enum sonde_status make_folder(const char *path, struct sonde_error *ret_error)
{
    sonde__host_folders_above(path);
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return fail(ret_error, "the folder cannot be made", errno);
    }
    return SONDE_OK;
}

enum sonde_status sonde__host_folder_open(const char *path, bool make, int32_t *ret_folder,
                                          struct sonde_error *ret_error)
{
    struct stat st;
    if (make) {
        SONDE_TRY(make_folder(path, ret_error));
    }
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return fail(ret_error, "the folder cannot be opened", errno);
    }
    const char *what = NULL;
    if (fstat(fd, &st) != 0) {
        what = "the folder cannot be read";
    } else if (st.st_uid != geteuid()) {
        what = "the folder belongs to another user";
    } else if ((st.st_mode & OTHERS_MAY_WRITE) != 0) {
        what = "other users may write in the folder";
    }
    if (what != NULL) {
        close(fd);
        return sonde__base_fail(ret_error, SONDE_DENIED, what, NULL, 0, 0);
    }
    if (make) {
        sonde__host_prepare_folder(fd);
    }
    *ret_folder = fd;
    return SONDE_OK;
}

int sonde__host_folder_make(int32_t folder, const char *name, int32_t *ret_fd)
{
    int fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return errno;
    }
    sonde__host_prepare_file(fd);
    int reason = sonde__host_folder_lock(folder, name, fd);
    if (reason != 0) {
        sonde__host_close(fd);
        /* a process that looks for files without a writer was faster: report it as existing */
        return reason == EWOULDBLOCK || reason == ESTALE ? EEXIST : reason;
    }
    *ret_fd = fd;
    return 0;
}

int sonde__host_folder_look(int32_t folder, const char *name, int32_t *ret_fd)
{
    struct stat st;
    int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    int reason = fstat(fd, &st) != 0 ? errno : 0;
    if (reason == 0 && (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink > 1)) {
        reason = EPERM;
    }
    if (reason != 0) {
        close(fd);
        return reason;
    }
    *ret_fd = fd;
    return 0;
}

int sonde__host_folder_lock(int32_t folder, const char *name, int32_t fd)
{
    struct stat open_file, named;
    int reason = sonde__host_claim(fd);
    if (reason != 0) {
        return reason;
    }
    if (fstat(fd, &open_file) != 0) {
        return errno;
    }
    if (fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) != 0 ||
        named.st_ino != open_file.st_ino || named.st_dev != open_file.st_dev) {
        return ESTALE;
    }
    return 0;
}

bool sonde__host_folder_take(int32_t folder, const char *name, int32_t *ret_fd)
{
    int32_t fd = -1;
    if (sonde__host_folder_look(folder, name, &fd) != 0) {
        return false;
    }
    if (sonde__host_folder_lock(folder, name, fd) != 0) {
        sonde__host_close(fd);
        return false;
    }
    *ret_fd = fd;
    return true;
}

int sonde__host_folder_rename(int32_t folder, const char *from, const char *to)
{
    return renameat(folder, from, folder, to) != 0 ? errno : 0;
}

int sonde__host_folder_remove(int32_t folder, const char *name)
{
    return unlinkat(folder, name, 0) != 0 ? errno : 0;
}

int sonde__host_folder_stat(int32_t fd, struct sonde__host_folder_file *ret_file)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return errno;
    }
    ret_file->size_bytes = (uint64_t)st.st_size;
    int64_t modified_ns = sonde__host_modified_ns(&st);
    ret_file->modified_ns = modified_ns > 0 ? (uint64_t)modified_ns : 0;
    return 0;
}

int sonde__host_folder_read(int32_t fd, size_t size_max, void **ret_bytes, size_t *ret_size)
{
    struct sonde__host_folder_file file = {0};
    int reason = sonde__host_folder_stat(fd, &file);
    if (reason != 0) {
        return reason;
    }
    size_t room = file.size_bytes < size_max ? (size_t)file.size_bytes : size_max, size = 0;
    char *bytes = sonde__mem_alloc(room + 1);
    ssize_t n = 1;
    while (bytes != NULL && size < room && n != 0) {
        n = pread(fd, bytes + size, room - size, (off_t)size);
        if (n < 0 && errno != EINTR) {
            reason = errno;
            break;
        }
        size += n > 0 ? (size_t)n : 0;
    }
    if (bytes == NULL || reason != 0) {
        sonde__mem_free(bytes);
        return bytes == NULL ? ENOMEM : reason;
    }
    *ret_bytes = bytes;
    *ret_size = size;
    return 0;
}

int sonde__host_folder_sync(int32_t fd)
{
    return sonde__host_sync_file(fd);
}

int sonde__host_folder_place(int32_t folder, int32_t fd, const char *part, const char *name,
                             int reason)
{
    reason = reason == 0 ? sonde__host_folder_sync(fd) : reason;
    reason = reason == 0 ? sonde__host_folder_rename(folder, part, name) : reason;
    if (reason != 0) {
        (void)sonde__host_folder_remove(folder, part);
    }
    sonde__host_close(fd);
    return reason;
}

bool sonde__host_folder_claim(int32_t folder)
{
    return sonde__host_claim(folder) == 0;
}

void sonde__host_folder_release(int32_t folder)
{
    sonde__host_unclaim(folder);
}

int sonde__host_folder_each(int32_t folder, int (*each)(void *ctx, const char *name), void *ctx)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = copy >= 0 ? fdopendir(copy) : NULL;
    int stop = 0;
    if (listing == NULL) {
        int reason = errno;
        if (copy >= 0) {
            close(copy);
        }
        return reason;
    }
    struct dirent *entry;
    while (stop == 0 && (entry = readdir(listing)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            stop = each(ctx, entry->d_name);
        }
    }
    closedir(listing);
    return 0;
}
