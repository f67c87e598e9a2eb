// SPDX-License-Identifier: Apache-2.0
/* Forms of calls that hooks see, in a program with lazy binding and in one without, and restored
 * state afterwards. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"
#include "hook.h"
#include "hook_raw.h"
#include "linux/hook_elf.h"
#include "plugins.h"
#include "probe_hook.h"
#include "probe_raw.h"
#include "test.h"

static unsigned calls;

static uint64_t count(const struct sonde__probe_hook *hook, const struct sonde__regs *regs)
{
    (void)regs;
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    return atomic_load_explicit(&hook->target, memory_order_relaxed);
}

static const char *const names[] = {"api_open"};
static struct sonde__hooks *hooks;
static int (*volatile by_pointer)(int) = api_open64; /* set by the loader */

static void start(uint32_t flags)
{
    sonde__probe_hook_set_recorder(count);
    CHECK_OK(sonde__hook_start(names, 1, flags, &hooks, NULL));
}

/* Number of hooked calls while `expression` gives `value`. */
#define SEEN(expression, value) (calls = 0, CHECK((expression) == (value)), calls)

static bool is_blind(const char *module, const char *function, enum sonde__hook_reason reason)
{
    size_t blind_spots = 0;
    const struct sonde__hook_blind *blind = sonde__hook_blind_spots(hooks, &blind_spots);
    for (size_t i = 0; i < blind_spots; i++) {
        if (blind[i].reason == reason &&
            (module == NULL ? blind[i].module == NULL
                            : blind[i].module != NULL && strstr(blind[i].module, module) != NULL) &&
            (function == NULL) == (blind[i].function == NULL) &&
            (function == NULL || strcmp(blind[i].function, function) == 0)) {
            return true;
        }
    }
    return false;
}

static bool is_blind_now(const char *module, enum sonde__hook_reason reason)
{
    start(0);
    bool is = is_blind(module, NULL, reason);
    sonde__hook_stop(hooks);
    return is;
}

static void check_forms(uint32_t flags)
{
    start(flags);
    CHECK_EQ(SEEN(api_open(1), 2), 1);
    CHECK_EQ(SEEN(no_plt_call(2), 3), 1);
    CHECK_EQ(SEEN(by_pointer(3), 4), 1);
    CHECK_EQ(SEEN(api_by_table(4), 5), 1);
    /* not hooked, and reported */
    CHECK_EQ(SEEN(api_by_hidden(5), 6), 0);
    CHECK(is_blind("libhooks_api", "api_open", SONDE__HOOK_INSIDE));
    __typeof__(&api_open) found = (__typeof__(&api_open))dlsym(RTLD_DEFAULT, "api_open");
    CHECK_EQ(SEEN(found(6), 7), 1);
    CHECK(is_blind("", NULL, SONDE__HOOK_ASKS)); /* pointers from dlsym() before the hooks */
    sonde__hook_stop(hooks);
    CHECK_EQ(SEEN(api_open(1), 2), 0);
    CHECK_EQ(SEEN(by_pointer(3), 4), 0);
    CHECK_EQ(SEEN(no_plt_call(3), 4), 0);
}

TEST(forms_of_calls)
{
    check_forms(0);
}

TEST(forms_of_calls_by_protection)
{
    check_forms(SONDE__HOOK_NO_MEM);
}

/* Objects loaded later, in a place of their own, and again after they were unloaded. */
TEST(objects_that_come_later)
{
    start(0);
    for (int i = 0; i < 3; i++) {
        void *plugin = dlopen(plugin_path(), RTLD_LAZY | RTLD_LOCAL);
        CHECK(plugin != NULL);
        __typeof__(&plugin_call) call = (__typeof__(&plugin_call))dlsym(plugin, "plugin_call");
        CHECK_EQ(SEEN(call(1), 2), 1); /* the loader bound the slot to the thunk */
        CHECK_OK(sonde__hook_sweep(hooks));
        CHECK_EQ(SEEN(call(1), 2), 1);
        CHECK_EQ(SEEN(api_open(1), 2), 1);
        CHECK_OK(dlclose(plugin));
        CHECK_OK(sonde__hook_sweep(hooks));
    }
    sonde__hook_stop(hooks);
}

