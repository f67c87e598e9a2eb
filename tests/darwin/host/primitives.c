// SPDX-License-Identifier: Apache-2.0
/* The primitives by which the simulated libSystem calls Linux, and the program itself:
 *
 *     machohost LIBSYSTEM PROGRAM [ARGUMENT...]
 *
 * A primitive takes and returns words, pointers and 32-bit numbers only, at most six, so that
 * nothing about the layout of either system's structs crosses the border. The table below names
 * each; images see it as _host_NAME. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

enum { STACK_BYTES = 8 << 20, COPIES_FD = 900 };

static char *stack; /* of the main thread */
static int copies;  /* the file of host_read_memory() */

void host_fail(const char *format, ...)
{
    va_list arguments;
    fputs("machohost: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(125);
}

/* --- primitives --- */

static int64_t host_write(int32_t fd, const void *bytes, uint64_t size)
{
    ssize_t written = write(fd, bytes, size);
    return written >= 0 ? written : -1;
}

static _Noreturn void host_exit(int32_t status)
{
    exit(status);
}

static int32_t host_getpid(void)
{
    return getpid();
}

static uint32_t host_getuid(void)
{
    return getuid();
}

static int32_t host_close(int32_t fd)
{
    return close(fd);
}

static uint64_t host_gettid(void)
{
    return (uint64_t)syscall(SYS_gettid);
}

static uint64_t host_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t host_real_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t host_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Zeroed pages, or null if there is no memory. */
static void *host_map(uint64_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    host_note_mappings();
    return memory != MAP_FAILED ? memory : NULL;
}

static int32_t host_unmap(void *memory, uint64_t size)
{
    int32_t result = munmap(memory, size);
    host_note_mappings();
    return result;
}

/* Read memory that may be bad, all of it or fail: the kernel copies it to a file in memory and
 * back, which also an emulator refuses for unreadable memory (it lacks process_vm_readv(2)). Each
 * thread, also of other processes that have the file, has a part of it. */
static int32_t host_read_memory(uint64_t address, void *ret_bytes, uint64_t size)
{
    enum { PART = 1 << 16 };
    off_t own = (off_t)syscall(SYS_gettid) * PART;
    uint64_t done = 0;
    while (done < size) {
        uint64_t part = size - done < PART ? size - done : PART;
        if (pwrite(copies, (const void *)(uintptr_t)(address + done), part, own) != (ssize_t)part ||
            pread(copies, (char *)ret_bytes + done, part, own) != (ssize_t)part) {
            break;
        }
        done += part;
    }
    return done == size;
}

/* Sleep while *word == expected, for timeout_ns at most. A suspension does not end that. */
static void host_sleep(const uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    uint64_t until_ns = host_now_ns() + timeout_ns;
    struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
    __atomic_store_n(&host_border.is_waiting, 1, __ATOMIC_SEQ_CST);
    while (syscall(SYS_futex, word, FUTEX_WAIT_BITSET, expected, &until, NULL,
                   FUTEX_BITSET_MATCH_ANY) != 0 &&
           errno == EINTR) {
    }
    __atomic_store_n(&host_border.is_waiting, 0, __ATOMIC_SEQ_CST);
}

static void host_wake(const uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static uint64_t host_stack_end(void)
{
    return (uint64_t)(uintptr_t)stack + STACK_BYTES;
}

static uint64_t host_stack_size(void)
{
    return STACK_BYTES;
}

static uint32_t host_count_images(void)
{
    return host_image_count;
}

/* The header in memory, slide and path of image `index`. */
static void host_get_image(uint32_t index, const void **ret_header, uint64_t *ret_slide,
                           const char **ret_path)
{
    *ret_header = host_images[index].header;
    *ret_slide = host_images[index].slide;
    *ret_path = host_images[index].path;
}

static uint64_t host_image_size(uint32_t index)
{
    return host_images[index].size;
}

/* For ../bench.sh, which finds the calls of it among the instructions that ran. */
__attribute__((noinline)) static void host_mark(void)
{
    __asm__ volatile("" ::: "memory");
}

static int32_t host_fork_and_wait(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        host_keep_own_thread();
        return 0;
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return child < 0 || !WIFEXITED(status) ? 256 + WTERMSIG(status) : 1 + WEXITSTATUS(status);
}

/* Variable arguments of an image are words in memory on arm64 (Apple passes all on the stack), and
 * as here on x86-64. */
#if defined(__aarch64__)
#    define LIST_OF(arguments) ((va_list){.__stack = (arguments)})
#else
#    define LIST_OF(arguments) (arguments)
#endif

static int32_t host_vsnprintf(char *text, uint64_t size, const char *format, void *arguments)
{
    return vsnprintf(text, size, format, LIST_OF(arguments));
}

static int32_t host_vsscanf(const char *text, const char *format, void *arguments)
{
    return vsscanf(text, format, LIST_OF(arguments));
}

/* A function of the C library whose parameters are words. */
#define LIBC(name)                                                                                 \
    {                                                                                              \
        "_host_" #name, (uint64_t)(uintptr_t)name                                                  \
    }
#define PRIMITIVE(name)                                                                            \
    {                                                                                              \
        "_host_" #name, (uint64_t)(uintptr_t)host_##name                                           \
    }

const struct host_primitive host_primitives[] = {
    PRIMITIVE(write),
    PRIMITIVE(exit),
    PRIMITIVE(getpid),
    PRIMITIVE(gettid),
    PRIMITIVE(now_ns),
    PRIMITIVE(cpu_ns),
    PRIMITIVE(map),
    PRIMITIVE(unmap),
    PRIMITIVE(protect),
    PRIMITIVE(find_export_in),
    PRIMITIVE(find_lazy),
    PRIMITIVE(load_later),
    PRIMITIVE(initialiser),
    PRIMITIVE(read_memory),
    PRIMITIVE(stack_end),
    PRIMITIVE(stack_size),
    PRIMITIVE(count_images),
    PRIMITIVE(get_image),
    PRIMITIVE(image_size),
    PRIMITIVE(export_at),
    PRIMITIVE(find_export),
    PRIMITIVE(find_region),
    PRIMITIVE(getuid),
    PRIMITIVE(close),
    PRIMITIVE(sleep),
    PRIMITIVE(wake),
    PRIMITIVE(start_thread),
    PRIMITIVE(end_thread),
    PRIMITIVE(count_threads),
    PRIMITIVE(is_thread),
    PRIMITIVE(suspend_thread),
    PRIMITIVE(resume_thread),
    PRIMITIVE(get_registers),
    PRIMITIVE(is_waiting),
    PRIMITIVE(read_cpu),
    PRIMITIVE(real_ns),
    PRIMITIVE(vsnprintf),
    PRIMITIVE(vsscanf),
    LIBC(memmem),
    PRIMITIVE(fork_and_wait),
    PRIMITIVE(mark),
    LIBC(strncasecmp),
    LIBC(stpcpy),
    LIBC(strtok_r),
    PRIMITIVE(open),
    PRIMITIVE(read),
    PRIMITIVE(stat),
    PRIMITIVE(map_file),
    PRIMITIVE(open_folder),
    PRIMITIVE(next_name),
    PRIMITIVE(close_folder),
    PRIMITIVE(open_folder_of),
    LIBC(putenv),
    LIBC(getentropy),
    LIBC(malloc),
    LIBC(calloc),
    LIBC(realloc),
    LIBC(free),
    LIBC(memcpy),
    LIBC(memmove),
    LIBC(memset),
    LIBC(memcmp),
    LIBC(memchr),
    LIBC(strchr),
    LIBC(strrchr),
    LIBC(strstr),
    LIBC(strncmp),
    LIBC(strcasecmp),
    LIBC(strspn),
    LIBC(strcspn),
    LIBC(strcpy),
    LIBC(strncpy),
    LIBC(strnlen),
    LIBC(strtol),
    LIBC(strtoul),
    LIBC(getenv),
    {NULL, 0},
};

/* With a number that no program of these tests gets for its files. */
static int open_copies(void)
{
    int fd = memfd_create("copies", MFD_CLOEXEC), high = fcntl(fd, F_DUPFD_CLOEXEC, COPIES_FD);
    if (high < 0) {
        host_fail("no file in memory");
    }
    close(fd);
    return high;
}

/* libSystem, the program, and those of DYLD_INSERT_LIBRARIES. */
static unsigned list_images(char **argv, const char *ret_paths[HOST_IMAGES_MAX])
{
    const char *inserted = getenv("DYLD_INSERT_LIBRARIES");
    char *rest = inserted != NULL ? strdup(inserted) : NULL, *at = NULL;
    unsigned count = 2;
    ret_paths[0] = argv[1];
    ret_paths[1] = argv[2];
    for (char *path = rest != NULL ? strtok_r(rest, ":", &at) : NULL;
         path != NULL && count < HOST_IMAGES_MAX; path = strtok_r(NULL, ":", &at)) {
        ret_paths[count++] = path;
    }
    return count;
}

int main(int argc, char **argv, char **envp)
{
    const char *paths[HOST_IMAGES_MAX];
    if (argc < 3) {
        host_fail("usage: machohost LIBSYSTEM PROGRAM [ARGUMENT...]");
    }
    stack = host_map(STACK_BYTES);
    copies = open_copies();
    host_load(paths, list_images(argv, paths));
    uint64_t start = host_find_export("_sim_start"), program = host_entry(1);
    if (start == 0 || program == 0 || stack == NULL) {
        host_fail("%s: no program", argv[2]);
    }
    border_start(start, host_stack_end(), argc - 2, argv + 2, envp, program);
}
