// SPDX-License-Identifier: Apache-2.0
#include "hook_write.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Is the file this process' memory, at its own addresses? */
static bool is_ours(int fd)
{
    uint64_t here = (uint64_t)(uintptr_t)&here ^ 0x5eed5eed5eed5eed;
    uint64_t there = 0;
    return pread(fd, &there, sizeof there, (off_t)(uintptr_t)&here) == sizeof there &&
           there == here;
}

void sonde__hook_writer_open(struct sonde__hook_writer *writer, bool may_use_mem)
{
    writer->fd = may_use_mem ? open("/proc/self/mem", O_RDWR | O_CLOEXEC) : -1;
    if (writer->fd >= 0 && !is_ours(writer->fd)) {
        (void)close(writer->fd);
        writer->fd = -1;
    }
}

void sonde__hook_writer_close(struct sonde__hook_writer *writer)
{
    if (writer->fd >= 0) {
        (void)close(writer->fd);
    }
}

bool sonde__hook_write(const struct sonde__hook_writer *writer, uint64_t *slot, uint64_t value,
                       int protection)
{
    if (writer->fd >= 0 &&
        pwrite(writer->fd, &value, sizeof value, (off_t)(uintptr_t)slot) == sizeof value) {
        return true;
    }
    uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)((uintptr_t)slot / size * size); /* a slot is aligned: one page */
    if (mprotect(page, size, protection | PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    if ((protection & PROT_WRITE) == 0) {
        (void)mprotect(page, size, protection); /* on failure the page stays writable */
    }
    return true;
}

bool sonde__hook_write_code(const struct sonde__hook_writer *writer, uint64_t at,
                            const uint8_t *bytes, size_t size, int protection)
{
    if (writer->fd >= 0 && pwrite(writer->fd, bytes, size, (off_t)at) == (ssize_t)size) {
        return true;
    }
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t start = at / page * page, end = (at + size + page - 1) / page * page;
    void *pages = (void *)(uintptr_t)start;
    if (mprotect(pages, (size_t)(end - start), protection | PROT_WRITE) != 0) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        ((volatile uint8_t *)(uintptr_t)at)[i] = bytes[i];
    }
    __builtin___clear_cache((char *)(uintptr_t)at, (char *)(uintptr_t)(at + size));
    (void)mprotect(pages, (size_t)(end - start), protection);
    return true;
}
