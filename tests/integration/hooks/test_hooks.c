// SPDX-License-Identifier: Apache-2.0
/* Which forms of calls are seen, in a program with lazy binding and in one with none; that all is
 * as it was afterwards. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"
#include "hook.h"
#include "hook_object.h"
#include "probe_hook.h"
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

/* How many calls are seen while `expression` gives `value`. */
#define SEEN(expression, value) (calls = 0, CHECK((expression) == (value)), calls)

static bool is_blind(const char *module, const char *function, enum sonde__hook_reason reason)
{
    size_t blinds = 0;
    const struct sonde__hook_blind *blind = sonde__hook_blinds(hooks, &blinds);
    for (size_t i = 0; i < blinds; i++) {
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

static void check_forms(uint32_t flags)
{
    start(flags);
    CHECK_EQ(SEEN(api_open(1), 2), 1);
    CHECK_EQ(SEEN(no_plt_call(2), 3), 1);
    CHECK_EQ(SEEN(by_pointer(3), 4), 1);
    CHECK_EQ(SEEN(api_by_table(4), 5), 1);
    /* not seen, and said so */
    CHECK_EQ(SEEN(api_by_hidden(5), 6), 0);
    CHECK(is_blind("libhooks_api", "api_open", SONDE__HOOK_INSIDE));
    __typeof__(&api_open) found = (__typeof__(&api_open))dlsym(RTLD_DEFAULT, "api_open");
    CHECK_EQ(SEEN(found(6), 7), 0);
    CHECK(is_blind("", NULL, SONDE__HOOK_ASKS));
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

static const char *plugin_path(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/tests/integration/hooks/libhooks_plugin.so", test_build_dir());
    return path;
}

/* Before the harness counts: what the loader keeps after its first library. */
static __attribute__((constructor)) void warm_up(void)
{
    for (int i = 0; i < 4; i++) {
        void *plugin = dlopen(plugin_path(), RTLD_LAZY | RTLD_LOCAL);
        if (plugin != NULL) {
            (void)dlclose(plugin);
        }
    }
}

/* What is loaded later, in a place of its own, and again after it was unloaded. */
TEST(objects_that_come_later)
{
    start(0);
    for (int i = 0; i < 3; i++) {
        void *plugin = dlopen(plugin_path(), RTLD_LAZY | RTLD_LOCAL);
        CHECK(plugin != NULL);
        __typeof__(&plugin_call) call = (__typeof__(&plugin_call))dlsym(plugin, "plugin_call");
        CHECK_EQ(SEEN(call(1), 2), 0);
        CHECK_OK(sonde__hook_sweep(hooks));
        uint64_t slots = sonde__hook_slots(hooks);
        CHECK_EQ(SEEN(call(1), 2), 1);
        CHECK_OK(sonde__hook_sweep(hooks));
        CHECK_EQ(sonde__hook_slots(hooks), slots);
        CHECK_EQ(SEEN(call(1), 2), 1);
        CHECK_EQ(SEEN(api_open(1), 2), 1);
        CHECK_OK(dlclose(plugin));
        CHECK_OK(sonde__hook_sweep(hooks));
        CHECK(sonde__hook_slots(hooks) < slots);
    }
    sonde__hook_stop(hooks);
}

/* --- all is as it was --- */

struct picture {
    uint64_t values[65536];
    size_t count;
};

/* What each slot of each object holds. */
static int copy_slots(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct picture *picture = ctx;
    struct sonde__hook_object object;
    bool is_absolute = false;
    bool is_jump = false;
    (void)size;
    sonde__hook_object_read(info, &object);
    for (unsigned i = 0; i < 2 && object.symbols != NULL; i++) {
        for (uint64_t k = 0; k < object.counts[i]; k++) {
            const ElfW(Rela) *rela = &object.tables[i][k];
            if (sonde__hook_is_slot(rela, &is_absolute, &is_jump)) {
                CHECK(picture->count < 65536);
                picture->values[picture->count++] =
                    *(const uint64_t *)(uintptr_t)(object.base + rela->r_offset);
            }
        }
    }
    return 0;
}

static void compare_all(uint32_t flags)
{
    static struct picture before, during, after;
    static const char maps[] = "/proc/self/maps";
    start(0); /* what is bound or allocated at the first time */
    sonde__hook_stop(hooks);
    free(test_read_file(maps, NULL));
    char *maps_before = test_read_file(maps, NULL);
    start(flags);
    sonde__hook_stop(hooks);
    (void)dl_iterate_phdr(copy_slots, &before);
    start(flags);
    (void)dl_iterate_phdr(copy_slots, &during);
    sonde__hook_stop(hooks);
    (void)dl_iterate_phdr(copy_slots, &after);
    char *maps_after = test_read_file(maps, NULL);
    CHECK(before.count > 100 && before.count == after.count);
    CHECK(memcmp(before.values, during.values, sizeof before.values) != 0);
    CHECK(memcmp(before.values, after.values, sizeof before.values) == 0);
    CHECK_STR(maps_before, maps_after);
    free(maps_before);
    free(maps_after);
}

TEST(stop_restores_everything)
{
    compare_all(0);
}

TEST(stop_restores_everything_by_protection)
{
    compare_all(SONDE__HOOK_NO_MEM);
}

TEST(what_cannot_be_hooked_is_listed)
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

/* A program that has set its pointer meanwhile keeps what it set. */
TEST(pointers_of_the_program_stay)
{
    start(0);
    by_pointer = api_by_hidden;
    sonde__hook_stop(hooks);
    CHECK(by_pointer == api_by_hidden);
}

/* Whoever has taken a thunk's address keeps a way to the function, also while functions are hooked
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

/* What the loader has made read-only of a library, and nobody shall change any more. */
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

/* Sealed pages are said to be blind, or written all the same where the kernel lets /proc/self/mem
 * do it; never a crash. */
TEST(sealed_pages_are_said)
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
