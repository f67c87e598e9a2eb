// SPDX-License-Identifier: Apache-2.0
#include "host_scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base_status.h"
#include "host_limit.h"

enum { PATH_BYTES = 4096 };

/* A file created without a name; older file systems need one for a moment. */
static int open_nameless(const char *folder)
{
    char path[PATH_BYTES];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) {
        return fd;
    }
    if (snprintf(path, sizeof path, "%s/sonde.XXXXXX", folder) >= (int)sizeof path) {
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) {
        unlink(path);
    }
    return fd;
}

static void *map_file(int fd, size_t size, bool *ret_no_room)
{
    void *data = MAP_FAILED;
    int rc;
    struct sonde__host_limit limit;
    sonde__host_limit_begin(&limit);
    do {
        rc = fallocate(fd, 0, 0, (off_t)size);
    } while (rc != 0 && errno == EINTR);
    sonde__host_limit_end(&limit);
    *ret_no_room = rc != 0 && (errno == ENOSPC || errno == EFBIG || errno == EDQUOT);
    if (rc == 0) {
        data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    return data;
}

enum sonde_status sonde__host_scratch_open(size_t size, struct sonde__host_scratch *ret_scratch,
                                           struct sonde_error *ret_error)
{
    const char *folder = getenv("TMPDIR");
    void *data = MAP_FAILED;
    bool no_room = false;
    int fd = open_nameless(folder != NULL && folder[0] == '/' ? folder : "/var/tmp");
    if (fd >= 0) {
        data = map_file(fd, size, &no_room);
        close(fd);
    }
    if (no_room) {
        return sonde__base_fail(ret_error, SONDE_LIMIT,
                                "no room for it in the folder for temporary files (TMPDIR)", NULL,
                                0, size);
    }
    if (data == MAP_FAILED) {
        data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (data == MAP_FAILED) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory for so much", NULL, 0, size);
    }
    *ret_scratch = (struct sonde__host_scratch){data, size};
    return SONDE_OK;
}

void sonde__host_scratch_close(struct sonde__host_scratch *scratch)
{
    if (scratch->data != NULL) {
        munmap(scratch->data, scratch->size);
    }
    *scratch = (struct sonde__host_scratch){0};
}
