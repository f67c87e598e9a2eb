// SPDX-License-Identifier: Apache-2.0
#include "clock.h"

#include <dlfcn.h>
#include <stddef.h>

int (*preload_clock)(clockid_t clock, struct timespec *ret_time) = clock_gettime;

/* vdso(7) has the names per architecture. The vdso is never unloaded. */
void preload_find_clock(void)
{
    static const char *const names[] = {"__vdso_clock_gettime", "__kernel_clock_gettime"};
    void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
    for (size_t i = 0; vdso != NULL && i < sizeof names / sizeof names[0]; i++) {
        void *found = dlsym(vdso, names[i]);
        if (found != NULL) {
            preload_clock = (int (*)(clockid_t, struct timespec *))(uintptr_t)found;
        }
    }
    if (vdso != NULL) {
        dlclose(vdso);
    }
}
