// SPDX-License-Identifier: Apache-2.0
/* Reads descriptors from /proc/PID/task/TID/fd and fdinfo (proc(5)). The kernel makes the link's
 * text; no file system is involved. See host_wait.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base_hash.h"
#include "base_search.h"
#include "host_file.h"
#include "host_wait.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "os.h"

enum { INFO_BYTES = 4096, CPU_EVERY = 32, FAMILY_MAX = 32 };
/* Most descriptors stored, of all processes: 40 MiB. */
#define HOLDERS_MAX ((size_t)1 << 20)

static uint8_t kind_of(const char *text, uint64_t *ret_inode)
{
    *ret_inode = 0;
    if (strncmp(text, "socket:[", 8) == 0) {
        *ret_inode = strtoull(text + 8, NULL, 10);
        return SONDE__HOST_FD_SOCKET;
    }
    if (strncmp(text, "pipe:[", 6) == 0) {
        *ret_inode = strtoull(text + 6, NULL, 10);
        return SONDE__HOST_FD_PIPE;
    }
    return text[0] == '/' ? SONDE__HOST_FD_PATH : SONDE__HOST_FD_OTHER;
}

/* "tfd:        5 events: ..." of an epoll set, "it_value: (1, 500000000)" of a timerfd, "ino:\t5",
 * "Pid:\t7" of a pidfd. */
static void read_info(const char *text, struct sonde__host_fd *fd)
{
    const char *at = text;
    while ((at = strstr(at, "tfd:")) != NULL) {
        at += 4;
        if (fd->set_count < SONDE__HOST_FD_SET_MAX) {
            fd->set[fd->set_count] = (int32_t)strtol(at, NULL, 10);
        }
        fd->set_count++;
    }
    at = strstr(text, "it_value: (");
    if (at != NULL) {
        char *end;
        uint64_t seconds = strtoull(at + 11, &end, 10);
        uint64_t ns = *end == ',' ? strtoull(end + 1, NULL, 10) : 0;
        fd->has_timer = seconds != 0 || ns != 0;
        fd->timer_ns = seconds < UINT64_MAX / 2000000000u ? seconds * 1000000000u + ns : UINT64_MAX;
    }
    at = strstr(text, "\nino:\t");
    if (at != NULL && fd->inode == 0) {
        fd->inode = strtoull(at + 6, NULL, 10);
    }
    at = strstr(text, "\nPid:\t");
    if (at != NULL) {
        fd->process = (int32_t)strtol(at + 6, NULL, 10);
    }
}

void sonde__host_fd_read(int32_t pid, uint64_t tid, int32_t fd, struct sonde__host_fd *ret_fd)
{
    char path[80], text[INFO_BYTES];
    size_t size = 0;
    memset(ret_fd, 0, sizeof *ret_fd);
    snprintf(path, sizeof path, "/proc/%d/task/%d/fd/%d", (int)pid, (int)tid, (int)fd);
    ssize_t n = readlink(path, ret_fd->text, sizeof ret_fd->text - 1);
    ret_fd->text[n > 0 ? n : 0] = '\0';
    if (n <= 0) {
        return;
    }
    ret_fd->kind = kind_of(ret_fd->text, &ret_fd->inode);
    snprintf(path, sizeof path, "/proc/%d/task/%d/fdinfo/%d", (int)pid, (int)tid, (int)fd);
    enum sonde_status status = sonde__host_file_read(path, text, sizeof text, &size, NULL);
    if (status == SONDE_OK || status == SONDE_LIMIT) {
        read_info(text, ret_fd);
    }
}

/* --- holders --- */

static int compare(const void *a, const void *b)
{
    const struct sonde__host_holder *x = a, *y = b;
    return x->kind != y->kind ? SONDE__ORDER(x, y, kind) : SONDE__ORDER3(x, y, key, pid, fd);
}

static bool add(struct sonde__host_holders *holders, const struct sonde__host_holder *holder)
{
    if (holders->count == HOLDERS_MAX ||
        !sonde__mem_grow(&holders->list, holders->count, &holders->capacity,
                         sizeof *holders->list)) {
        holders->cut = true;
        return false;
    }
    holders->list[holders->count++] = *holder;
    return true;
}

