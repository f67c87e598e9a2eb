// SPDX-License-Identifier: Apache-2.0
/* Calls with a path that hang in the file system, or in a FIFO that nobody else has opened. The
 * path is read from the memory of the process and never used to access a file. */
#include <string.h>

#include "cause_private.h"

struct path_call {
    const char *name;
    uint8_t first, second; /* arguments that are paths, counted from 1; 0: none */
    uint8_t folder;        /* the argument with the first path's folder (AT_FDCWD), or 0 */
};

static const struct path_call calls[] = {
    {"open", 1, 0, 0},       {"openat", 2, 0, 1},
    {"openat2", 2, 0, 1},    {"creat", 1, 0, 0},
    {"stat", 1, 0, 0},       {"lstat", 1, 0, 0},
    {"newfstatat", 2, 0, 1}, {"statx", 2, 0, 1},
    {"statfs", 1, 0, 0},     {"access", 1, 0, 0},
    {"faccessat", 2, 0, 1},  {"faccessat2", 2, 0, 1},
    {"readlink", 1, 0, 0},   {"readlinkat", 2, 0, 1},
    {"unlink", 1, 0, 0},     {"unlinkat", 2, 0, 1},
    {"rmdir", 1, 0, 0},      {"mkdir", 1, 0, 0},
    {"mkdirat", 2, 0, 1},    {"mknod", 1, 0, 0},
    {"mknodat", 2, 0, 1},    {"rename", 1, 2, 0},
    {"renameat", 2, 4, 1},   {"renameat2", 2, 4, 1},
    {"link", 1, 2, 0},       {"linkat", 2, 4, 1},
    {"symlink", 2, 0, 0},    {"symlinkat", 3, 0, 2},
    {"truncate", 1, 0, 0},   {"chdir", 1, 0, 0},
    {"chmod", 1, 0, 0},      {"fchmodat", 2, 0, 1},
    {"chown", 1, 0, 0},      {"lchown", 1, 0, 0},
    {"fchownat", 2, 0, 1},   {"utimensat", 2, 0, 1},
    {"execve", 1, 0, 0},     {"execveat", 2, 0, 1},
    {"mount", 2, 0, 0},      {"umount2", 1, 0, 0},
    {"getxattr", 1, 0, 0},   {"lgetxattr", 1, 0, 0},
    {"setxattr", 1, 0, 0},   {"swapoff", 1, 0, 0},
    {"chroot", 1, 0, 0},     {"inotify_add_watch", 2, 0, 0},
};

enum { PATH_BYTES = 4096, PIECE = 256 };

/* False: there is no string. The string may end at the end of a mapping. */
static bool read_path(const struct cause_look *look, uint64_t address, char path[PATH_BYTES])
{
    size_t length = 0;
    while (address != 0 && length < PATH_BYTES) {
        size_t room = PATH_BYTES - length;
        size_t got = cause_read(look, address + length, path + length, room < PIECE ? room : PIECE);
        if (got == 0) {
            return false;
        }
        if (memchr(path + length, '\0', got) != NULL) {
            return path[0] != '\0';
        }
        length += got;
    }
    return false;
}

static bool put_path_at(const struct cause_look *look, struct sonde__text *text, uint8_t argument,
                        uint8_t folder)
{
    char path[PATH_BYTES];
    struct sonde__host_fd what;
    if (!read_path(look, look->args[argument - 1], path)) {
        return false;
    }
    int32_t fd = folder != 0 ? (int32_t)look->args[folder - 1] : -1;
    if (path[0] != '/' && fd >= 0) {
        sonde__host_fd_read(look->causes->pid, look->tid, fd, &what);
        if (what.kind == SONDE__HOST_FD_PATH) {
            cause_put_path(text, what.text);
            sonde__base_text_char(text, '/');
        }
    }
    cause_put_path(text, path);
    return true;
}

bool cause_look_path(struct cause_look *look)
{
    struct sonde__text text = cause_resource(look->cause);
    const struct path_call *call = NULL;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        call = strcmp(look->call, calls[i].name) == 0 ? &calls[i] : call;
    }
    if (call == NULL || !put_path_at(look, &text, call->first, call->folder)) {
        return false;
    }
    look->cause->kind = SONDE__CAUSE_PATH;
    if (call->second != 0) {
        sonde__base_text_str(&text, " and ");
        (void)put_path_at(look, &text, call->second,
                          call->folder != 0 ? (uint8_t)(call->second - 1) : 0);
    }
    if (strcmp(look->channel, "wait_for_partner") == 0) {
        struct sonde__text owner = cause_owner(look->cause);
        look->cause->kind = SONDE__CAUSE_PIPE;
        sonde__base_text_str(&owner, "a FIFO whose other end nobody has opened");
    }
    return true;
}
