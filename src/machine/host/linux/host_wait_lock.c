// SPDX-License-Identifier: Apache-2.0
/* Reads file locks from /proc/locks (proc(5)). A waiter is listed below the lock it waits for,
 * under the same id; waiters of waiters are indented further. See host_wait.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_wait.h"

/* Most lines read: a server with 10,000 locks has 1 MB of them. */
enum { LINES_MAX = 65536 };

/* "3: -> FLOCK  ADVISORY  WRITE 4711 fe:01:1234 0 EOF" */
bool sonde__host_parse_lock(const char *line, struct sonde__host_lock *ret_lock)
{
    struct sonde__host_lock lock = {.pid = -1};
    char kind[16], how[16], file[64], *end;
    int pid = -1;
    lock.id = strtoull(line, &end, 10);
    if (end == line || *end != ':') {
        return false;
    }
    end++;
    while (*end == ' ') {
        end++;
    }
    if (strncmp(end, "->", 2) == 0) {
        lock.waits = true;
        end += 2;
    }
    if (sscanf(end, " %15s %*15s %15s %d %63s", kind, how, &pid, file) != 4 ||
        strlen(kind) >= sizeof lock.kind) {
        return false;
    }
    const char *colon = strrchr(file, ':');
    if (colon == NULL) {
        return false;
    }
    memcpy(lock.kind, kind, strlen(kind) + 1);
    lock.writes = strcmp(how, "WRITE") == 0;
    lock.pid = pid > 0 ? pid : -1;
    lock.inode = strtoull(colon + 1, NULL, 10);
    *ret_lock = lock;
    return true;
}

/* A lock of an open file (F_OFD_SETLK) has no process: compare the file. */
static bool is_wanted(const struct sonde__host_lock *lock, int32_t pid, uint64_t inode)
{
    return lock->pid > 0 ? lock->pid == pid && (inode == 0 || lock->inode == inode)
                         : inode != 0 && lock->inode == inode;
}

bool sonde__host_lock_read(int32_t pid, uint64_t inode, struct sonde__host_lock *ret_wait,
                           struct sonde__host_lock *ret_holder)
{
    char line[160];
    struct sonde__host_lock holder = {.pid = -1}, lock;
    FILE *file = fopen("/proc/locks", "re");
    bool found = false;
    for (unsigned n = 0; file != NULL && !found && n < LINES_MAX; n++) {
        if (fgets(line, sizeof line, file) == NULL) {
            break;
        }
        if (!sonde__host_parse_lock(line, &lock)) {
            continue;
        }
        if (!lock.waits) {
            holder = lock;
        } else if (lock.id == holder.id && is_wanted(&lock, pid, inode)) {
            *ret_wait = lock;
            *ret_holder = holder;
            found = true;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}
