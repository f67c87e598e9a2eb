// SPDX-License-Identifier: Apache-2.0
/* Preloaded into a program: keeps beside its folder ($POWERCUT_FROM) what a power cut would leave
 * of it ($POWERCUT_TO): of each file what was in it at its last fsync, of each folder the names at
 * its last fsync. Nothing else counts, as POSIX allows. powercut.py makes a folder of it.
 *
 * TO/files/KEY is a content; KEY is the inode with the time of its birth. TO/folders/PATH, with %
 * for
 * /, has a line "KEY NAME" or "/ NAME" for each file or folder. Each is replaced as a whole, so the
 * program may be killed at any time. Unsynced writes are not followed: a sync copies the file. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *from, *to;
static int (*real_fsync)(int fd), (*real_fdatasync)(int fd), (*real_syncfs)(int fd);

#define EXPORT __attribute__((visibility("default")))

enum { KEY_TEXT = 64 };

static void fail(const char *what)
{
    fprintf(stderr, "powercut: %s: %s\n", what, strerror(errno));
    abort();
}

static void key_of(int fd, const char *name, char ret_key[KEY_TEXT], bool *ret_is_folder)
{
    struct statx file;
    if (statx(fd, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME,
              &file) != 0) {
        if (errno == ENOENT) { /* it went meanwhile */
            ret_key[0] = '\0';
            return;
        }
        fail(name);
    }
    *ret_is_folder = S_ISDIR(file.stx_mode);
    snprintf(ret_key, KEY_TEXT, "%llu-%lld.%u", (unsigned long long)file.stx_ino,
             (long long)file.stx_btime.tv_sec, file.stx_btime.tv_nsec);
}

static void replace(const char *part, const char *folder, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/%s", to, folder, name);
    if (rename(part, path) != 0) {
        fail(path);
    }
}

static void keep_file(int fd)
{
    char key[KEY_TEXT], part[PATH_MAX];
    bool is_folder = false;
    loff_t at = 0;
    ssize_t got;
    key_of(fd, "", key, &is_folder);
    snprintf(part, sizeof part, "%s/part", to);
    int copy = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    while ((got = copy_file_range(fd, &at, copy, NULL, 1 << 30, 0)) > 0) {
    }
    if (copy < 0 || got < 0 || close(copy) != 0) {
        fail(part);
    }
    replace(part, "files", key);
}

/* path: within the folder; "" for itself. */
static void keep_folder(const char *path)
{
    char all[PATH_MAX], part[PATH_MAX], key[KEY_TEXT], flat[NAME_MAX];
    snprintf(all, sizeof all, "%s/%s", from, path);
    snprintf(part, sizeof part, "%s/part", to);
    snprintf(flat, sizeof flat, "%%%s", path);
    for (char *c = flat; *c != '\0'; c++) {
        *c = *c == '/' ? '%' : *c;
    }
    DIR *files = opendir(all);
    FILE *out = fopen(part, "we");
    if (files == NULL || out == NULL) {
        fail(all);
    }
    for (struct dirent *file; (file = readdir(files)) != NULL;) {
        bool is_folder = false;
        if (strcmp(file->d_name, ".") == 0 || strcmp(file->d_name, "..") == 0) {
            continue;
        }
        key_of(dirfd(files), file->d_name, key, &is_folder);
        if (key[0] != '\0') {
            fprintf(out, "%s %s\n", is_folder ? "/" : key, file->d_name);
        }
    }
    closedir(files);
    if (fclose(out) != 0) {
        fail(part);
    }
    replace(part, "folders", flat);
}

static void keep_all(const char *path)
{
    char all[PATH_MAX], below[PATH_MAX];
    snprintf(all, sizeof all, "%s/%s", from, path);
    DIR *files = opendir(all);
    if (files == NULL) {
        fail(all);
    }
    for (struct dirent *file; (file = readdir(files)) != NULL;) {
        if (strcmp(file->d_name, ".") == 0 || strcmp(file->d_name, "..") == 0) {
            continue;
        }
        snprintf(below, sizeof below, "%s%s%s", path, path[0] != '\0' ? "/" : "", file->d_name);
        if (file->d_type == DT_DIR) {
            keep_all(below);
            continue;
        }
        int fd = openat(dirfd(files), file->d_name, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            keep_file(fd);
            close(fd);
        }
    }
    closedir(files);
    keep_folder(path);
}

/* Where a descriptor is: its path within the folder, or null. */
static const char *path_of(int fd, char room[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, room, PATH_MAX - 1);
    if (from == NULL || size < 0) {
        return NULL;
    }
    room[size] = '\0';
    size_t begin = strlen(from);
    if (strncmp(room, from, begin) != 0 || (room[begin] != '/' && room[begin] != '\0')) {
        return NULL;
    }
    return room + begin + (room[begin] == '/');
}

static void keep(int fd)
{
    char room[PATH_MAX];
    struct stat file;
    const char *path = path_of(fd, room);
    if (path == NULL || fstat(fd, &file) != 0 || file.st_nlink == 0) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (S_ISDIR(file.st_mode)) {
        keep_folder(path);
    } else { /* it may be open for writing only */
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        int copy = open(link, O_RDONLY | O_CLOEXEC);
        if (copy < 0) {
            fail(path);
        }
        keep_file(copy);
        close(copy);
    }
    pthread_mutex_unlock(&lock);
}

static void __attribute__((constructor)) begin(void)
{
    char path[PATH_MAX];
    real_fsync = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    real_syncfs = (int (*)(int))dlsym(RTLD_NEXT, "syncfs");
    to = getenv("POWERCUT_TO");
    from = to != NULL ? getenv("POWERCUT_FROM") : NULL;
    if (from != NULL) { /* what is there now is on the disk */
        static const char *const folders[] = {"", "/files", "/folders"};
        for (unsigned i = 0; i < 3; i++) {
            snprintf(path, sizeof path, "%s%s", to, folders[i]);
            (void)mkdir(path, 0700);
        }
        keep_all("");
    }
}

EXPORT int fsync(int fd)
{
    int result = real_fsync(fd);
    if (result == 0) {
        keep(fd);
    }
    return result;
}

EXPORT int fdatasync(int fd)
{
    int result = real_fdatasync(fd);
    if (result == 0) {
        keep(fd);
    }
    return result;
}

EXPORT int syncfs(int fd)
{
    int result = real_syncfs(fd);
    if (result == 0 && from != NULL) {
        pthread_mutex_lock(&lock);
        keep_all("");
        pthread_mutex_unlock(&lock);
    }
    return result;
}
