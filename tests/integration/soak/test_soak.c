// SPDX-License-Identifier: Apache-2.0
/* A thread loads a library, calls it, and unloads it in a loop. Meanwhile it is captured in every
 * way: by itself, in a handler, blocked, by signal, in snapshots. Each whole stack must be one that
 * this thread can have. Part of the time all threads share one CPU: then the kernel switches
 * threads between any two instructions of a capture. */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sonde/stack.h>
#include <sonde/thread.h>

#include "target_self.h"
#include "test.h"
#include "test_signals.h"

enum { DEPTH = 128, PLUGINS = 2, PLACES = 64, OUTER_MAX = 8 };

/* Two functions in sections of their own; the linker gives the bounds. */
#define IN_SECTION(name) __attribute__((noinline, section(name)))
extern const char __start_soak_thread[], __stop_soak_thread[];
extern const char __start_soak_leaf[], __stop_soak_leaf[];

/* Every stack is compared here. */
#define SIGNALS_ARRIVE (!TEST_SIGNALS_ARE_LATE)

#if !defined(SONDE_SANITIZED)
enum { SHORT_CAPTURES = 2000 };
#else
enum { SHORT_CAPTURES = SIGNALS_ARRIVE ? 400 : 100 };
#endif

static char paths[PLUGINS][4096];

static struct {
    pthread_t thread;
    uint64_t tid;
    int stop;
    unsigned rounds, captures; /* captures by itself */
    /* The frames outside of load_often(): they never change. */
    uint64_t outer[OUTER_MAX];
    uint32_t outer_count;
    /* Return addresses seen in libraries; 0: free. */
    uint64_t places[PLACES];
} loader;

static bool is_in_load_often(uint64_t pc)
{
    return pc >= (uintptr_t)__start_soak_thread && pc < (uintptr_t)__stop_soak_thread;
}

static bool is_in_library_leaf(uint64_t pc)
{
    return pc >= (uintptr_t)__start_soak_leaf && pc < (uintptr_t)__stop_soak_leaf;
}

static bool is_place(uint64_t pc)
{
    for (unsigned i = 0; i < PLACES; i++) {
        if (__atomic_load_n(&loader.places[i], __ATOMIC_RELAXED) == pc) {
            return true;
        }
    }
    return false;
}

static void note_place(uint64_t pc)
{
    for (unsigned i = 0; i < PLACES && !is_place(pc); i++) {
        uint64_t none = 0;
        if (__atomic_compare_exchange_n(&loader.places[i], &none, pc, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            return;
        }
    }
    CHECK(is_place(pc)); /* more places than a loader should have */
}

/* Check the loading thread's stack, if it is whole: any frames, then load_often() and the frames
 * outside of it. In a library, load_often() called the library, which called the innermost
 * function. */
static void check_stack(const struct sonde_stack *stack, const char *how)
{
    uint32_t base = stack->count - loader.outer_count - 1;
    if (stack->end != SONDE_END_ROOT) {
        return;
    }
    if (stack->count <= loader.outer_count || !is_in_load_often(stack->pcs[base]) ||
        memcmp(&stack->pcs[base + 1], loader.outer, loader.outer_count * 8) != 0) {
        FAIL("%s: the stack does not end in the thread's function", how);
    }
    for (uint32_t i = 0; i < stack->count; i++) {
        if (i != base && is_in_load_often(stack->pcs[i])) {
            FAIL("%s: the thread's function twice", how);
        }
        if (is_in_library_leaf(stack->pcs[i]) && (i + 2 != base || !is_place(stack->pcs[i + 1]))) {
            FAIL("%s: frame %u of %u is called by %#llx", how, i, stack->count,
                 (unsigned long long)stack->pcs[i + 1]);
        }
    }
}

static void capture_self(const char *how)
{
    uint64_t pcs[DEPTH];
    uint8_t found[DEPTH];
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, found, DEPTH, 0);
    CHECK_OK(sonde_stack_capture(&stack, 0));
    if (stack.end != SONDE_END_ROOT) {
        FAIL("%s: ended by %s", how, sonde_end_text(stack.end));
    }
    check_stack(&stack, how);
    loader.captures++;
}

static void on_signal(int number)
{
    (void)number;
    capture_self("in a handler");
}

IN_SECTION("soak_leaf") static void in_library(void)
{
    note_place((uintptr_t)__builtin_return_address(0));
    for (unsigned i = 0; i < 3; i++) {
        capture_self("by itself");
    }
    raise(SIGUSR1);
    if (loader.rounds % 2 == 0) {
        usleep(20);
    }
    __asm__ volatile("" : : : "memory"); /* no tail call */
}

static void take_outer(void)
{
    void *pcs[DEPTH];
    int count = backtrace(pcs, DEPTH), at = 0;
    while (at < count && !is_in_load_often((uintptr_t)pcs[at])) {
        at++;
    }
    CHECK(at < count && count - at - 1 <= OUTER_MAX);
    for (at++; at < count; at++) {
        loader.outer[loader.outer_count++] = (uintptr_t)pcs[at];
    }
    CHECK(loader.outer_count > 0);
}

