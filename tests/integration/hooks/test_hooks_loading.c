// SPDX-License-Identifier: Apache-2.0
/* Sweeps while the loader works: in a constructor, and while another thread loads. Values that
 * others wrote into a symbol table stay when the hooks go. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api.h"
#include "hook.h"
#include "linux/hook_elf.h"
#include "loading.h"
#include "plugins.h"
#include "probe_hook.h"
#include "test.h"

static unsigned calls;
static struct sonde__hooks *hooks;

static uint64_t count(const struct sonde__probe_hook *hook, const struct sonde__regs *regs)
{
    (void)regs;
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    return atomic_load_explicit(&hook->target, memory_order_relaxed);
}

static void start(const char *name)
{
    static const char *names[1];
    names[0] = name;
    sonde__probe_hook_set_recorder(count);
    CHECK_OK(sonde__hook_start(names, 1, 0, &hooks, NULL));
}

static void check_chosen(void *library)
{
    __typeof__(&opened) call = (__typeof__(&opened))dlsym(library, "opened");
    CHECK(call != NULL);
    calls = 0;
    CHECK_EQ(call(1), 1 + CHOSEN);
    CHECK_EQ(calls, 1);
}

/* --- in a constructor --- */

static int swept_with = -1;

static void sweep(const int *is_chosen_constructed)
{
    CHECK_OK(sonde__hook_sweep(hooks));
    swept_with = *is_chosen_constructed;
}

TEST(a_sweep_runs_no_constructor_before_its_time)
{
    start("chosen");
    api_in_constructor = sweep;
    void *library = dlopen(library_path("opened"), RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    api_in_constructor = NULL;
    CHECK_EQ(swept_with, 0);
    check_chosen(library);
    CHECK_OK(dlclose(library));
    sonde__hook_stop(hooks);
}

/* --- beside a thread that loads --- */

static void *allocate(void *barrier)
{
    void *volatile memory = malloc(1);
    free(memory);
    (void)pthread_barrier_wait(barrier);
    return NULL;
}

/* Make the arenas of two threads before the harness counts. */
static __attribute__((constructor)) void warm_up(void)
{
    static pthread_barrier_t barrier;
    pthread_t threads[2];
    (void)pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 2; i++) {
        (void)pthread_create(&threads[i], NULL, allocate, &barrier);
    }
    for (int i = 0; i < 2; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

static int told[2], awaited[2];
static _Atomic pid_t sweeper;
static _Atomic bool is_swept;

static bool is_asleep(pid_t tid)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    CHECK(fgets(text, sizeof text, file) != NULL);
    (void)fclose(file);
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'S';
}

static void *sweep_beside(void *unused)
{
    char byte = 0;
    CHECK_EQ(read(told[0], &byte, 1), 1);
    atomic_store(&sweeper, (pid_t)syscall(SYS_gettid));
    CHECK_OK(sonde__hook_sweep(hooks));
    atomic_store(&is_swept, true);
    return unused;
}

/* Let the loader go on when the sweep waits for it, or did not wait. */
static void *release(void *unused)
{
    static const char bytes[16]; /* a loader may ask for each relocation */
    while (atomic_load(&sweeper) == 0 ||
           (!atomic_load(&is_swept) && !is_asleep(atomic_load(&sweeper)))) {
        usleep(1000);
    }
    CHECK_EQ(write(awaited[1], bytes, sizeof bytes), sizeof bytes);
    return unused;
}

TEST(an_object_that_is_not_relocated_yet_is_not_asked)
{
    pthread_t sweeping, releasing;
    CHECK_OK(pipe(told));
    CHECK_OK(pipe(awaited));
    CHECK_EQ(dup2(told[1], RESOLVING_FD), RESOLVING_FD);
    CHECK_EQ(dup2(awaited[0], RESOLVE_FD), RESOLVE_FD);
    start("chosen");
    /* create the thread before another one loads: both need a lock of the loader */
    CHECK_OK(pthread_create(&sweeping, NULL, sweep_beside, NULL));
    CHECK_OK(pthread_create(&releasing, NULL, release, NULL));
    void *library = dlopen(library_path("opened"), RTLD_NOW | RTLD_LOCAL);
    CHECK_OK(pthread_join(sweeping, NULL));
    CHECK_OK(pthread_join(releasing, NULL));
    CHECK(library != NULL);
    CHECK_OK(sonde__hook_sweep(hooks));
    check_chosen(library);
    CHECK_OK(dlclose(library));
    sonde__hook_stop(hooks);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(close(told[i]));
        CHECK_OK(close(awaited[i]));
    }
    CHECK_OK(close(RESOLVING_FD));
    CHECK_OK(close(RESOLVE_FD));
}

/* --- what others wrote --- */

static void write_symbol(ElfW(Sym) * symbol, uint64_t value)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *at = (void *)((uintptr_t)&symbol->st_value & ~(page - 1));
    CHECK_OK(mprotect(at, page, PROT_READ | PROT_WRITE));
    symbol->st_value = value;
    CHECK_OK(mprotect(at, page, PROT_READ));
}

TEST(a_symbol_that_others_wrote_is_left_to_them)
{
    start("api_open");
    CHECK(hooks->port->definition_count >= 1);
    ElfW(Sym) *symbol = hooks->port->definitions[0].symbol;
    uint64_t before = hooks->port->definitions[0].value, led = symbol->st_value;
    Dl_info info;
    CHECK(dladdr((const void *)(uintptr_t)before, &info) != 0);
    before -= (uint64_t)(uintptr_t)info.dli_fbase;
    CHECK(led != before);
    write_symbol(symbol, before + 1);
    sonde__hook_stop(hooks);
    CHECK_EQ(symbol->st_value, before + 1);
    write_symbol(symbol, before);
    start("api_open"); /* and our own value is restored */
    CHECK(symbol->st_value != before);
    sonde__hook_stop(hooks);
    CHECK_EQ(symbol->st_value, before);
}
