// SPDX-License-Identifier: Apache-2.0
/* Files, as they are read (store.c: written). */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim.h"

/* The numbers up to 34 are the same but one. */
static const struct {
    int host, own;
} errors[] = {{11, EAGAIN},     {36, ENAMETOOLONG}, {38, ENOSYS},    {39, ENOTEMPTY},
              {40, ELOOP},      {61, ENOATTR},      {75, EOVERFLOW}, {95, ENOTSUP},
              {110, ETIMEDOUT}, {116, ESTALE},      {122, EDQUOT}};

/* Set errno for an error of the host. */
int sim_fail(int64_t host_error)
{
    errno = (int)host_error;
    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++) {
        errno = errors[i].host == host_error ? errors[i].own : errno;
    }
    return -1;
}

int sim_host_error(int error)
{
    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].own == error) {
            return errors[i].host;
        }
    }
    return error;
}

ssize_t read(int fd, void *bytes, size_t size)
{
    int64_t got = host_read(fd, bytes, size);
    return got >= 0 ? (ssize_t)got : sim_fail(-got);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    int64_t written = host_write_file(fd, bytes, size);
    return written >= 0 ? (ssize_t)written : sim_fail(-written);
}

int close(int fd)
{
    return host_close(fd) == 0 ? 0 : sim_fail(EBADF);
}

/* The bits of a mode are the same. */
void sim_give_status(const struct sim_status *status, struct stat *ret_status)
{
    *ret_status = (struct stat){
        .st_dev = (dev_t)status->device,
        .st_ino = status->inode,
        .st_mode = (mode_t)status->mode,
        .st_nlink = (nlink_t)status->links,
        .st_uid = (uid_t)status->user,
        .st_size = (off_t)status->size,
        .st_mtimespec = {.tv_sec = (time_t)(status->modified_ns / 1000000000),
                         .tv_nsec = (long)(status->modified_ns % 1000000000)},
    };
}

int fstat(int fd, struct stat *ret_status)
{
    struct sim_status status;
    if (host_stat(fd, &status) != 0) {
        return sim_fail(EBADF);
    }
    sim_give_status(&status, ret_status);
    return 0;
}

/* A whole file for reading, or shared; or memory, also shared. */
static void *map(size_t size, int protection, int flags, int fd)
{
    int is_file = (flags & MAP_ANON) == 0, is_shared = (flags & MAP_SHARED) != 0;
    void *memory = 0;
    if (is_shared && !is_file) {
        return host_map_shared_memory(size, &memory) == 0 ? memory : 0;
    }
    return is_shared                 ? host_map_shared(fd, size)
           : !is_file                ? host_map(size)
           : protection == PROT_READ ? host_map_file(fd, size)
                                     : 0;
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    void *memory = at == 0 && offset == 0 ? map(size, protection, flags, fd) : 0;
    return memory != 0 ? memory : (sim_fail(at != 0 || offset != 0 ? ENOTSUP : ENOMEM), MAP_FAILED);
}

int munmap(void *memory, size_t size)
{
    return host_unmap(memory, size) == 0 ? 0 : sim_fail(EINVAL);
}

int mprotect(void *memory, size_t size, int protection)
{
    return host_protect(memory, size, protection) == 0 ? 0 : sim_fail(EINVAL);
}
