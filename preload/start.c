// SPDX-License-Identifier: Apache-2.0
/* Starts the probe in the first constructor of the process (linked with -z initfirst): libc is
 * relocated but not initialized. */
#include <unistd.h>

#include "level.h"
#include "preload_wrap.h"

/* ThreadSanitizer's runtime, if present, interposes close() and mmap(), and would start after
 * us. */
void __tsan_init(void) __attribute__((weak)); /* NOLINT: its name */

extern struct preload_cell __start_preload_cells[], __stop_preload_cells[];

static void start(int argc, char **argv, char **envp) __attribute__((constructor));
static void start(int argc, char **argv, char **envp)
{
    (void)argc, (void)argv;
    int fd = preload_take_environment(envp);
    for (struct preload_cell *c = __start_preload_cells; c < __stop_preload_cells; c++) {
        (void)preload_real(c);
    }
    if (__tsan_init != NULL) {
        __tsan_init();
    }
    if (fd < 0) {
        return;
    }
    struct sonde__probe_page *page = preload_map_page(fd);
    if (page != NULL && page->version == SONDE__PROBE_VERSION && page->follows != 0) {
        preload_learn_follow(fd, page);
        preload_learn_workers(fd, preload_follow);
    }
    close(fd);
    preload_learn_own_tid();
    preload_learn_program();
    preload_find_clock();
    preload_allow_direct();
    if (!preload_guard_page(page)) {
        return; /* watched only from outside; the supervisor sees that `pid` stays 0 */
    }
    if (atomic_load_explicit(&page->sample.wanted, memory_order_relaxed) != 0) {
        preload_sampler_start(page);
    }
    atomic_store_explicit(&page->pid, (int32_t)getpid(), memory_order_release);
}
