// SPDX-License-Identifier: Apache-2.0
/* The start of the recorder: the first constructor of the process (linked with -z initfirst), so
 * that what other constructors call is recorded.
 *
 * The library was given names when the program was started (audit_library.h): thunk i is known to
 * the loader as function i of the list, and calls were bound to it while the objects were
 * relocated. Until this constructor ran, a thunk has no target: nothing may call one. */
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hook_object.h"
#include "recorder.h"
#include "target_self.h"

_Static_assert(SONDE__RECORD_THUNKS == SONDE__PROBE_HOOKS, "record_page.h");

struct sonde__record_page *recorder_page;
struct sonde__record *recorder_record;
struct sonde__hooks *recorder_hooks;
void *(*recorder_dlsym)(void *handle, const char *name);

static const char *names[SONDE__RECORD_FUNCTIONS];

/* --wrap: our own question is no event. */
void *__wrap_dlsym(void *handle, const char *name); /* NOLINT: the linker's name */
void *__wrap_dlsym(void *handle, const char *name)  /* NOLINT */
{
    return recorder_dlsym(handle, name);
}

static const char *const event_names[SONDE__RECORD_EVENTS] = SONDE__RECORD_EVENT_NAMES;

struct search {
    uint64_t base;
    uint64_t found[SONDE__RECORD_EVENTS];
    uint32_t event;
    uint64_t own_start, own_end;
};

static void take_definition(void *ctx, const ElfW(Sym) * symbol)
{
    struct search *search = ctx;
    if (search->found[search->event] == 0 && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC) {
        search->found[search->event] = search->base + symbol->st_value;
    }
}

/* The name by which the loader opened us means another file to whoever reads it elsewhere: gdb,
 * which opens the names of what a program has loaded, would read from a pipe of its own for ever.
 */
static void rename_own(const char *loaded_as)
{
    static const char opened_by[] = "/proc/self/fd/", name[] = "/memfd:sonde";
    _Static_assert(sizeof name < sizeof opened_by, "in the room of the other");
    if (strncmp(loaded_as, opened_by, sizeof opened_by - 1) == 0) {
        memcpy((char *)(uintptr_t)loaded_as, name, sizeof name); /* the loader's, on its heap */
    }
}

/* The first of each in the order of the objects behind ours: what stands before ours (the program's
 * own, a sanitizer's in it) is called instead of the thunk, and goes on to it. */
static int find_events(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct search *search = ctx;
    struct sonde__hook_object object;
    (void)size;
    sonde__hook_object_read(info, &object);
    const ElfW(Phdr) *own = sonde__hook_segment(&object, (uint64_t)(uintptr_t)sonde__probe_hooks);
    if (own != NULL) { /* its data are its end */
        memset(search->found, 0, sizeof search->found);
        rename_own(info->dlpi_name);
        search->own_start = object.base;
        search->own_end = object.base + own->p_vaddr + own->p_memsz;
        return 0;
    }
    search->base = object.base;
    for (search->event = 0; search->event < SONDE__RECORD_EVENTS; search->event++) {
        sonde__hook_each_definition(&object, event_names[search->event], take_definition, search);
    }
    return 0;
}

static void set_hook(uint32_t thunk, uint64_t target, uint32_t function)
{
    atomic_store(&sonde__probe_hooks[thunk].target, target);
    sonde__probe_hooks[thunk].function = function;
}

/* Before anything of ours asks for a symbol. */
static bool set_events(struct search *search)
{
    (void)dl_iterate_phdr(find_events, search);
    for (uint32_t i = 0; i < SONDE__RECORD_EVENTS; i++) {
        set_hook(RECORDER_FIRST_EVENT + i, search->found[i], RECORDER_EVENT_FUNCTION + i);
    }
    recorder_dlsym = (void *(*)(void *, const char *))(uintptr_t)search->found[SONDE__RECORD_DLSYM];
    return recorder_dlsym != NULL;
}

/* The targets of the names that the library bears. */
static void set_functions(void)
{
    struct sonde__record_page *page = recorder_page;
    for (uint32_t i = 0; i < page->function_count; i++) {
        names[i] = page->names + page->functions[i].name;
        if (page->functions[i].is_bound != 0) {
            set_hook(i, (uint64_t)(uintptr_t)recorder_dlsym(RTLD_NEXT, names[i]), i);
        }
    }
}

static void *map_part(int fd, size_t size, uint64_t offset)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    return at == MAP_FAILED ? NULL : at;
}

/* The memory that is shared. False: there is none that fits. */
static bool map_guest(int fd, uint64_t offset)
{
    struct sonde__record_page *page = map_part(fd, sizeof *page, offset);
    if (page == NULL || page->version != SONDE__RECORD_PAGE_VERSION ||
        page->function_count > SONDE__RECORD_FUNCTIONS) {
        return false;
    }
    recorder_page = page;
    set_functions(); /* names are bound to thunks already, whatever else fails */
    void *memory = map_part(fd, sonde__record_size(page->nodes), offset + SONDE__RECORD_OFFSET);
    recorder_record = memory != NULL ? sonde__record_at(memory, page->nodes) : NULL;
    uint64_t registry_at = offset + SONDE__RECORD_OFFSET + sonde__record_size(page->nodes);
    bool is_whole = recorder_record != NULL;
    if (is_whole) {
        sonde__record_limit_walks(recorder_record);
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

static void begin(void)
{
    struct sonde__record_page *page = recorder_page;
    struct sonde_error error;
    recorder_start_numbers();
    recorder_start_raw();
    sonde__hook_reserve(page->function_count, SONDE__RECORD_EVENTS);
    recorder_look_at_images();
    sonde__probe_hook_set_recorder(recorder_call);
    if (sonde__hook_start(names, page->function_count, 0, &recorder_hooks, &error) != SONDE_OK) {
        atomic_store(&page->state, SONDE__RECORD_FAILED);
        return;
    }
    recorder_log_blinds();
    for (uint32_t i = 0; i < page->function_count; i++) {
        atomic_store(&sonde__probe_hooks[i].on, page->functions[i].is_bound);
    }
    for (uint32_t i = RECORDER_FIRST_EVENT; i < SONDE__PROBE_HOOKS; i++) {
        atomic_store(&sonde__probe_hooks[i].on, 1);
    }
    atomic_store(&page->state, SONDE__RECORD_RUNS);
}

static void start(int argc, char **argv, char **envp) __attribute__((constructor));
static void start(int argc, char **argv, char **envp)
{
    (void)argc, (void)argv;
    recorder_bind_own_calls();
    struct search search = {0};
    bool may_ask = set_events(&search);
    if (may_ask && __tsan_init != NULL) {
        __tsan_init();
    }
    int fd = preload_take_environment(envp);
    if (fd < 0) {
        return;
    }
    struct sonde__probe_page *page = preload_map_page(fd);
    bool is_shared = may_ask && page != NULL && page->version == SONDE__PROBE_VERSION &&
                     page->guest != 0 && map_guest(fd, page->guest);
    close(fd);
    if (page != NULL && page->guest_fd >= 0) {
        close(page->guest_fd);
    }
    if (!preload_guard_page(page)) {
        return;
    }
    if (is_shared) {
        recorder_page->own_start = search.own_start;
        recorder_page->own_end = search.own_end;
        begin();
    }
    atomic_store_explicit(&page->pid, (int32_t)getpid(), memory_order_release);
}

/* What was loaded last. */
static void finish(void) __attribute__((destructor));
static void finish(void)
{
    if (preload_page() != NULL && recorder_hooks != NULL) {
        recorder_look_at_images();
        (void)recorder_look_for_methods();
    }
}
