// SPDX-License-Identifier: Apache-2.0
/* Captures at unusual moments of a process: before main, inside the loader, after fork, at exit,
 * while libraries replace each other, below a million frames. */
#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <sonde/stack.h>
#include <sonde/thread.h>

#include "test.h"

enum { DEPTH = 128 };

struct taken {
    struct sonde_stack stack;
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    void *oracle[DEPTH];
    int oracle_count;
};

static __attribute__((noinline)) void take(struct taken *t)
{
    sonde_stack_init(&t->stack, t->pcs, t->how, DEPTH, 0);
    CHECK_OK(sonde_stack_capture(&t->stack, 0));
    t->oracle_count = backtrace(t->oracle, DEPTH);
}

static void check_same(const struct taken *t)
{
    CHECK_EQ(t->stack.count, t->oracle_count);
    for (int i = 1; i < t->oracle_count; i++) {
        CHECK_EQ(t->pcs[i], (uintptr_t)t->oracle[i]);
    }
}

static void plugin_path(char path[4096], const char *name)
{
    snprintf(path, 4096, "%s/tests/integration/api/%s", test_build_dir(), name);
}

static struct taken first;

static void *use_heap(void *arg)
{
    void *volatile memory = malloc(100000);
    free(memory);
    return arg;
}

static __attribute__((constructor)) void before_main(void)
{
    char path[4096];
    pthread_t thread;
    if (pthread_create(&thread, NULL, use_heap, NULL) == 0) { /* a thread's first heap, too */
        pthread_join(thread, NULL);
    }
    take(&first);                 /* the first use of sonde in this process, and of libgcc */
    for (int i = 0; i < 3; i++) { /* memory that the loader keeps for good is no leak of a test */
        plugin_path(path, "libapi_plugin_64.so");
        void *handle = dlopen(path, RTLD_NOW);
        if (handle != NULL) {
            dlclose(handle);
        }
    }
}

TEST(in_a_constructor_before_main)
{
    CHECK_EQ(first.stack.end, SONDE_END_ROOT);
    check_same(&first);
    CHECK(first.pcs[0] - (uintptr_t)&take < 256);
    CHECK(first.pcs[1] - (uintptr_t)&before_main < 256);
}