/* --- only new objects are swept --- */

struct snapshot {
    uint64_t values[65536];
    size_t count;
};

/* Copy the value of each slot of each object. */
static int copy_slots(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct snapshot *snapshot = ctx;
    struct sonde__hook_object object;
    (void)size;
    sonde__hook_object_read(info, &object);
    for (unsigned i = 0; i < 2 && object.symbols != NULL; i++) {
        for (uint64_t k = 0; k < object.counts[i]; k++) {
            const ElfW(Rela) *rela = &object.tables[i][k];
            if (sonde__hook_is_slot(rela)) {
                CHECK(snapshot->count < 65536);
                snapshot->values[snapshot->count++] =
                    *(const uint64_t *)(uintptr_t)(object.base + rela->r_offset);
            }
        }
    }
    return 0;
}

/* A full sweep finds no slot that sweeps of new objects missed. */
static void check_as_whole(void)
{
    static struct snapshot grown, whole;
    size_t blind_count = 0, whole_count = 0;
    const struct sonde__hook_blind *blind_spots = sonde__hook_blind_spots(hooks, &blind_count);
    struct sonde__hook_blind said[256];
    CHECK(blind_count < 256);
    memcpy(said, blind_spots, blind_count * sizeof said[0]);
    grown.count = whole.count = 0;
    (void)dl_iterate_phdr(copy_slots, &grown);
    hooks->port->subs--; /* as if all had been loaded since */
    hooks->port->adds -= UINT32_MAX;
    CHECK_OK(sonde__hook_sweep(hooks));
    (void)dl_iterate_phdr(copy_slots, &whole);
    CHECK_EQ(grown.count, whole.count);
    CHECK(memcmp(grown.values, whole.values, grown.count * sizeof grown.values[0]) == 0);
    (void)sonde__hook_blind_spots(hooks, &whole_count);
    CHECK_EQ(blind_count, whole_count);
    for (size_t i = 0; i < blind_count; i++) {
        CHECK(is_blind(said[i].module, said[i].function, said[i].reason));
    }
}

static void *load(const char *name, int flags)
{
    void *library = dlopen(library_path(name), flags);
    CHECK(library != NULL);
    CHECK_OK(sonde__hook_sweep(hooks));
    return library;
}

static void unload(void *library)
{
    CHECK_OK(dlclose(library));
    CHECK_OK(sonde__hook_sweep(hooks));
}

static int (*find(void *library, const char *name))(int)
{
    int (*function)(int) = (int (*)(int))dlsym(library, name);
    CHECK(function != NULL);
    return function;
}

/* Loading a library does not change a pointer that the program itself has set. */
TEST(swept_objects_are_left_alone)
{
    __typeof__(&api_open) real = find(RTLD_DEFAULT, "api_open");
    start(0);
    __typeof__(&api_open) thunk = by_pointer;
    by_pointer = real;
    void *plugin = load("plugin", RTLD_LAZY | RTLD_LOCAL);
    CHECK(by_pointer == real);
    CHECK_EQ(SEEN(api_open(1), 2), 1);
    CHECK_EQ(SEEN(find(plugin, "plugin_call")(1), 2), 1);
    unload(plugin);
    by_pointer = thunk; /* the thunk calls the function for good */
    sonde__hook_stop(hooks);
    CHECK_EQ(SEEN(by_pointer(1), 2), 0);
    by_pointer = real;
}

