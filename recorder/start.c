// SPDX-License-Identifier: Apache-2.0
/* Starts the recorder in the first constructor of the process (linked with -z initfirst), so that
 * calls of other constructors are recorded. Only ifunc resolvers and a sanitizer's start may have
 * run before. */
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "hook_method.h"
#include "linux/hook_object.h"
#include "recorder.h"
#include "target_self.h"

static const char *names[SONDE__RECORD_FUNCTIONS + SONDE__RECORD_EVENTS];
static const char *const event_names[] = SONDE__RECORD_EVENT_NAMES;
_Static_assert(sizeof event_names / sizeof *event_names == SONDE__RECORD_EVENTS, "record_page.h");

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

/* Note the range of our own image; its data segment is the last. */
static int find_own(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct sonde__record_page *page = ctx;
    struct sonde__hook_object object;
    (void)size;
    sonde__hook_object_read(info, &object);
    const ElfW(Phdr) *own = sonde__hook_segment(&object, (uint64_t)(uintptr_t)sonde__probe_hooks);
    if (own != NULL) {
        page->own_start = object.base;
        page->own_end = object.base + own->p_vaddr + own->p_memsz;
    }
    return own != NULL;
}

static void copy_names(void)
{
    static char texts[sizeof recorder_page->names];
    const struct sonde__record_page *page = recorder_page;
    recorder_name_count = page->function_count;
    for (uint32_t i = 0; i < page->function_count; i++) {
        uint32_t at = page->functions[i].name;
        recorder_names[i] = memcpy(texts + at, page->names + at, strlen(page->names + at) + 1);
    }
}

/* Listed functions keep their number; one that is also an event is hooked once. */
static void list_names(void)
{
    struct sonde__hook_method_name method;
    bool has_methods = false;
    copy_names();
    memcpy(names + RECORDER_EVENT_FUNCTION, event_names, sizeof event_names);
    memset(recorder_listed_events, 0xff, sizeof recorder_listed_events);
    for (uint32_t i = 0; i < recorder_name_count; i++) {
        names[i] = recorder_names[i];
        has_methods |= sonde__hook_method_parse(names[i], &method);
        for (uint32_t event = 0; event < SONDE__RECORD_EVENTS; event++) {
            if (strcmp(names[i], event_names[event]) == 0) {
                recorder_listed_events[event] = i;
            }
        }
    }
    for (uint32_t event = 0; event < SONDE__RECORD_EVENTS; event++) {
        bool is_of_objc = event >= SONDE__RECORD_OBJC_LOAD && event < SONDE__RECORD_SYSCALL;
        uint32_t listed = recorder_listed_events[event];
        if (is_of_objc && !has_methods) {
            names[RECORDER_EVENT_FUNCTION + event] = NULL;
        } else if (listed != RECORDER_NONE) {
            names[listed] = NULL;
        }
    }
}

static uint64_t now_ns(void)
{
    recorder_busy++; /* without a vdso this is libc's function, which may be listed */
    uint64_t now = preload_now_ns();
    recorder_busy--;
    return now;
}

static void *map_part(int fd, size_t size, uint64_t offset)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    return at == MAP_FAILED ? NULL : at;
}

/* Map the shared memory. False: missing or not suitable. */
static bool map_plugin(int fd, uint64_t offset)
{
    struct sonde__record_page *page = map_part(fd, sizeof *page, offset);
    if (page == NULL || page->version != SONDE__RECORD_PAGE_VERSION ||
        page->function_count > SONDE__RECORD_FUNCTIONS) {
        return false;
    }
    recorder_page = page;
    void *memory = map_part(fd, sonde__record_size(page->nodes), offset + SONDE__RECORD_OFFSET);
    recorder_record = memory != NULL ? sonde__record_at(memory, page->nodes) : NULL;
    uint64_t registry_at = offset + SONDE__RECORD_OFFSET + sonde__record_size(page->nodes);
    bool is_whole = recorder_record != NULL;
    if (is_whole) {
        sonde__record_limit_walks(recorder_record);
    }
    if (is_whole && page->keeps_seen != 0) {
        recorder_start_cost();
        is_whole = sonde__record_keep_seen(recorder_record, now_ns);
    }
    if (is_whole && page->registry_lines != 0) {
        void *registry = map_part(fd, sonde__registry_size(page->registry_lines), registry_at);
        is_whole = registry != NULL;
        if (is_whole) {
            recorder_start_blocks(registry);
        }
    }
    if (!is_whole) {
        atomic_store(&page->state, SONDE__RECORD_FAILED);
    }
    return is_whole;
}

/* Copy the conditions, which the program can write, and check the copy. */
static bool take_conditions(void)
{
    recorder_when = recorder_page->when;
    if (recorder_when.limit_count != 0) {
        preload_find_clock();
    }
    bool is_good = sonde__when_check(&recorder_when, SONDE__RECORD_LABELS);
    if (!is_good) {
        atomic_store(&recorder_page->state, SONDE__RECORD_FAILED);
    }
    return is_good;
}

static void begin(void)
{
    struct sonde__record_page *page = recorder_page;
    struct sonde_error error;
    (void)dl_iterate_phdr(find_own, page);
    list_names();
    recorder_start_numbers();
    recorder_start_raw();
    recorder_inspect_images();
    sonde__probe_hook_set_recorder(recorder_call);
    recorder_busy++;
    enum sonde_status status = sonde__hook_start(names, sizeof names / sizeof *names,
                                                 SONDE__HOOK_FIRST, &recorder_hooks, &error);
    if (status == SONDE_OK) {
        recorder_log_blind_spots();
    }
    recorder_busy--;
    atomic_store(&page->state, status == SONDE_OK ? SONDE__RECORD_RUNS : SONDE__RECORD_FAILED);
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
                     map_plugin(fd, page->plugin);
    close(fd);
    if (!preload_guard_page(page)) {
        return;
    }
    if (is_shared && take_conditions()) {
        begin();
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
