// SPDX-License-Identifier: Apache-2.0
/* Claims of files (host_folder_port.h).
 *
 * iOS kills an app that is suspended while it holds a lock on a file (0xdead10cc). So the owner of
 * a file is an attribute of it: the process, as identified by its pid, its start and the boot. It
 * ends with that process. flock() is held only while the attribute is read and set. A table has
 * what this process itself claims, by file and descriptor. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "darwin_xattr.h"
#include "host_folder_port.h"
#include "host_process.h"

#define ATTRIBUTE "dev.sonde.owner"

/* One run has three claims, a sender two, and finishing a run two. */
enum { CLAIMS_MAX = 64, BOOT_TEXT = 40 };

struct owner {
    int32_t pid;
    uint32_t zero;
    uint64_t start;       /* 0: not known */
    char boot[BOOT_TEXT]; /* "": not known */
};

struct claim {
    dev_t device;
    ino_t inode;
    int32_t fd;
    bool is_used;
    bool is_locked; /* by flock(): the file system has no attributes */
};

static struct {
    pthread_mutex_t lock;
    pid_t pid; /* whose claims these are; a fork child has none */
    struct claim claims[CLAIMS_MAX];
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* In a fork child the lock may be held by a thread that the child does not have. */
static void begin(void)
{
    static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
    pid_t pid = getpid();
    if (own.pid != 0 && own.pid != pid) {
        own.lock = unlocked;
        memset(own.claims, 0, sizeof own.claims);
    }
    pthread_mutex_lock(&own.lock);
    own.pid = pid;
}

static struct claim *find_file(const struct stat *st)
{
    for (struct claim *claim = own.claims; claim < own.claims + CLAIMS_MAX; claim++) {
        if (claim->is_used && claim->device == st->st_dev && claim->inode == st->st_ino) {
            return claim;
        }
    }
    return NULL;
}

static struct claim *find_free(void)
{
    for (struct claim *claim = own.claims; claim < own.claims + CLAIMS_MAX; claim++) {
        if (!claim->is_used) {
            return claim;
        }
    }
    return NULL;
}

static struct owner make_owner(void)
{
    struct owner owner = {.pid = getpid()};
    size_t size = sizeof owner.boot;
    owner.start = sonde__host_process_start(owner.pid);
    if (sysctlbyname("kern.bootsessionuuid", owner.boot, &size, NULL, 0) != 0) {
        memset(owner.boot, 0, sizeof owner.boot);
    }
    owner.boot[sizeof owner.boot - 1] = '\0';
    return owner;
}

/* If nothing speaks against it, it lives: its file then waits for a later start. */
static bool lives(const struct owner *owner, const struct owner *self)
{
    if (owner->pid <= 0 || owner->pid == self->pid) {
        return false; /* of this process the table knows */
    }
    if (owner->boot[0] != '\0' && self->boot[0] != '\0' &&
        memcmp(owner->boot, self->boot, sizeof owner->boot) != 0) {
        return false;
    }
    return sonde__host_process_lives(owner->pid, owner->start);
}

/* With flock() held. Returns 0 or an errno; ENOTSUP: there are no attributes. */
static int set_owner(int32_t fd)
{
    struct owner owner, self = make_owner();
    ssize_t size = fgetxattr(fd, ATTRIBUTE, &owner, sizeof owner, 0, 0);
    if (size == (ssize_t)sizeof owner && lives(&owner, &self)) {
        return EWOULDBLOCK;
    }
    return fsetxattr(fd, ATTRIBUTE, &self, sizeof self, 0, 0) != 0 ? errno : 0;
}

static int take(int32_t fd, const struct stat *st)
{
    const struct claim *other = find_file(st);
    struct claim *claim = find_free();
    if (other != NULL || claim == NULL) {
        return other == NULL ? ENOLCK : other->fd == fd ? 0 : EWOULDBLOCK;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        return errno;
    }
    int reason = set_owner(fd);
    bool is_locked = reason == ENOTSUP || reason == EPERM;
    if (!is_locked) {
        (void)flock(fd, LOCK_UN);
    }
    if (reason == 0 || is_locked) {
        *claim = (struct claim){st->st_dev, st->st_ino, fd, true, is_locked};
        return 0;
    }
    return reason;
}

int sonde__host_claim(int32_t fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return errno;
    }
    begin();
    int reason = take(fd, &st);
    pthread_mutex_unlock(&own.lock);
    return reason;
}

void sonde__host_unclaim(int32_t fd)
{
    if (own.pid != getpid()) { /* nothing is claimed, or it is the parent's */
        return;
    }
    begin();
    for (struct claim *claim = own.claims; claim < own.claims + CLAIMS_MAX; claim++) {
        if (claim->is_used && claim->fd == fd) {
            claim->is_used = false;
            if (claim->is_locked) {
                (void)flock(fd, LOCK_UN);
            } else {
                (void)fremovexattr(fd, ATTRIBUTE, 0);
            }
        }
    }
    pthread_mutex_unlock(&own.lock);
}