/* A library is reloaded at the same place between two sweeps: its slots are fresh. */
TEST(reloaded_libraries_are_swept_again)
{
    start(0);
    for (int i = 0; i < 3; i++) {
        void *plugin = load("plugin", RTLD_LAZY | RTLD_LOCAL);
        CHECK_EQ(SEEN(find(plugin, "plugin_call")(1), 2), 1);
        check_as_whole();
        CHECK_OK(dlclose(plugin)); /* no sweep */
    }
    CHECK_OK(sonde__hook_sweep(hooks));
    check_as_whole();
    sonde__hook_stop(hooks);
}

/* The loader changes swept objects: it binds a slot under another name; a missing function appears
 * and disappears. */
TEST(changes_in_swept_objects)
{
    static const char *const wanted[] = {"api_open", "api_later"};
    sonde__probe_hook_set_recorder(count);
    CHECK_OK(sonde__hook_start(wanted, 2, 0, &hooks, NULL));
    void *plugin = load("plugin", RTLD_LAZY | RTLD_LOCAL);
    __typeof__(&plugin_call) by_alias = find(plugin, "plugin_by_alias");
    CHECK(is_blind(NULL, "api_later", SONDE__HOOK_ABSENT));
    CHECK_EQ(SEEN(by_alias(1), 2), 1); /* which binds it */
    void *later = load("later", RTLD_LAZY | RTLD_GLOBAL);
    CHECK(!is_blind(NULL, "api_later", SONDE__HOOK_ABSENT));
    CHECK(is_blind("libhooks_later", "api_later", SONDE__HOOK_INSIDE));
    CHECK(is_blind("libhooks_later", "api_later", SONDE__HOOK_LATE));
    CHECK_EQ(SEEN(by_alias(1), 2), 1);
    CHECK_EQ(SEEN(find(plugin, "plugin_later")(1), 11), 1);
    CHECK_EQ(SEEN(find(plugin, "plugin_call")(1), 2), 1);
    check_as_whole();
    unload(plugin);
    unload(later);
    check_as_whole();
    CHECK(is_blind(NULL, "api_later", SONDE__HOOK_ABSENT));
    CHECK(!is_blind("libhooks_later", NULL, SONDE__HOOK_INSIDE));
    sonde__hook_stop(hooks);
}

/* A name with two definitions stands for both: the loader chooses by its own rules. */
TEST(each_definition_of_a_name)
{
    static const char *const wanted[] = {"api_open64"};
    sonde__probe_hook_set_recorder(count);
    CHECK_OK(sonde__hook_start(wanted, 1, 0, &hooks, NULL));
    void *later = load("later", RTLD_LAZY | RTLD_LOCAL);
    void *plugin = load("plugin", RTLD_LAZY | RTLD_LOCAL);
    CHECK_EQ(SEEN(find(plugin, "plugin_by_alias")(1), 2), 1);
    CHECK_EQ(SEEN(find(later, "api_open64")(1), 31), 1);
    CHECK_EQ(SEEN(find(RTLD_DEFAULT, "api_open64")(1), 2), 1);
    CHECK_EQ(SEEN(by_pointer(1), 2), 1);
    check_as_whole();
    unload(later);
    unload(plugin);
    sonde__hook_stop(hooks);
}

static uint64_t loader_start, loader_end;
static unsigned by_loader;

static int find_loader(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size, (void)ctx;
    for (unsigned i = 0; info->dlpi_addr == getauxval(AT_BASE) && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
            loader_start = info->dlpi_addr + segment->p_vaddr;
            loader_end = loader_start + segment->p_memsz;
        }
    }
    return 0;
}

static uint64_t count_loader(const struct sonde__probe_hook *hook, const struct sonde__regs *regs)
{
    by_loader += regs->pc >= loader_start && regs->pc < loader_end;
    return atomic_load_explicit(&hook->target, memory_order_relaxed);
}

static void load_plugin(void)
{
    void *plugin = dlopen(plugin_path(), RTLD_LAZY);
    CHECK(plugin != NULL);
    CHECK_OK(dlclose(plugin));
}