TEST(in_a_fork_child_of_a_thread)
{
    static struct taken taken;
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct sonde_thread threads[4] = {{.struct_bytes = sizeof threads[0]}};
        uint32_t count = 0;
        struct sonde_captured captured = {.struct_bytes = sizeof captured};
        take(&taken);
        check_same(&taken);
        CHECK_OK(sonde_threads_list(threads, 4, &count));
        CHECK_EQ(count, 1);
        CHECK_EQ(threads[0].tid, getpid());
        CHECK_OK(sonde_thread_capture((uint64_t)getpid(), NULL, &taken.stack, &captured));
        CHECK_EQ(captured.by, SONDE_CAPTURED_SELF);
        CHECK_EQ(sonde_thread_main(), getpid());
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

static void *fork_in_thread(void *arg)
{
    in_a_fork_child_of_a_thread();
    return arg;
}

/* The forking thread's stack is not the main stack, but its tid is the child's pid. */
TEST(in_a_fork_child_of_another_thread)
{
    pthread_t thread;
    CHECK_OK(pthread_create(&thread, NULL, fork_in_thread, NULL));
    pthread_join(thread, NULL);
}

static struct taken through;
static void leaf(void)
{
    take(&through);
}

/* The second library is loaded at the address of the first, with its records at the same address
 * and another frame size, while the image snapshot still has the first one. */
TEST(a_library_in_the_place_of_another)
{
    static const char *const names[] = {"libapi_plugin_64.so", "libapi_plugin_4096.so"};
    void *addresses[2];
    for (int i = 0; i < 8; i++) {
        char path[4096];
        void *handle;
        void (*call)(void (*)(void));
        plugin_path(path, names[i % 2]);
        handle = dlopen(path, RTLD_NOW);
        CHECK(handle != NULL);
        addresses[i % 2] = dlsym(handle, "plugin_call");
        CHECK(addresses[i % 2] != NULL);
        memcpy(&call, &addresses[i % 2], sizeof call);
        call(leaf);
        check_same(&through);
        CHECK_EQ(through.stack.end, SONDE_END_ROOT);
        if (i == 0) {
            CHECK_OK(sonde_stack_prepare()); /* out of date from now on */
        }
        dlclose(handle);
    }
    CHECK_EQ((uintptr_t)addresses[0], (uintptr_t)addresses[1]);
}

/* Two callers with frames of the same form. */
#define CALLER(name, number)                                                                       \
    static __attribute__((noinline)) void name(size_t pad, void (*call)(void (*)(void)))           \
    {                                                                                              \
        volatile char *room = alloca(pad);                                                         \
        room[0] = number; /* so that the compiler does not merge them */                           \
        call(leaf);                                                                                \
        room[1] = room[0];                                                                         \
    }
CALLER(call_first, 1)
CALLER(call_second, 2)

static char other_path[4096];
static void *other_handle;
static ucontext_t loader, program;
static char loader_stack[256 * 1024] __attribute__((aligned(16)));
static void load_other(void)
{
    if (other_handle != NULL) {
        dlclose(other_handle);
    }
    other_handle = dlopen(other_path, RTLD_NOW);
}

/* A harder case: the inner registers are equal, too, and the return addresses of the stack through
 * the first library still lie under the frame of the second. (It is loaded on another stack, so
 * nothing overwrites them.) */
TEST(a_library_in_the_place_of_another_with_the_same_registers)
{
    static const char *const names[] = {"libapi_plugin_4096.so", "libapi_plugin_8192.so"};
    uint64_t inside[2];
    uintptr_t addresses[2];
    for (volatile int i = 0; i < 6; i++) {
        void (*call)(void (*)(void));
        plugin_path(other_path, names[i % 2]);
        CHECK_OK(getcontext(&loader));
        loader.uc_stack.ss_sp = loader_stack;
        loader.uc_stack.ss_size = sizeof loader_stack;
        loader.uc_link = &program;
        makecontext(&loader, load_other, 0);
        CHECK_OK(swapcontext(&program, &loader));
        CHECK(other_handle != NULL);
        *(void **)&call = dlsym(other_handle, "plugin_call");
        CHECK(call != NULL);
        if (i == 0) {
            CHECK_OK(sonde_stack_prepare()); /* out of date from now on */
        }
        for (int j = 0; j < 3; j++) {
            (i % 2 == 0 ? call_first : call_second)(i % 2 == 0 ? 16 + 4096 : 16, call);
            check_same(&through);
            CHECK_EQ(through.stack.end, SONDE_END_ROOT);
        }
        inside[i % 2] = through.pcs[1]; /* leaf() has no frame: it ends by a jump */
        addresses[i % 2] = (uintptr_t)call;
    }
    dlclose(other_handle);
    CHECK_EQ(addresses[0], addresses[1]);
    CHECK_EQ(inside[0], inside[1]); /* the same return address in both */
}

extern void (*plugin_hook)(void) __attribute__((visibility("default")));
void (*plugin_hook)(void);
static struct taken in_constructor[2];
static int in_constructor_at;

static void on_signal(int number)
{
    (void)number;
    take(&in_constructor[in_constructor_at]);
}

static void raise_in_constructor(void)
{
    for (in_constructor_at = 0; in_constructor_at < 2; in_constructor_at++) {
        raise(SIGUSR1);
        CHECK_OK(sonde_stack_prepare()); /* the first normal-context call of this process */
    }
}

TEST(in_a_handler_in_the_constructor_of_a_library)
{
    char path[4096];
    void *handle;
    signal(SIGUSR1, on_signal);
    plugin_hook = raise_in_constructor;
    plugin_path(path, "libapi_plugin_64.so");
    handle = dlopen(path, RTLD_NOW);
    CHECK(handle != NULL);
    CHECK_EQ(in_constructor_at, 2);
    check_same(&in_constructor[0]);
    CHECK_EQ(in_constructor[0].stack.count, in_constructor[1].stack.count);
    CHECK(memcmp(in_constructor[0].pcs, in_constructor[1].pcs, in_constructor[0].stack.count * 8) ==
          0);
    dlclose(handle);
}

static void nap_in_constructor(void)
{
    usleep(20);
}

static uint64_t loader_tid;
static int loader_stop;

static void *load_and_unload(void *path)
{
    __atomic_store_n(&loader_tid, sonde_thread_self(), __ATOMIC_RELEASE);
    while (!__atomic_load_n(&loader_stop, __ATOMIC_ACQUIRE)) {
        void *handle = dlopen(path, RTLD_NOW);
        CHECK(handle != NULL);
        dlclose(handle);
    }
    return NULL;
}

static int take_none(void *ctx, const struct sonde_thread *thread, const struct sonde_stack *stack,
                     const struct sonde_captured *captured)
{
    (void)thread, (void)captured;
    *(unsigned *)ctx += stack->end == SONDE_END_ROOT;
    return 0;
}

/* A thread is read while it naps inside a library, wakes, and unloads the library: the records that
 * the walk reads must stay mapped. */
TEST(a_library_that_is_unloaded_while_its_frames_are_read)
{
    static struct taken t;
    char path[4096];
    pthread_t thread;
    unsigned whole = 0;
    int rounds = test_long() ? 200000 : 4000;
    plugin_hook = nap_in_constructor;
    plugin_path(path, "libapi_plugin_64.so");
    CHECK_OK(pthread_create(&thread, NULL, load_and_unload, path));
    while (__atomic_load_n(&loader_tid, __ATOMIC_ACQUIRE) == 0) {
        usleep(100);
    }
    for (int i = 0; i < rounds; i++) {
        struct sonde_capture_options options = {.struct_bytes = sizeof options,
                                                .flags = SONDE_CAPTURE_PASSIVE_ONLY |
                                                         SONDE_CAPTURE_BARE};
        enum sonde_status status;
        sonde_stack_init(&t.stack, t.pcs, t.how, DEPTH, 0);
        if (i % 2 == 0) {
            status = sonde_thread_capture(loader_tid, &options, &t.stack, NULL);
            CHECK(status == SONDE_OK || status == SONDE_BUSY);
            whole += status == SONDE_OK && t.stack.end == SONDE_END_ROOT;
        } else {
            CHECK_OK(sonde_threads_snapshot(&options, &t.stack, take_none, &whole, NULL));
        }
    }
    __atomic_store_n(&loader_stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    CHECK(whole > 100);
}

TEST(a_library_loaded_on_a_worker_thread)
{
    char host[4096], plugin[4096];
    struct test_run run;
    plugin_path(host, "api_worker_host");
    plugin_path(plugin, "libapi_worker_plugin.so");
    const char *const argv[] = {host, plugin, NULL};
    run = test_run(argv, NULL, NULL, 60);
    if (run.status != 0) {
        FAIL("ended with %d: %s%s", run.status, run.out, run.err);
    }
    const char *main_stack = strstr(run.out, "main thread:\n");
    const char *own_stack = strstr(run.out, "this thread:\n");
    const char *exit_stack = strstr(run.out, "at exit:\n");
    CHECK(main_stack != NULL && own_stack != NULL && exit_stack != NULL);
    /* the frames of main stand under main's heading */
    CHECK(strstr(main_stack, "main_waits+0x") < own_stack);
    CHECK(strstr(main_stack, "_start+0x") < own_stack);
    CHECK(strstr(own_stack, "dlopen") < exit_stack);
    CHECK(strstr(own_stack, "  load+0x") < exit_stack);
    CHECK(strstr(exit_stack, "exit") != NULL);
    CHECK(strstr(run.out, "ended: ") == NULL);
    CHECK_STR(run.err, "");
    test_run_done(&run);
}

enum { MILLION = 1000000 };
static struct sonde_stack deep;
static uint64_t deep_pcs[DEPTH];
static uint8_t deep_how[DEPTH];

static __attribute__((noinline)) int recurse(int n)
{
    volatile int kept = n;
    if (n == 0) {
        CHECK_OK(sonde_stack_capture(&deep, 0));
    } else {
        kept = recurse(n - 1) + 1;
    }
    return kept;
}

static void *recurse_deep(void *arg)
{
    sonde_stack_init(&deep, deep_pcs, deep_how, DEPTH, SONDE_OUTER_FRAMES);
    CHECK_EQ(recurse(MILLION), MILLION);
    return arg;
}

TEST_TIMEOUT(a_million_frames, 120)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    CHECK_OK(pthread_attr_setstacksize(&attributes, (size_t)512 << 20));
    CHECK_OK(pthread_create(&thread, &attributes, recurse_deep, NULL));
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    CHECK_EQ(deep.count, DEPTH);
    CHECK_EQ(deep.end, SONDE_END_ROOT);
    CHECK_EQ(deep.lost_at, DEPTH - SONDE_OUTER_FRAMES);
    /* recurse() a million and one times, recurse_deep(), and two frames of libc */
    CHECK_EQ(deep.lost_count + deep.count, MILLION + 1 + 1 + 2);
    CHECK(deep_pcs[0] - (uintptr_t)&recurse < 256);
    CHECK(deep_pcs[DEPTH - 3] - (uintptr_t)&recurse_deep < 256);
}
