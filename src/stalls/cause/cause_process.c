// SPDX-License-Identifier: Apache-2.0
/* Waits for processes: children, and owners of file locks. */
#include <inttypes.h>
#include <string.h>

#include "cause_private.h"

/* How many children are read, and how many are named. */
enum { CHILDREN_MAX = 64, CHILDREN_SHOWN = 3 };
/* waitid(2) */
enum { WAIT_FOR_ALL = 0, WAIT_FOR_ONE = 1, WAIT_FOR_FD = 3 };
/* CLONE_VFORK of clone(2) */
#define HOLDS_PARENT 0x4000u
/* fcntl(2) */
enum { SET_LOCK_WAIT = 7, SET_FILE_LOCK_WAIT = 38 };

/* which: a remark about the children, or "". */
static void describe_children(struct cause_look *look, const int32_t *pids, size_t count,
                              const char *which)
{
    struct sonde__cause *cause = look->cause;
    struct sonde__text text = cause_resource(cause);
    sonde__base_text_str(&text, count == 1   ? "child "
                                : count == 0 ? "a child, but none runs"
                                             : "any of ");
    if (count > 1) {
        cause_put(&text, "%" PRIu64 " children: ", (uint64_t)count);
    }
    for (size_t i = 0; i < count && i < CHILDREN_SHOWN; i++) {
        sonde__base_text_str(&text, i > 0 ? ", " : "");
        cause_put_process(&text, pids[i]);
    }
    sonde__base_text_str(&text, which);
    cause->owner_pid = count == 1 ? pids[0] : 0;
}

/* Does the call block its thread until the child executes a program? Other clone(2) calls wait for
 * memory, or for what the child is given. The flags of clone3(2) are the first word of its
 * argument. */
static bool starts_and_waits(const struct cause_look *look)
{
    uint64_t flags = 0;
    if (strcmp(look->call, "vfork") == 0) {
        return true;
    }
    if (strcmp(look->call, "clone") == 0) {
        flags = look->args[0];
    } else if (strcmp(look->call, "clone3") != 0 ||
               cause_read(look, look->args[0], &flags, sizeof flags) != sizeof flags) {
        return false;
    }
    return (flags & HOLDS_PARENT) != 0;
}

/* The process in the call's argument; 0 or less: none. */
static int32_t wanted_child(const struct cause_look *look, bool waits_id)
{
    struct sonde__host_fd what;
    if (!waits_id) {
        return (int32_t)look->args[0];
    }
    if (look->args[0] == WAIT_FOR_FD) {
        sonde__host_fd_read(look->causes->pid, look->tid, (int32_t)look->args[1], &what);
        return what.process;
    }
    return look->args[0] == WAIT_FOR_ONE ? (int32_t)look->args[1] : 0;
}

bool cause_look_child(struct cause_look *look)
{
    int32_t pids[CHILDREN_MAX];
    bool waits = strcmp(look->call, "wait4") == 0, waits_id = strcmp(look->call, "waitid") == 0;
    bool starts_one = starts_and_waits(look);
    if (!waits && !waits_id && !starts_one) {
        return false;
    }
    look->cause->kind = SONDE__CAUSE_CHILD;
    int32_t wanted = starts_one ? 0 : wanted_child(look, waits_id);
    if (wanted > 0 && !look->causes->other_numbers) {
        pids[0] = wanted;
        describe_children(look, pids, 1, "");
        return true;
    }
    size_t count = sonde__host_children_read(look->causes->pid, pids, CHILDREN_MAX);
    describe_children(look, pids, count < CHILDREN_MAX ? count : CHILDREN_MAX,
                      starts_one ? ", which shares its memory until it executes a program (vfork)"
                                 : "");
    return true;
}

/* The holder of the lock: the kernel's list names the process that took it. */
static void describe_holder(struct cause_look *look, const struct sonde__host_lock *holder)
{
    struct sonde__cause *cause = look->cause;
    struct sonde__text text = cause_owner(cause);
    sonde__base_text_str(&text, holder->writes ? "locked by " : "locked for reading by ");
    if (holder->pid <= 0) {
        sonde__base_text_str(&text, "an open file, of which process is not recorded");
        return;
    }
    if (holder->pid == look->causes->pid) {
        sonde__base_text_str(&text, "this process itself");
        cause->owner_pid = holder->pid;
        return;
    }
    if (sonde__host_thread_process((uint64_t)holder->pid) == 0) {
        cause_put(&text, "process %d, which has ended and left the open file to another one",
                  holder->pid);
        return;
    }
    cause_put_process(&text, holder->pid);
    cause->owner_pid = holder->pid;
}

bool cause_look_lock(struct cause_look *look)
{
    bool is_flock = strcmp(look->call, "flock") == 0;
    bool is_fcntl = strcmp(look->call, "fcntl") == 0 &&
                    (look->args[1] == SET_LOCK_WAIT || look->args[1] == SET_FILE_LOCK_WAIT);
    struct sonde__host_fd what;
    struct sonde__host_lock wait, holder;
    if (!is_flock && !is_fcntl) {
        return false;
    }
    int32_t fd = (int32_t)look->args[0];
    struct sonde__text text = cause_resource(look->cause);
    look->cause->kind = SONDE__CAUSE_FILE_LOCK;
    sonde__host_fd_read(look->causes->pid, look->tid, fd, &what);
    cause_put_fd(look, &text, fd, &what, NULL);
    if (sonde__host_lock_read(look->causes->pid, what.inode, &wait, &holder)) {
        describe_holder(look, &holder);
    } else {
        text = cause_owner(look->cause);
        sonde__base_text_str(&text, "who has the lock is not known");
    }
    return true;
}
