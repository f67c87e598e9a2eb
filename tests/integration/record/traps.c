// SPDX-License-Identifier: Apache-2.0
/* Preloaded with the recorder of checked.c. Functions that no handler may call end the program if
 * the thread is inside of the recorder; else they call the original. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checked.h"
#include "linux/hook_object.h"

#pragma GCC visibility push(default)

static __thread int inside __attribute__((tls_model("initial-exec")));

/* The recorder calls it while arguments are in vector registers. */
__attribute__((target("general-regs-only"))) int *sonde_test_traps_inside(void)
{
    return &inside;
}

static void check(const char *name)
{
    static const char end[] = " was called inside of the recorder\n";
    if (inside != 0) {
        inside = 0;
        (void)!write(2, name, strlen(name));
        (void)!write(2, end, sizeof end - 1);
        abort();
    }
}

/* The allocator, under the names that need no look-up: the loader uses ours from early on. */
void *__libc_malloc(size_t size);                     /* NOLINT */
void *__libc_calloc(size_t count, size_t size);       /* NOLINT */
void *__libc_realloc(void *at, size_t size);          /* NOLINT */
void *__libc_memalign(size_t alignment, size_t size); /* NOLINT */
void __libc_free(void *at);                           /* NOLINT */

void *malloc(size_t size)
{
    check("malloc");
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    check("calloc");
    return __libc_calloc(count, size);
}

void *realloc(void *at, size_t size)
{
    check("realloc");
    return __libc_realloc(at, size);
}

void free(void *at)
{
    check("free");
    __libc_free(at);
}

void *memalign(size_t alignment, size_t size)
{
    check("memalign");
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    check("aligned_alloc");
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **ret_at, size_t alignment, size_t size)
{
    check("posix_memalign");
    void *at = __libc_memalign(alignment, size);
    if (at == NULL) {
        return ENOMEM;
    }
    *ret_at = at;
    return 0;
}

/* The others come from libc's own table: the recorder's start calls some of them before dlsym()
 * works. */
static void take(void *ctx, const ElfW(Sym) * symbol)
{
    *(uint64_t *)ctx = symbol->st_value;
}

static void *find(const char *name)
{
    for (const struct link_map *map = _r_debug.r_map; map != NULL; map = map->l_next) {
        const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)map->l_addr;
        struct sonde__hook_object object;
        uint64_t vaddr = 0;
        if (strstr(map->l_name, "/libc.so.6") == NULL) {
            continue;
        }
        const struct dl_phdr_info info = {
            .dlpi_addr = map->l_addr,
            .dlpi_phdr = (const ElfW(Phdr) *)(const void *)((const char *)header + header->e_phoff),
            .dlpi_phnum = header->e_phnum,
        };
        sonde__hook_object_read(&info, &object);
        sonde__hook_each_definition(&object, name, take, &vaddr);
        if (vaddr != 0) {
            return (void *)(uintptr_t)(map->l_addr + vaddr);
        }
    }
    abort();
}

#define TRAP(type, name, parameters, arguments)                                                    \
    type name parameters                                                                           \
    {                                                                                              \
        static type(*next) parameters;                                                             \
        check(#name);                                                                              \
        if (next == NULL) {                                                                        \
            next = (type(*) parameters)find(#name);                                                \
        }                                                                                          \
        return next arguments;                                                                     \
    }
TRAP(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))
TRAP(int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex))
TRAP(int, pthread_mutex_unlock, (pthread_mutex_t * mutex), (mutex))
TRAP(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
TRAP(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))
TRAP(int, pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock))
TRAP(int, pthread_spin_lock, (pthread_spinlock_t * lock), (lock))
TRAP(int, pthread_spin_unlock, (pthread_spinlock_t * lock), (lock))
TRAP(int, sem_wait, (sem_t * semaphore), (semaphore))
TRAP(int, sem_post, (sem_t * semaphore), (semaphore))
TRAP(int, pthread_once, (pthread_once_t * once, void (*run)(void)), (once, run))
TRAP(int, dladdr, (const void *address, Dl_info *ret_info), (address, ret_info))
TRAP(int, dl_iterate_phdr, (int (*each)(struct dl_phdr_info *, size_t, void *), void *ctx),
     (each, ctx))

#pragma GCC visibility pop
