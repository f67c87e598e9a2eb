// SPDX-License-Identifier: Apache-2.0
/* Reads of memory that may be unmapped.
 *
 * process_vm_readv copies in the kernel: unmapped memory ends the copy and never faults here. It is
 * missing under qemu-user (ENOSYS), and some system call filters refuse it (EPERM). Then this
 * process is read through a pipe, where write() fails with EFAULT for unreadable memory, and other
 * processes through their `mem` file, which needs the same right. Testing a page before loading
 * from it was rejected: another thread may unmap it in between. Only a confined process does it, in
 * which any other way may be the end. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "base_text.h"
#include "linux_syscall.h"
#include "os.h"
#include "os_confined.h"

/* Divides every page size of Linux, so a chunk is either readable or not; an empty pipe always
 * takes a whole chunk. */
enum { PIPE_CHUNK = 4096 };

/* So many threads are tried. */
enum { LIVE_THREADS = 64 };

static long read_vm(int32_t pid, uint64_t address, void *bytes, size_t size)
{
    struct iovec local = {bytes, size};
    struct iovec remote = {(void *)(uintptr_t)address, size};
    return linux_call6(SYS_process_vm_readv, pid, (long)&local, 1, (long)&remote, 1, 0);
}

static size_t read_pipe(uint64_t address, uint8_t *bytes, size_t size)
{
    int32_t fds[2] = {-1, -1};
    size_t done = 0;
    if (linux_failed(linux_call(SYS_pipe2, fds, O_CLOEXEC | O_NONBLOCK, 0, 0))) {
        return 0;
    }
    while (done < size) {
        size_t chunk = PIPE_CHUNK - (size_t)((address + done) % PIPE_CHUNK);
        long written;
        if (chunk > size - done) {
            chunk = size - done;
        }
        written = linux_call(SYS_write, fds[1], address + done, chunk, 0);
        if (written == -EINTR) {
            continue;
        }
        if (linux_failed(written) || written == 0) {
            break;
        }
        /* what was written can be read back, unless the destination is bad */
        if (linux_call(SYS_read, fds[0], bytes + done, written, 0) != written) {
            break;
        }
        done += (size_t)written;
    }
    linux_call(SYS_close, fds[0], 0, 0, 0);
    linux_call(SYS_close, fds[1], 0, 0, 0);
    return done;
}

static _Atomic bool confined;

void sonde__os_confine(void)
{
    confined = true;
}

bool sonde__os_is_confined(void)
{
    return confined;
}

enum { MASK_BYTES = 8 };

/* Pass `address` as a signal set, with an invalid `how`: the kernel copies the set first
 * (kernel/signal.c, rt_sigprocmask), so its error shows whether it could read it. Takes about 0.1
 * us a page; process_vm_readv(), which takes a reference to each page, needs 0.5 us, at first 1.5
 * us. The set need not be aligned. */
static long ask_by_mask(uint64_t address)
{
    return linux_call(SYS_rt_sigprocmask, -1, address, 0, MASK_BYTES);
}

/* Can MASK_BYTES be read at `address`? */
static bool can_read(uint64_t address)
{
    enum { UNKNOWN, ASK_BY_MASK, ASK_BY_READ };
    static uint8_t way;
    uint8_t bytes[MASK_BYTES];
    uint8_t known = __atomic_load_n(&way, __ATOMIC_RELAXED);
    if (known == UNKNOWN) { /* an emulator may check the arguments in another order */
        known = ask_by_mask(UINT64_MAX) == -EFAULT && ask_by_mask(8) == -EFAULT &&
                        ask_by_mask((uint64_t)(uintptr_t)bytes) == -EINVAL
                    ? ASK_BY_MASK
                    : ASK_BY_READ;
        __atomic_store_n(&way, known, __ATOMIC_RELAXED);
    }
    if (known == ASK_BY_MASK) {
        return ask_by_mask(address) == -EINVAL;
    }
    return !confined && sonde__os_read(address, bytes, MASK_BYTES) == MASK_BYTES;
}

bool sonde__os_can_read(uint64_t address)
{
    return can_read(address & ~(uint64_t)(MASK_BYTES - 1));
}

bool sonde__os_can_read_across(uint64_t boundary)
{
    return can_read(boundary - MASK_BYTES / 2);
}

static bool is_refusal(long result)
{
    return result == -ENOSYS || result == -EPERM || result == -EACCES;
}

/* The kernel copies page by page and stops at an unreadable one. *ret_result: the reason, if
 * nothing was read. */
static size_t read_readable(int32_t pid, uint64_t address, uint8_t *bytes, size_t size,
                            long *ret_result)
{
    *ret_result = size > 0 ? read_vm(pid, address, bytes, size) : 0;
    return *ret_result > 0 ? (size_t)*ret_result : 0;
}

static size_t read_tested(uint64_t address, uint8_t *bytes, size_t size)
{
    const volatile uint8_t *from = (const volatile uint8_t *)(uintptr_t)address;
    for (size_t done = 0; done < size; done++) {
        uint64_t at = address + done;
        if ((done == 0 || at % PIPE_CHUNK == 0) && !sonde__os_can_read(at)) {
            return done;
        }
        bytes[done] = from[done];
    }
    return size;
}

size_t sonde__os_read(uint64_t address, void *ret_bytes, size_t size)
{
    if (confined) {
        return read_tested(address, ret_bytes, size);
    }
    long result;
    size_t done = read_readable(sonde__os_pid(), address, ret_bytes, size, &result);
    return done == 0 && is_refusal(result) ? read_pipe(address, ret_bytes, size) : done;
}

