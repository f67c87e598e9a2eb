// SPDX-License-Identifier: Apache-2.0
/* Files of a spool folder: neither in backups nor encrypted while the device is locked. */
#include "host_folder_port.h"

#include <errno.h>
#include <fcntl.h>
#include <mach/vm_inherit.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "darwin_xattr.h"
#include "host_run.h"
#include "host_zeros.h"

/* NSFileProtectionNone (XNU, bsd/sys/content_protection.h: PROTECTION_CLASS_D). With another class
 * a store into the mapped file faults while the device is locked. */
#define PROTECTION_NONE 4

/* What NSURLIsExcludedFromBackupKey sets: a property list of one text. */
#define BACKUP_ATTRIBUTE "com.apple.metadata:com_apple_backup_excludeItem"
static const uint8_t excluded[] = "bplist00_\x10\x11"
                                  "com.apple.backupd"
                                  "\x08\0\0\0\0\0\0\x01\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0"
                                  "\0\0\0\0\0\0\0\x1c";

void sonde__host_prepare_file(int32_t fd)
{
    (void)fcntl(fd, F_SETPROTECTIONCLASS, PROTECTION_NONE);
}

void sonde__host_prepare_folder(int32_t fd)
{
    (void)fsetxattr(fd, BACKUP_ATTRIBUTE, excluded, sizeof excluded - 1, 0, 0);
}

/* fsync() leaves the bytes in the drive's cache. */
int sonde__host_sync_file(int32_t fd)
{
    if (fcntl(fd, F_FULLFSYNC) == 0) {
        return 0;
    }
    return fsync(fd) != 0 ? errno : 0; /* a file system without it */
}

/* May a file have this size? Beyond the limit a write would send SIGXFSZ to the process. */
static bool is_within_limit(uint64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           size <= limit.rlim_cur;
}

int sonde__host_allocate(int32_t fd, size_t from, size_t size)
{
    return is_within_limit(size) ? sonde__host_write_zeros(fd, from, size) : EFBIG;
}

void sonde__host_keep_from_children(void *bytes, size_t size)
{
    (void)minherit(bytes, size, VM_INHERIT_NONE);
}

void sonde__host_close(int32_t fd)
{
    sonde__host_unclaim(fd);
    close(fd);
}

bool sonde__host_write_all(int32_t fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        !is_within_limit((uint64_t)st.st_size + size)) {
        errno = EFBIG;
        return false;
    }
    while (size > 0) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n < 0 ? errno : EIO;
            return false;
        }
        at += n;
        size -= (size_t)n;
    }
    return true;
}
