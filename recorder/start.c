// SPDX-License-Identifier: Apache-2.0
/* Starts the recorder in the first constructor of the process (linked with -z initfirst), so that
 * calls of other constructors are recorded. Only ifunc resolvers and a sanitizer's start may have
 * run before. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "family.h"

/* The functions that sanitizer runtimes interpose work only after the runtime has looked up libc's
 * own: start the runtimes before those are hooked. */
void __tsan_init(void) __attribute__((weak)); /* NOLINT: their names */
void __asan_init(void) __attribute__((weak)); /* NOLINT */
void __lsan_init(void) __attribute__((weak)); /* NOLINT */

static void start_runtimes(void)
{
    if (__tsan_init != NULL) {
        __tsan_init();
    }
    if (__asan_init != NULL) {
        __asan_init();
    }
    if (__lsan_init != NULL) {
        __lsan_init();
    }
}

static void *map_part(int fd, size_t size, uint64_t offset)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    return at == MAP_FAILED ? NULL : at;
}

/* Map the shared memory. False: missing or not suitable. */
static bool map_plugin(int fd, const struct sonde__probe_page *probe)
{
    uint64_t offset = probe->plugin;
    struct sonde__record_page *page = map_part(fd, sizeof *page, offset);
    if (page == NULL || page->version != SONDE__RECORD_PAGE_VERSION ||
        page->function_count > SONDE__RECORD_FUNCTIONS) {
        return false;
    }
    void *memory = map_part(fd, sonde__record_size(page->nodes), offset + SONDE__RECORD_OFFSET);
    uint64_t registry_at = offset + SONDE__RECORD_OFFSET + sonde__record_size(page->nodes);
    bool is_whole = recorder_take(page, memory);
    if (is_whole && page->registry_lines != 0) {
        void *registry = map_part(fd, sonde__registry_size(page->registry_lines), registry_at);
        is_whole = registry != NULL;
        if (is_whole) {
            recorder_start_blocks(registry);
        }
    }
    if (!is_whole) {
        atomic_store(&page->state, SONDE__RECORD_FAILED);
    } else if (page->family_at != 0) {
        recorder_enter_family(fd, probe, memory);
    }
    return is_whole;
}

static void start(int argc, char **argv, char **envp) __attribute__((constructor));
static void start(int argc, char **argv, char **envp)
{
    (void)argc, (void)argv;
    int fd = preload_take_environment(envp);
    start_runtimes();
    if (fd < 0) {
        return;
    }
    struct sonde__probe_page *page = preload_map_page(fd);
    bool is_shared = page != NULL && page->version == SONDE__PROBE_VERSION && page->plugin != 0 &&
                     map_plugin(fd, page);
    close(fd);
    if (!preload_guard_page(page)) {
        return;
    }
    if (is_shared && recorder_take_conditions()) {
        recorder_swept = recorder_find_phases;
        (void)recorder_begin(SONDE__HOOK_FIRST);
    }
    atomic_store_explicit(&page->pid, (int32_t)getpid(), memory_order_release);
}

/* Log what was loaded last. */
static void finish(void) __attribute__((destructor));
static void finish(void)
{
    if (preload_page() != NULL && recorder_hooks != NULL) {
        recorder_inspect_images();
        (void)recorder_look_for_methods();
    }
}