/* Parts per call: on a handler's stack, and elsewhere. */
enum { BATCH = 32, LARGE_BATCH = 256 };

/* Read parts[0..count) with one call. Returns the number of finished parts: the kernel stops at the
 * first unreadable page, which finishes that part. 0: refused. */
static size_t read_batch(int32_t pid, struct sonde__os_part *parts, size_t count,
                         struct iovec *local, struct iovec *remote)
{
    size_t left, done = 0;
    long result;
    for (size_t i = 0; i < count; i++) {
        local[i] = (struct iovec){parts[i].bytes, parts[i].size};
        remote[i] = (struct iovec){(void *)(uintptr_t)parts[i].address, parts[i].size};
    }
    result = linux_call6(SYS_process_vm_readv, pid, (long)local, (long)count, (long)remote,
                         (long)count, 0);
    if (linux_failed(result) && result != -EFAULT) {
        return 0;
    }
    left = linux_failed(result) ? 0 : (size_t)result;
    while (done < count) {
        struct sonde__os_part *part = &parts[done++];
        part->got = left < part->size ? left : part->size;
        left -= part->got;
        if (part->got < part->size) {
            break;
        }
    }
    return done;
}

void sonde__os_read_parts(struct sonde__os_part *parts, size_t count)
{
    struct iovec local[BATCH], remote[BATCH];
    int32_t pid = sonde__os_pid();
    while (count > 0) {
        size_t done =
            confined ? 0 : read_batch(pid, parts, count < BATCH ? count : BATCH, local, remote);
        if (done == 0) { /* read one by one, with the fallbacks */
            parts->got = sonde__os_read(parts->address, parts->bytes, parts->size);
            done = 1;
        }
        parts += done;
        count -= done;
    }
}

enum sonde__os_reader sonde__os_reader(void)
{
    uint64_t from = 0x736f6e6465, to = 0;
    if (read_vm(sonde__os_pid(), (uint64_t)(uintptr_t)&from, &to, sizeof to) == sizeof to) {
        return SONDE__OS_READER_PROCESS;
    }
    to = 0;
    return read_pipe((uint64_t)(uintptr_t)&from, (uint8_t *)&to, sizeof to) == sizeof to
               ? SONDE__OS_READER_PIPE
               : SONDE__OS_READER_NONE;
}

/* If the file cannot be opened, *ret_result keeps the first refusal, which is the reason. (Through
 * the file even pages without access rights, such as stack guards, can be read.) */
static size_t read_mem_file(int32_t pid, uint64_t address, uint8_t *bytes, size_t size,
                            long *ret_result)
{
    struct sonde__text path;
    char path_buffer[32];
    size_t done = 0, part = 0;
    int32_t fd;
    sonde__base_text_init(&path, path_buffer, sizeof path_buffer);
    sonde__base_text_str(&path, "/proc/");
    sonde__base_text_dec(&path, (uint64_t)pid);
    sonde__base_text_str(&path, "/mem");
    if (sonde__os_open(path_buffer, &fd, NULL) != SONDE_OK) {
        return 0;
    }
    while (done < size &&
           sonde__os_pread(fd, bytes + done, size - done, address + done, &part, NULL) ==
               SONDE_OK &&
           part > 0) {
        done += part;
    }
    sonde__os_close(fd);
    *ret_result = 0; /* EFAULT, unmapped memory, is not a refusal */
    return done;
}

/* If the main thread has ended before others, the number of the process shows no memory, but those
 * of the others do. */
static size_t read_through_thread(int32_t pid, uint64_t address, uint8_t *bytes, size_t size,
                                  long *ret_result)
{
    uint64_t tids[LIVE_THREADS];
    size_t total = 0, done = 0;
    if (sonde__os_list_threads(pid, tids, LIVE_THREADS, &total, NULL) != SONDE_OK) {
        return 0;
    }
    for (size_t i = 0; i < total && i < LIVE_THREADS && *ret_result == -ESRCH; i++) {
        done = read_readable((int32_t)tids[i], address, bytes, size, ret_result);
    }
    return done;
}

size_t sonde__os_read_process(int32_t pid, uint64_t address, void *ret_bytes, size_t size,
                              int32_t *ret_os_error)
{
    long result;
    size_t done = read_readable(pid, address, ret_bytes, size, &result);
    if (done == 0 && result == -ESRCH) {
        done = read_through_thread(pid, address, ret_bytes, size, &result);
    }
    if (done == 0 && is_refusal(result)) {
        done = read_mem_file(pid, address, ret_bytes, size, &result);
    }
    if (done < size && ret_os_error != NULL) {
        *ret_os_error = linux_failed(result) ? (int32_t)-result : EFAULT;
    }
    return done;
}

void sonde__os_read_process_parts(int32_t pid, struct sonde__os_part *parts, size_t count)
{
    struct iovec local[LARGE_BATCH], remote[LARGE_BATCH];
    while (count > 0) {
        size_t done =
            read_batch(pid, parts, count < LARGE_BATCH ? count : LARGE_BATCH, local, remote);
        if (done == 0) { /* refused: use the fallbacks */
            parts->got =
                sonde__os_read_process(pid, parts->address, parts->bytes, parts->size, NULL);
            done = 1;
        }
        parts += done;
        count -= done;
    }
}

void *sonde__os_map(size_t size)
{
    long result = linux_call6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return linux_failed(result) ? NULL : (void *)result;
}

void sonde__os_unmap(void *memory, size_t size)
{
    linux_call(SYS_munmap, memory, size, 0, 0);
}
