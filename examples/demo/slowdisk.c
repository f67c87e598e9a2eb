// SPDX-License-Identifier: Apache-2.0
/* Slow storage for the demo: a FUSE file system that passes one folder through and is slow to sync,
 * like a worn disk, a network share or a busy cloud volume.
 *
 *     slowdisk FOLDER SYNC_MS MOUNTPOINT
 *
 * Implements only what SQLite needs. Every fsync and fdatasync takes SYNC_MS milliseconds
 * longer. */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int folder_fd;
static long sync_ms;

static int result(long rc)
{
    return rc < 0 ? -errno : (int)rc;
}

static const char *relative(const char *path)
{
    return path[1] != '\0' ? path + 1 : ".";
}

static int slow_getattr(const char *path, struct stat *st, struct fuse_file_info *file)
{
    if (file != NULL) { /* open: the file may have no path any more */
        return result(fstat((int)file->fh, st));
    }
    return result(fstatat(folder_fd, relative(path), st, AT_SYMLINK_NOFOLLOW));
}

static int slow_open(const char *path, struct fuse_file_info *file)
{
    int fd = openat(folder_fd, relative(path), file->flags & ~O_NOFOLLOW, 0644);
    file->fh = (uint64_t)fd;
    return fd < 0 ? -errno : 0;
}

static int slow_create(const char *path, mode_t mode, struct fuse_file_info *file)
{
    int fd = openat(folder_fd, relative(path), file->flags | O_CREAT, mode);
    file->fh = (uint64_t)fd;
    return fd < 0 ? -errno : 0;
}

static int slow_read(const char *path, char *data, size_t size, off_t at,
                     struct fuse_file_info *file)
{
    (void)path;
    return result(pread((int)file->fh, data, size, at));
}

static int slow_write(const char *path, const char *data, size_t size, off_t at,
                      struct fuse_file_info *file)
{
    (void)path;
    return result(pwrite((int)file->fh, data, size, at));
}

static int slow_truncate(const char *path, off_t size, struct fuse_file_info *file)
{
    int fd;
    int rc;
    if (file != NULL) {
        return result(ftruncate((int)file->fh, size));
    }
    fd = openat(folder_fd, relative(path), O_WRONLY);
    if (fd < 0) {
        return -errno;
    }
    rc = result(ftruncate(fd, size));
    close(fd);
    return rc;
}

static int slow_unlink(const char *path)
{
    return result(unlinkat(folder_fd, relative(path), 0));
}

static int slow_release(const char *path, struct fuse_file_info *file)
{
    (void)path;
    return result(close((int)file->fh));
}

static void take_time(void)
{
    struct timespec pause = {sync_ms / 1000, sync_ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static int slow_fsync(const char *path, int data_only, struct fuse_file_info *file)
{
    (void)path, (void)data_only;
    take_time();
    return result(fsync((int)file->fh));
}

static int slow_fsyncdir(const char *path, int data_only, struct fuse_file_info *file)
{
    (void)path, (void)data_only, (void)file;
    return 0;
}

static int slow_readdir(const char *path, void *list, fuse_fill_dir_t fill, off_t at,
                        struct fuse_file_info *file, enum fuse_readdir_flags flags)
{
    DIR *dir = fdopendir(openat(folder_fd, relative(path), O_RDONLY | O_DIRECTORY));
    struct dirent *entry;
    (void)at, (void)file, (void)flags;
    if (dir == NULL) {
        return -errno;
    }
    while ((entry = readdir(dir)) != NULL) {
        fill(list, entry->d_name, NULL, 0, 0);
    }
    closedir(dir);
    return 0;
}

/* hard_remove: the kernel closes a file a moment after the program did. Without this, a file that
 * is removed in between would have to be renamed. */
static void *slow_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
    (void)connection;
    config->hard_remove = 1;
    config->nullpath_ok = 1;
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct fuse_operations operations = {
        .init = slow_init,
        .getattr = slow_getattr,
        .open = slow_open,
        .create = slow_create,
        .read = slow_read,
        .write = slow_write,
        .truncate = slow_truncate,
        .unlink = slow_unlink,
        .release = slow_release,
        .fsync = slow_fsync,
        .fsyncdir = slow_fsyncdir,
        .readdir = slow_readdir,
    };
    if (argc < 4) {
        fprintf(stderr, "usage: slowdisk FOLDER SYNC_MS MOUNTPOINT [FUSE-OPTION...]\n");
        return 2;
    }
    folder_fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    sync_ms = strtol(argv[2], NULL, 10);
    if (folder_fd < 0) {
        fprintf(stderr, "slowdisk: %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    argv[2] = argv[0];
    return fuse_main(argc - 2, argv + 2, &operations, NULL);
}