IN_SECTION("soak_thread") static void *load_often(void *arg)
{
    take_outer();
    __atomic_store_n(&loader.tid, sonde_thread_self(), __ATOMIC_RELEASE);
    while (!__atomic_load_n(&loader.stop, __ATOMIC_ACQUIRE)) {
        void *handle = dlopen(paths[loader.rounds % PLUGINS], RTLD_NOW);
        void (*call)(void (*)(void)) = NULL;
        CHECK(handle != NULL);
        *(void **)&call = dlsym(handle, "plugin_call");
        CHECK(call != NULL);
        call(in_library);
        CHECK_EQ(dlclose(handle), 0);
        loader.rounds++;
        if (loader.rounds % 4 == 0) {
            usleep(20); /* everything has moved */
        }
    }
    return arg;
}

/* Memory that the loader and the C library keep from the first use is no leak of a test. */
static void *load_some(void *arg)
{
    void *volatile memory = malloc(100000);
    free(memory);
    for (int i = 0; i < 4 * PLUGINS; i++) {
        void *handle = dlopen(paths[i % PLUGINS], RTLD_NOW);
        if (handle != NULL) {
            dlclose(handle);
        }
    }
    usleep(1000);
    return arg;
}

static __attribute__((constructor)) void warm_up(void)
{
    static char out[1024];
    pthread_t threads[2];
    void *pc;
    (void)setvbuf(stdout, out, _IOLBF, sizeof out);
    backtrace(&pc, 1);
    for (int i = 0; i < PLUGINS; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/tests/integration/soak/libsoak_plugin_%d.so",
                 test_build_dir(), i == 0 ? 64 : 4096);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_OK(pthread_create(&threads[i], NULL, load_some, NULL));
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    load_some(NULL);
}

static void start_loader(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    CHECK_OK(pthread_create(&loader.thread, NULL, load_often, NULL));
    while (__atomic_load_n(&loader.tid, __ATOMIC_ACQUIRE) == 0) {
        usleep(100);
    }
}

static void end_loader(void)
{
    __atomic_store_n(&loader.stop, 1, __ATOMIC_RELEASE);
    pthread_join(loader.thread, NULL);
}

/* --- others --- */

static int stop_others;

static int compare(const void *a, const void *b)
{
    uint64_t pcs[DEPTH];
    uint8_t found[DEPTH];
    static __thread uint64_t expected[DEPTH];
    static __thread uint32_t expected_count;
    struct sonde_stack stack;
    (void)a, (void)b;
    sonde_stack_init(&stack, pcs, found, DEPTH, 0);
    CHECK_OK(sonde_stack_capture(&stack, 0));
    CHECK_EQ(stack.end, SONDE_END_ROOT);
    if (expected_count == 0) {
        expected_count = stack.count;
        memcpy(expected, pcs, stack.count * sizeof *pcs);
    }
    CHECK_EQ(stack.count, expected_count);
    CHECK(memcmp(expected, pcs, stack.count * sizeof *pcs) == 0);
    return 0;
}

/* Capture one stack repeatedly, through a function of libc, while snapshots are replaced. */
static void *repeat(void *arg)
{
    uint64_t one = 1;
    size_t number = 1;
    while (!__atomic_load_n(&stop_others, __ATOMIC_ACQUIRE)) {
        for (int i = 0; i < 50; i++) {
            CHECK(lfind(&one, &one, &number, sizeof one, compare) == &one);
        }
        usleep(100);
    }
    return arg;
}

static void use_cpu(int only)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (only >= 0) {
        CPU_SET((unsigned)only, &set);
    } else {
        for (unsigned i = 0; i < 64; i++) {
            CPU_SET(i, &set);
        }
    }
    (void)sched_setaffinity((pid_t)loader.tid, sizeof set,
                            &set); /* refused: then the test is easier */
    (void)sched_setaffinity(0, sizeof set, &set);
}

struct tally {
    unsigned captures, whole, in_library;
};

static void count(struct tally *tally, const struct sonde_stack *stack, const char *how)
{
    check_stack(stack, how);
    tally->captures++;
    tally->whole += stack->end == SONDE_END_ROOT;
    for (uint32_t i = 0; i < stack->count; i++) {
        tally->in_library += is_place(stack->pcs[i]);
    }
}

static int take(void *ctx, const struct sonde_thread *thread, const struct sonde_stack *stack,
                const struct sonde_captured *captured)
{
    if (thread->tid == loader.tid && captured->status == SONDE_OK) {
        count(ctx, stack, "in a snapshot");
    }
    return 0;
}