/* The loader's own allocations use no slot of a table. */
TEST(the_loaders_own_allocations)
{
    static const char *const wanted[] = {"malloc", "calloc", "free"};
    (void)dl_iterate_phdr(find_loader, NULL);
    sonde__probe_hook_set_recorder(count_loader);
    CHECK_OK(sonde__hook_start(wanted, 3, 0, &hooks, NULL));
    load_plugin();
    CHECK(by_loader > 2);
    sonde__hook_stop(hooks);
    by_loader = 0;
    load_plugin();
    CHECK_EQ(by_loader, 0);
}

/* Libraries are loaded and unloaded in any order, with slots bound or not. */
TEST(any_order_gives_what_a_whole_sweep_gives)
{
    static const char *const wanted[] = {"api_open", "api_later", "api_open64"};
    static const char *const libraries[] = {"plugin", "other", "later"};
    void *loaded[3] = {NULL, NULL, NULL};
    uint32_t random = 1;
    sonde__probe_hook_set_recorder(count);
    CHECK_OK(sonde__hook_start(wanted, 3, 0, &hooks, NULL));
    for (int i = 0; i < 400; i++) {
        random = random * 1664525 + 1013904223;
        uint32_t which = (random >> 24) % 3;
        if (loaded[which] == NULL) {
            loaded[which] =
                dlopen(library_path(libraries[which]),
                       RTLD_LAZY | ((random & 0x10000) != 0 ? RTLD_GLOBAL : RTLD_LOCAL));
            CHECK(loaded[which] != NULL);
        } else if ((random & 0x20000) != 0) {
            CHECK_OK(dlclose(loaded[which]));
            loaded[which] = NULL;
        } else if (which < 2) {
            (void)find(loaded[which],
                       (random & 0x40000) != 0 ? "plugin_by_alias" : "plugin_call")(1);
        }
        if ((random & 0x300000) == 0) {
            hooks->is_swept = false; /* also if the loader has only bound slots */
            CHECK_OK(sonde__hook_sweep(hooks));
            check_as_whole();
        }
    }
    sonde__hook_stop(hooks);
    for (int i = 0; i < 3; i++) {
        CHECK(loaded[i] == NULL || dlclose(loaded[i]) == 0);
    }
}

/* --- state is restored --- */

static void compare_all(uint32_t flags)
{
    static struct snapshot before, during, after;
    static char maps_before[MAPS_BYTES], maps_after[MAPS_BYTES];
    start(0); /* first-time bindings and allocations */
    sonde__hook_stop(hooks);
    read_maps(maps_before);
    start(flags);
    sonde__hook_stop(hooks);
    (void)dl_iterate_phdr(copy_slots, &before);
    start(flags);
    (void)dl_iterate_phdr(copy_slots, &during);
    sonde__hook_stop(hooks);
    (void)dl_iterate_phdr(copy_slots, &after);
    read_maps(maps_after);
    CHECK(before.count > 100 && before.count == after.count);
    CHECK(memcmp(before.values, during.values, sizeof before.values) != 0);
    CHECK(memcmp(before.values, after.values, sizeof before.values) == 0);
    CHECK_STR(maps_before, maps_after);
}

TEST(stop_restores_everything)
{
    compare_all(0);
}

TEST(stop_restores_everything_by_protection)
{
    compare_all(SONDE__HOOK_NO_MEM);
}

TEST(functions_that_cannot_be_hooked_are_listed)
{
    static const char *const wanted[] = {"no_such_function", "environ", "api_open"};
    struct sonde__hooks *second = NULL;
    CHECK_OK(sonde__hook_start(wanted, 3, 0, &hooks, NULL));
    CHECK_EQ(sonde__hook_start(wanted, 3, 0, &second, NULL), SONDE_BUSY);
    CHECK(is_blind(NULL, "no_such_function", SONDE__HOOK_ABSENT));
    CHECK(is_blind(NULL, "environ", SONDE__HOOK_NO_FUNCTION));
    CHECK(!is_blind(NULL, "api_open", SONDE__HOOK_ABSENT));
    sonde__hook_stop(hooks);
}

