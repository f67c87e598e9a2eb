// SPDX-License-Identifier: Apache-2.0
/* The registry of blocks in the program. Handler code but for its start. */
#include <dlfcn.h>
#include <time.h>

#include "os.h"
#include "recorder.h"

struct sonde__registry_calls recorder_blocks;

static int (*vdso_clock)(clockid_t clock, struct timespec *ret_time);

/* A jiffy of resolution is enough for an age, and costs a fifth of the fine clock. */
static uint64_t now_ns(void)
{
    struct timespec now;
    if (vdso_clock == NULL || vdso_clock(CLOCK_MONOTONIC_COARSE, &now) != 0) {
        return sonde__os_now_ns();
    }
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* vdso(7): the names per architecture. The vdso is never unloaded. */
static void find_clock(void)
{
    static const char *const names[] = {"__vdso_clock_gettime", "__kernel_clock_gettime"};
    void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
    for (size_t i = 0; vdso != NULL && i < sizeof names / sizeof names[0]; i++) {
        void *found = dlsym(vdso, names[i]);
        if (found != NULL) {
            vdso_clock = (int (*)(clockid_t, struct timespec *))(uintptr_t)found;
        }
    }
    if (vdso != NULL) {
        dlclose(vdso);
    }
}

void recorder_start_blocks(void *memory)
{
    find_clock();
    recorder_blocks = (struct sonde__registry_calls){
        .registry = {memory, recorder_page->registry_lines},
        .record = recorder_record,
        .now_ns = now_ns,
    };
}