static void capture_in_turn(struct sonde_stack *stack, unsigned turn, struct tally *tally)
{
    struct sonde_capture_options options = {.struct_bytes = sizeof options,
                                            .flags = SONDE_CAPTURE_BARE};
    struct sonde_captured captured = {.struct_bytes = sizeof captured};
    enum sonde_status status;
    if (turn % 64 == 0) {
        CHECK_OK(sonde_stack_prepare());
    }
    if (turn % 16 == 1) {
        options.timeout_ns = 20000000000u;
        options.files_kept = 16;
        options.flags |= SIGNALS_ARRIVE ? 0 : SONDE_CAPTURE_PASSIVE_ONLY;
        CHECK_OK(sonde_threads_snapshot(&options, stack, take, &tally[0], NULL));
        return;
    }
    if (turn % 16 != 2 || !SIGNALS_ARRIVE) {
        options.flags |= SONDE_CAPTURE_PASSIVE_ONLY;
    }
    status = sonde_thread_capture(loader.tid, &options, stack, &captured);
    if (status == SONDE_OK) {
        bool by_signal = captured.by == SONDE_CAPTURED_SIGNAL;
        count(&tally[by_signal ? 1 : 2], stack, by_signal ? "by signal" : "while it waits");
    } else if (status != SONDE_BUSY && status != SONDE_TIMEOUT) {
        FAIL("%s: %s", sonde_status_text(status), captured.note);
    }
}

static bool came_by_each_way(const struct tally *tally)
{
    return tally[2].whole > 0 && tally[2].in_library > 0 &&
           (!SIGNALS_ARRIVE || (tally[0].whole > 0 && tally[1].whole > 0));
}

/* Runs until each way has given whole stacks, even if a slow machine gives few. */
TEST_TIMEOUT(captures_while_libraries_come_and_go, 3600)
{
    static uint64_t pcs[DEPTH];
    static uint8_t found[DEPTH];
    static const char *const ways[] = {"in snapshots", "by signal", "while it waits"};
    struct sonde_capture_options options = {.struct_bytes = sizeof options};
    struct tally tally[3] = {{0}};
    struct sonde_stack stack;
    pthread_t repeater;
    unsigned wanted = test_long() ? 1000000 : SHORT_CAPTURES, turn = 0, all = 0;
    sonde_stack_init(&stack, pcs, found, DEPTH, 0);
    if (sonde_thread_capture(sonde_thread_main(), NULL, &stack, NULL) == SONDE_UNSUPPORTED) {
        SKIP("the system does not show where this process' threads wait");
    }
    start_loader();
    CHECK_OK(pthread_create(&repeater, NULL, repeat, NULL));
    for (; all < wanted || !came_by_each_way(tally); turn++) {
        if (turn % 1024 == 0) {
            use_cpu(turn / 1024 % 4 == 0 ? sched_getcpu() : -1);
        }
        capture_in_turn(&stack, turn, tally);
        all = tally[0].captures + tally[1].captures + tally[2].captures;
    }
    end_loader();
    __atomic_store_n(&stop_others, 1, __ATOMIC_RELEASE);
    pthread_join(repeater, NULL);
    for (int i = 0; i < 3; i++) {
        printf("     %s: %u captures, %u whole, %u in a library\n", ways[i], tally[i].captures,
               tally[i].whole, tally[i].in_library);
    }
    printf("     %u libraries loaded, %u captures by the thread itself\n", loader.rounds,
           loader.captures);
    CHECK(came_by_each_way(tally));
    CHECK(loader.captures == loader.rounds * 4);
    CHECK_OK(sonde_stack_prepare());
    CHECK_EQ(sonde__target_self_retired(), 0);
    options.flags = SONDE_CAPTURE_BARE | SONDE_CAPTURE_PASSIVE_ONLY; /* no files are kept */
    CHECK_OK(sonde_threads_snapshot(&options, &stack, take, &tally[0], NULL));
}

#if defined(__x86_64__)
/* Code without a record, with many words `leftover` on its stack: a scan finds its caller and tries
 * each word as a return address. */
__asm__(".pushsection .text, \"ax\", @progbits\n"
        ".p2align 4\n"
        ".type call_over, @function\n"
        "call_over: sub $264, %rsp\n"
        "xor %ecx, %ecx\n"
        "1: mov %rsi, (%rsp,%rcx,8)\n"
        "inc %ecx\n"
        "cmp $32, %ecx\n"
        "jne 1b\n"
        "call *%rdi\n"
        "add $264, %rsp\n"
        "ret\n"
        ".size call_over, . - call_over\n"
        ".popsection\n");
extern void call_over(void (*function)(void), uint64_t leftover);

static unsigned found_out;

static void capture_over(void)
{
    uint64_t pcs[DEPTH];
    uint8_t found[DEPTH];
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, found, DEPTH, 0);
    CHECK_OK(sonde_stack_capture(&stack, 0));
    found_out += stack.end == SONDE_END_ROOT;
}

/* Words left on a stack by earlier calls do not keep a library from being unloaded. */
TEST_TIMEOUT(leftovers_of_a_library_that_comes_and_goes, 3600)
{
    unsigned rounds = test_long() ? 1000000 : SHORT_CAPTURES;
    start_loader();
    for (unsigned i = 0; i < rounds; i++) {
        if (i % 100 == 0) {
            CHECK_OK(sonde_stack_prepare());
        }
        call_over(capture_over, __atomic_load_n(&loader.places[i % 2], __ATOMIC_RELAXED));
    }
    end_loader();
    printf("     %u of %u found\n", found_out, rounds);
    CHECK_EQ(found_out, rounds);
}
#endif