/* Add one descriptor. The link's permissions show how it was opened. */
static bool add_descriptor(struct sonde__host_holders *holders, int folder, const char *name,
                           int32_t pid)
{
    char text[SONDE__HOST_FD_TEXT];
    struct sonde__host_holder holder = {.pid = pid, .fd = (int32_t)strtol(name, NULL, 10)};
    struct stat st;
    ssize_t n = readlinkat(folder, name, text, sizeof text - 1);
    if (n <= 0) {
        return true;
    }
    text[n] = '\0';
    holder.kind = kind_of(text, &holder.key);
    if (holder.kind == SONDE__HOST_FD_OTHER ||
        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return true;
    }
    if (holder.kind == SONDE__HOST_FD_PATH) {
        holder.key = sonde__base_hash_text(text);
    }
    holder.reads = (st.st_mode & S_IRUSR) != 0;
    holder.writes = (st.st_mode & S_IWUSR) != 0;
    return add(holders, &holder);
}

static void look_into(struct sonde__host_holders *holders, int32_t pid, uint64_t until_ns)
{
    char path[40];
    struct dirent *entry;
    unsigned n = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        holders->hidden += errno == EACCES || errno == EPERM;
        return;
    }
    holders->processes++;
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (++n % CPU_EVERY == 0 && sonde__os_cpu_ns() >= until_ns) {
            holders->cut = true;
            break;
        }
        if (!add_descriptor(holders, dirfd(folder), entry->d_name, pid)) {
            break;
        }
    }
    /* if the process has changed its user, its folder may open but not be readable */
    holders->hidden +=
        n == 0 && access(path, R_OK | X_OK) != 0 && (errno == EACCES || errno == EPERM);
    closedir(folder);
}

/* Search the process and its children first, as the likely holders, in case the budget ends.
 * Returns their number. */
static size_t look_into_family(struct sonde__host_holders *holders, int32_t first,
                               uint64_t until_ns, int32_t family[FAMILY_MAX])
{
    family[0] = first;
    size_t count = 1 + sonde__host_children_read(first, family + 1, FAMILY_MAX - 1);
    count = count < FAMILY_MAX ? count : FAMILY_MAX;
    for (size_t i = 0; i < count && !holders->cut; i++) {
        look_into(holders, family[i], until_ns);
    }
    return count;
}

static bool is_in(const int32_t *list, size_t count, int32_t pid)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i] == pid) {
            return true;
        }
    }
    return false;
}

void sonde__host_holders_read(int32_t first, uint64_t cpu_ns,
                              struct sonde__host_holders *ret_holders)
{
    uint64_t until_ns = sonde__os_cpu_ns() + cpu_ns;
    int32_t family[FAMILY_MAX];
    struct dirent *entry;
    DIR *processes = opendir("/proc");
    memset(ret_holders, 0, sizeof *ret_holders);
    size_t known = look_into_family(ret_holders, first, until_ns, family);
    ret_holders->cut = ret_holders->cut || processes == NULL;
    while (processes != NULL && !ret_holders->cut && (entry = readdir(processes)) != NULL) {
        int32_t pid = (int32_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && !is_in(family, known, pid)) {
            if (sonde__os_cpu_ns() >= until_ns) {
                ret_holders->cut = true;
            } else {
                look_into(ret_holders, pid, until_ns);
            }
        }
    }
    if (processes != NULL) {
        closedir(processes);
    }
    if (ret_holders->count > 1) {
        qsort(ret_holders->list, ret_holders->count, sizeof *ret_holders->list, compare);
    }
}

void sonde__host_holders_done(struct sonde__host_holders *holders)
{
    sonde__mem_free(holders->list);
    memset(holders, 0, sizeof *holders);
}

const struct sonde__host_holder *sonde__host_holders_find(const struct sonde__host_holders *holders,
                                                          uint8_t kind, uint64_t key,
                                                          size_t *ret_count)
{
    const struct sonde__host_holder *list = holders->list;
    size_t first = SONDE__SEARCH(
        0, holders->count, i, list[i].kind < kind || (list[i].kind == kind && list[i].key < key));
    size_t end = first;
    while (end < holders->count && list[end].kind == kind && list[end].key == key) {
        end++;
    }
    *ret_count = end - first;
    return list + first;
}
