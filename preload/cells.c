// SPDX-License-Identifier: Apache-2.0
/* Addresses of the C library's own functions. */
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <string.h>

#include "preload.h"

void *preload_look_up(struct preload_cell *cell)
{
    void *real = dlsym(RTLD_NEXT, cell->name);
    __atomic_store_n(&cell->real, real, __ATOMIC_RELAXED);
    return real;
}

extern struct preload_cell __start_preload_cells[], __stop_preload_cells[];

/* Uses dladdr(): dlopen() would initialize libc, which is not yet initialized in the first
 * constructor of the process. */
void preload_allow_direct(void)
{
    static const char *const names[] = {"poll", "epoll_wait"};
    Dl_info libc, found;
    if (dladdr((void *)(uintptr_t)gnu_get_libc_version, &libc) == 0) {
        return;
    }
    for (struct preload_cell *c = __start_preload_cells; c < __stop_preload_cells; c++) {
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            if (strcmp(c->name, names[i]) == 0 && c->real != NULL && dladdr(c->real, &found) != 0 &&
                found.dli_fbase == libc.dli_fbase) {
                __atomic_store_n(&c->direct, 1, __ATOMIC_RELAXED);
            }
        }
    }
}

void preload_forbid_direct(void)
{
    for (struct preload_cell *c = __start_preload_cells; c < __stop_preload_cells; c++) {
        __atomic_store_n(&c->direct, 0, __ATOMIC_RELAXED);
    }
}