/* Stopping keeps a pointer that the program has set meanwhile. */
TEST(pointers_of_the_program_stay)
{
    start(0);
    by_pointer = api_by_hidden;
    sonde__hook_stop(hooks);
    CHECK(by_pointer == api_by_hidden);
}

/* A thunk whose address was taken keeps calling the function, also while functions are hooked
 * again, and after that. */
TEST(thunks_that_somebody_holds_pass_on)
{
    uint32_t thunk = 0;
    start(0);
    int (*held)(int) = by_pointer;
    CHECK(sonde__probe_hook_index((uint64_t)(uintptr_t)held, &thunk));
    CHECK_EQ(SEEN(held(1), 2), 1);
    sonde__hook_stop(hooks);
    CHECK_EQ(SEEN(held(2), 3), 0);
    start(0);
    CHECK_EQ(SEEN(held(3), 4), 1);
    sonde__hook_stop(hooks);
    CHECK_EQ(SEEN(held(4), 5), 0);
}

/* Seal a library's read-only data: nobody can change it any more. */
static int seal(struct dl_phdr_info *info, size_t size, void *ret_error)
{
    enum { MSEAL = 462, PAGE = 4096 };
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *relro = &info->dlpi_phdr[i];
        if (relro->p_type == PT_GNU_RELRO && strstr(info->dlpi_name, "libhooks_no_plt") != NULL) {
            uint64_t from = (info->dlpi_addr + relro->p_vaddr) / PAGE * PAGE;
            uint64_t to = (info->dlpi_addr + relro->p_vaddr + relro->p_memsz) / PAGE * PAGE;
            *(int *)ret_error = syscall(MSEAL, from, to - from, 0) == 0 ? 0 : errno;
        }
    }
    return 0;
}

static void hook_sealed(uint32_t flags)
{
    int error = -1;
    (void)dl_iterate_phdr(seal, &error);
    if (error != 0) {
        CHECK_EQ(error, ENOSYS);
        _exit(77);
    }
    start(flags);
    unsigned seen = SEEN(no_plt_call(1), 2);
    CHECK_EQ(SEEN(api_open(1), 2), 1); /* others are hooked */
    CHECK_EQ(is_blind("libhooks_no_plt", "api_open", SONDE__HOOK_REFUSED), seen == 0);
    CHECK(flags == 0 || seen == 0);
    sonde__hook_stop(hooks);
    CHECK_EQ(SEEN(no_plt_call(1), 2), 0);
    _exit(0);
}

/* Sealed pages are reported as blind, or written if the kernel lets /proc/self/mem do it; never a
 * crash. */
TEST(sealed_pages_are_listed)
{
    for (uint32_t flags = 0; flags <= SONDE__HOOK_NO_MEM; flags += SONDE__HOOK_NO_MEM) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            hook_sealed(flags);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
            SKIP("the kernel has no mseal()");
        }
        CHECK_EQ(status, 0);
    }
}

/* A program without a loader, at a fixed address and at any address. */
TEST(static_programs_are_reported_as_static)
{
    static const char *const forms[] = {"static", "static-pie"};
    CHECK(!is_blind_now("", SONDE__HOOK_STATIC));
    for (unsigned i = 0; i < 2; i++) {
        char path[512];
        const char *argv[] = {path, NULL};
        snprintf(path, sizeof path, "%s/tests/integration/hooks/hooks_%s", test_build_dir(),
                 forms[i]);
        if (access(path, X_OK) != 0) {
            SKIP("a test under an emulator starts no programs");
        }
        struct test_run run = test_run(argv, NULL, NULL, 60);
        CHECK_EQ(run.status, 0);
        CHECK_CONTAINS(run.out, "[] any: not dynamically linked");
        CHECK_CONTAINS(run.out, "[none] getenv: no loaded library defines it");
        test_run_done(&run);
    }
}

#if defined(__x86_64__)

/* getppid() with its number loaded before the call, and one with the number from elsewhere. */
__attribute__((noinline)) static long raw_before(void)
{
    long result;
    __asm__ volatile("mov $110, %%eax\n\tsyscall" : "=a"(result) : : "rcx", "r11", "memory");
    return result;
}

__attribute__((noinline)) static long raw_moved(long number)
{
    long result;
    __asm__ volatile("mov %1, %0\n\tsyscall"
                     : "=&a"(result)
                     : "D"(number)
                     : "rcx", "r11", "memory");
    return result;
}

static unsigned raw_calls, raw_said[SONDE__RAW_STACKS + 1];
static bool is_raw_alone;

static void count_raw(const struct sonde__regs *regs)
{
    raw_calls += sonde__probe_raw_number(regs) == SYS_getppid;
}

static bool want_raw(uint32_t number)
{
    return number == SYS_getppid;
}

static bool be_alone(void)
{
    return is_raw_alone;
}

static void say_raw(const char *module, uint64_t vaddr, enum sonde__raw_result result)
{
    (void)vaddr;
    CHECK_STR(module, ""); /* libc has others */
    raw_said[result]++;
}

static void check_raw(uint32_t flags, bool is_alone)
{
    static const struct sonde__hook_raw_options no_stub;
    struct sonde__hook_raw_options options = {
        .is_wanted = want_raw, .is_alone = be_alone, .say = say_raw};
    uint8_t before[2][32], during[2][32], after[2][32];
    const void *codes[] = {(const void *)(uintptr_t)raw_before, (const void *)(uintptr_t)raw_moved};
    long parent = getppid();
    memset(raw_said, 0, sizeof raw_said);
    is_raw_alone = is_alone;
    options.stub = sonde__probe_raw_stub_address();
    sonde__probe_raw_set_recorder(count_raw);
    for (unsigned i = 0; i < 2; i++) {
        memcpy(before[i], codes[i], sizeof before[i]);
    }
    sonde__hook_set_raw_options(&options);
    start(flags);
    for (unsigned i = 0; i < 2; i++) {
        memcpy(during[i], codes[i], sizeof during[i]);
        CHECK_EQ(memcmp(before[i], during[i], sizeof during[i]) != 0, is_alone);
    }
    CHECK_EQ(raw_said[is_alone ? SONDE__RAW_PATCHED : SONDE__RAW_THREADS], 2);
    raw_calls = 0;
    CHECK_EQ(raw_before(), parent);
    CHECK_EQ(raw_moved(SYS_getppid), parent);
    CHECK_EQ(raw_moved(SYS_getpid), getpid());
    CHECK_EQ(raw_calls, is_alone ? 2 : 0);
    sonde__hook_stop(hooks);
    for (unsigned i = 0; i < 2; i++) {
        memcpy(after[i], codes[i], sizeof after[i]);
        CHECK_EQ(memcmp(before[i], after[i], sizeof after[i]), 0);
    }
    raw_calls = 0;
    CHECK_EQ(raw_before(), parent);
    CHECK_EQ(raw_moved(SYS_getppid), parent);
    CHECK_EQ(raw_calls, 0);
    /* the next hooks have no such option, and neither do hooks without a stub */
    sonde__hook_set_raw_options(flags == 0 ? NULL : &no_stub);
    start(flags);
    CHECK(memcmp(codes[0], before[0], sizeof before[0]) == 0);
    sonde__hook_stop(hooks);
}

TEST(system_calls_of_code_are_patched)
{
    check_raw(0, true);
}

TEST(system_calls_of_code_are_patched_by_protection)
{
    check_raw(SONDE__HOOK_NO_MEM, true);
}

TEST(code_is_left_alone_while_threads_run)
{
    check_raw(0, false);
}

#endif
