// SPDX-License-Identifier: Apache-2.0
/* Stacks as text and as strings: compared with glibc's backtrace_symbols() and dladdr(), in
 * handlers, with libraries that are loaded and unloaded. */
#include <dlfcn.h>
#include <execinfo.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/text.h>
#include <sonde/thread.h>

#include "mem_heap.h"
#include "test.h"

enum { DEPTH = 64, TEXT = 16384 };

#define NOINLINE __attribute__((noinline))

static volatile int sink;

static struct captured {
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    struct sonde_stack stack;
} captured;

NOINLINE static void capture_here(void)
{
    sonde_stack_init(&captured.stack, captured.pcs, captured.how, DEPTH, 0);
    CHECK_OK(sonde_stack_capture(&captured.stack, 0));
    sink++;
}

/* The chain contains qsort() and a function that main does not export. */
static int compare(const void *a, const void *b)
{
    if (captured.stack.count == 0) {
        capture_here();
    }
    sink++;
    return *(const int *)a - *(const int *)b;
}

NOINLINE static void capture_under_qsort(void)
{
    int numbers[] = {2, 1, 3};
    captured.stack.count = 0;
    qsort(numbers, 3, sizeof numbers[0], compare);
    CHECK(captured.stack.count > 4);
    sink++;
}

/* The loader keeps memory after its first dlopen, and the library its own symbolizer: both would
 * look like a leak of each test. */
static __attribute__((constructor)) void warm(void)
{
    uint32_t count;
    void *pc;
    backtrace(&pc, 1);
    for (int i = 0; i < 3; i++) {
        void *handle = dlopen("libm.so.6", RTLD_NOW);
        if (handle != NULL) {
            dlclose(handle);
        }
    }
    free((void *)sonde_callstack_symbols(DEPTH, &count));
    sink += sonde_callstack_strings(DEPTH, &count) != NULL;
}

static struct sonde_symbolizer *create(void)
{
    struct sonde_symbolizer *symbolizer = NULL;
    CHECK_OK(sonde_symbolizer_create(&symbolizer));
    return symbolizer;
}

TEST(text_glibc_equals_backtrace_symbols)
{
    struct sonde_symbolizer *symbolizer = create();
    const char *const *lines = NULL;
    void *addresses[DEPTH];
    uint32_t count = 0;
    capture_under_qsort();
    for (uint32_t i = 0; i < captured.stack.count; i++) {
        addresses[i] = (void *)(uintptr_t)captured.pcs[i]; // NOLINT(performance-no-int-to-ptr)
    }
    char **expected = backtrace_symbols(addresses, (int)captured.stack.count);
    CHECK_OK(sonde_stack_strings(symbolizer, SONDE_STYLE_GLIBC, &captured.stack, &lines, &count));
    CHECK_EQ(count, captured.stack.count);
    for (uint32_t i = 0; i < count; i++) {
        CHECK_STR(lines[i], expected[i]);
    }
    free((void *)expected);
    sonde_symbolizer_destroy(symbolizer);
}

/* Each line has its format, with names of sonde_symbolize() and bases of dladdr(). */
TEST(text_callstack_lines)
{
    struct sonde_symbolizer *symbolizer = create();
    const char *const *lines = NULL;
    uint32_t count = 0;
    capture_under_qsort();
    CHECK_OK(
        sonde_stack_strings(symbolizer, SONDE_STYLE_CALLSTACK, &captured.stack, &lines, &count));
    CHECK_EQ(count, captured.stack.count);
    for (uint32_t i = 0; i < count; i++) {
        struct sonde_symbol symbol = {.struct_bytes = sizeof symbol};
        char expected[1024];
        Dl_info info;
        CHECK_OK(sonde_symbolize(symbolizer, &captured.stack, i, &symbol));
        CHECK(dladdr((void *)(uintptr_t)captured.pcs[i], &info) != 0); // NOLINT
        const char *image = strrchr(symbol.image, '/') + 1;
        snprintf(expected, sizeof expected, "%-4u%-35.35s 0x%016lx %s + %lu", i, image,
                 (unsigned long)captured.pcs[i], symbol.name[0] != '\0' ? symbol.name : image,
                 (unsigned long)(symbol.name[0] != '\0'
                                     ? symbol.name_offset
                                     : captured.pcs[i] - (uint64_t)(uintptr_t)info.dli_fbase));
        CHECK_STR(lines[i], expected);
    }
    CHECK_CONTAINS(lines[0], " capture_here + ");
    CHECK_CONTAINS(lines[1], " compare + ");
    sonde_symbolizer_destroy(symbolizer);
}

struct text {
    char bytes[TEXT * 4];
    size_t size;
};

static int append(void *ctx, const void *bytes, size_t size)
{
    struct text *text = ctx;
    CHECK(size < sizeof text->bytes - text->size);
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = '\0';
    return 0;
}

/* The stack, written by a handler. */
static const char *write_text(struct sonde_symbolizer *symbolizer, enum sonde_style style)
{
    static struct text text;
    text.size = 0;
    CHECK_OK(sonde_stack_write(symbolizer, style, &captured.stack, append, &text));
    return text.bytes;
}

TEST(text_of_a_handler_is_that_of_normal_context)
{
    struct sonde_symbolizer *symbolizer = create();
    static char normal[TEXT];
    const char *const *lines = NULL;
    uint32_t count = 0;
    size_t length = 0;
    capture_under_qsort();
    CHECK_OK(sonde_symbolizer_prepare(symbolizer));
    CHECK_OK(sonde_stack_text(symbolizer, SONDE_STYLE_CALLSTACK, &captured.stack, normal,
                              sizeof normal, &length));
    CHECK_EQ(strlen(normal), length);
    const char *text = write_text(symbolizer, SONDE_STYLE_CALLSTACK);
    CHECK_STR(text, normal);
    CHECK_OK(
        sonde_stack_strings(symbolizer, SONDE_STYLE_CALLSTACK, &captured.stack, &lines, &count));
    const char *at = text;
    for (uint32_t i = 0; i < count; i++) {
        CHECK(strncmp(at, lines[i], strlen(lines[i])) == 0);
        at += strlen(lines[i]);
        CHECK_EQ(*at++, '\n');
    }
    CHECK_EQ(*at, '\0');
    sonde_symbolizer_destroy(symbolizer);
}

TEST(text_is_cut_at_the_end_of_the_buffer)
{
    struct sonde_symbolizer *symbolizer = create();
    static char whole[TEXT];
    capture_under_qsort();
    CHECK_OK(sonde_symbolizer_prepare(symbolizer));
    for (int style = SONDE_STYLE_SONDE; style <= SONDE_STYLE_GLIBC; style++) {
        size_t length = 0, size;
        CHECK_OK(sonde_stack_text(symbolizer, (enum sonde_style)style, &captured.stack, whole,
                                  sizeof whole, &length));
        for (size = 1; size <= length + 1; size += size < 200 ? 1 : 37) {
            char *part = malloc(size);
            size_t part_length = 0;
            CHECK_EQ(sonde_stack_text(symbolizer, (enum sonde_style)style, &captured.stack, part,
                                      size, &part_length),
                     size > length ? SONDE_OK : SONDE_LIMIT);
            CHECK_EQ(part_length, size - 1);
            CHECK(strncmp(part, whole, size - 1) == 0);
            CHECK_EQ(part[size - 1], '\0');
            free(part);
        }
    }
    sonde_symbolizer_destroy(symbolizer);
}

/* Code of unprepared images is printed as image and offset. */
TEST(text_without_preparation_has_offsets)
{
    struct sonde_symbolizer *symbolizer = create();
    capture_under_qsort();
    const char *text = write_text(symbolizer, SONDE_STYLE_SONDE);
    CHECK(strstr(text, "compare") == NULL);
    CHECK_CONTAINS(text, "test_unit_api_text+0x");
    CHECK_CONTAINS(text, "libc.so.6+0x");
    sonde_symbolizer_destroy(symbolizer);
}

TEST(text_wrong_use_is_an_error)
{
    struct sonde_symbolizer *symbolizer = create();
    const char *const *lines = NULL;
    char text[8];
    uint32_t count = 7;
    capture_under_qsort();
    CHECK_EQ(sonde_stack_text(NULL, SONDE_STYLE_BS, &captured.stack, text, 8, NULL), SONDE_USAGE);
    CHECK_EQ(sonde_stack_text(symbolizer, (enum sonde_style)4, &captured.stack, text, 8, NULL),
             SONDE_USAGE);
    CHECK_EQ(sonde_stack_text(symbolizer, SONDE_STYLE_BS, &captured.stack, text, 0, NULL),
             SONDE_USAGE);
    CHECK_EQ(sonde_stack_write(symbolizer, SONDE_STYLE_BS, &captured.stack, NULL, NULL),
             SONDE_USAGE);
    CHECK_EQ(sonde_stack_strings(symbolizer, SONDE_STYLE_BS, NULL, &lines, &count), SONDE_USAGE);
    CHECK(sonde_callstack_symbols(0, &count) == NULL);
    CHECK_EQ(count, 0);
    CHECK(sonde_callstack_strings(0, &count) == NULL);
    sonde_symbolizer_destroy(symbolizer);
}

/* --- handlers --- */

static struct sonde_symbolizer *in_handler;
static volatile sig_atomic_t handled;

static int take_nothing(void *ctx, const void *bytes, size_t size)
{
    (void)ctx;
    (void)bytes;
    (void)size;
    return 0;
}

static void on_signal(int signal, siginfo_t *info, void *ucontext)
{
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    struct sonde_stack stack;
    (void)signal;
    (void)info;
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    if (sonde_stack_capture_ucontext(&stack, ucontext, 0) == SONDE_OK &&
        sonde_stack_write(in_handler, SONDE_STYLE_SONDE, &stack, take_nothing, NULL) == SONDE_OK &&
        sonde_stack_write(in_handler, SONDE_STYLE_CALLSTACK, &stack, take_nothing, NULL) ==
            SONDE_OK) {
        handled++;
    }
}

/* The interrupted code holds the symbolizer's lock, the heap's and the loader's in turn: a handler
 * that took one of them would wait for ever. */
TEST_TIMEOUT(text_in_a_handler_takes_no_lock, 120)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART}, old;
    struct itimerval every = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    int rounds = test_long() ? 3000 : 150;
    static char text[TEXT];
    in_handler = create();
    handled = 0;
    CHECK_OK(sonde_symbolizer_prepare(in_handler));
    capture_under_qsort();
    action.sa_sigaction = on_signal;
    CHECK_EQ(sigaction(SIGPROF, &action, &old), 0);
    CHECK_EQ(setitimer(ITIMER_PROF, &every, NULL), 0);
    for (int i = 0; i < rounds || handled < 20; i++) { /* the test's time limit bounds it */
        const char *const *lines;
        uint32_t count;
        void *library = dlopen("libm.so.6", RTLD_NOW);
        CHECK(library != NULL);
        CHECK_OK(sonde_stack_text(in_handler, SONDE_STYLE_SONDE, &captured.stack, text, sizeof text,
                                  NULL));
        dlclose(library);
        CHECK_OK(sonde_symbolizer_prepare(in_handler));
        CHECK_OK(sonde_stack_strings(in_handler, SONDE_STYLE_BS, &captured.stack, &lines, &count));
        free(malloc((size_t)i * 7 + 1));
    }
    CHECK_EQ(setitimer(ITIMER_PROF, &never, NULL), 0);
    CHECK_EQ(sigaction(SIGPROF, &old, NULL), 0);
    CHECK(handled >= 20);
    sonde_symbolizer_destroy(in_handler);
}

TEST(text_in_a_handler_uses_no_heap)
{
    struct sonde_symbolizer *symbolizer = create();
    CHECK_OK(sonde_symbolizer_prepare(symbolizer));
    capture_under_qsort();
    sonde__mem_fail_from(0);
    write_text(symbolizer, SONDE_STYLE_BS);
    const char *text = write_text(symbolizer, SONDE_STYLE_SONDE);
    CHECK_EQ(sonde__mem_asked(), 0);
    sonde__mem_fail_from(UINT64_MAX);
    CHECK_CONTAINS(text, "compare+0x");
    sonde_symbolizer_destroy(symbolizer);
}

/* --- strings --- */

TEST(strings_of_a_known_stack_are_the_same)
{
    struct sonde_symbolizer *symbolizer = create();
    const char *const *lines[3], *const *others;
    uint32_t count[3], other_count;
    capture_under_qsort();
    for (int i = 0; i < 3; i++) {
        CHECK_OK(sonde_stack_strings(symbolizer, SONDE_STYLE_CALLSTACK, &captured.stack, &lines[i],
                                     &count[i]));
    }
    CHECK_EQ(count[1], count[2]);
    CHECK(lines[0] == lines[1] && lines[1] == lines[2]);
    captured.pcs[1]++;
    CHECK_OK(sonde_stack_strings(symbolizer, SONDE_STYLE_CALLSTACK, &captured.stack, &others,
                                 &other_count));
    CHECK(others != lines[2]);
    CHECK(strcmp(others[1], lines[2][1]) != 0);
    captured.pcs[1]--;
    CHECK_OK(
        sonde_stack_strings(symbolizer, SONDE_STYLE_BS, &captured.stack, &others, &other_count));
    CHECK(others != lines[2]);
    sonde_symbolizer_destroy(symbolizer);
}

/* After dlclose the same addresses belong to no image. */
TEST(strings_follow_libraries_that_come_and_go)
{
    struct sonde_symbolizer *symbolizer = create();
    const char *const *lines;
    uint32_t count;
    void *library = dlopen("libm.so.6", RTLD_NOW);
    struct sonde_stack *stack = &captured.stack;
    CHECK(library != NULL);
    sonde_stack_init(stack, captured.pcs, captured.how, DEPTH, 0);
    captured.pcs[0] = (uint64_t)(uintptr_t)dlsym(library, "cbrt") + 2;
    captured.how[0] = SONDE_HOW_EXACT;
    stack->count = stack->lost_at = 1;
    stack->end = SONDE_END_ROOT;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(sonde_stack_strings(symbolizer, SONDE_STYLE_CALLSTACK, stack, &lines, &count));
        CHECK_EQ(count, 1);
        CHECK_CONTAINS(lines[0], "libm.so.6");
        CHECK_CONTAINS(lines[0], " cbrt");
    }
    dlclose(library);
    if (dlopen("libm.so.6", RTLD_NOW | RTLD_NOLOAD) == NULL) {
        CHECK_OK(sonde_stack_strings(symbolizer, SONDE_STYLE_CALLSTACK, stack, &lines, &count));
        CHECK_CONTAINS(lines[0], "???");
    }
    sonde_symbolizer_destroy(symbolizer);
}

TEST_TIMEOUT(strings_are_bounded, 120)
{
    struct sonde_symbolizer *symbolizer = create();
    const char *const *first = NULL, *const *lines = NULL;
    enum sonde_status status = SONDE_OK;
    uint32_t count;
    size_t bytes = 0;
    capture_under_qsort();
    for (uint64_t i = 0; status == SONDE_OK && i < 1000000; i++) {
        captured.pcs[captured.stack.count - 1] += 1;
        status =
            sonde_stack_strings(symbolizer, SONDE_STYLE_CALLSTACK, &captured.stack, &lines, &count);
        first = first == NULL ? lines : first;
        for (uint32_t k = 0; status == SONDE_OK && k < count; k++) {
            bytes += strlen(lines[k]) + 1;
        }
    }
    CHECK_EQ(status, SONDE_LIMIT);
    CHECK(bytes > SONDE_STRINGS_BYTES_MAX / 2 && bytes < SONDE_STRINGS_BYTES_MAX);
    CHECK_CONTAINS(first[0], "capture_here");
    sonde_symbolizer_destroy(symbolizer);
}

TEST(callstack_symbols_is_one_block_of_the_caller)
{
    uint32_t count = 0, few = 0;
    char **symbols = sonde_callstack_symbols(DEPTH, &count);
    CHECK(symbols != NULL);
    CHECK(count > 2);
    CHECK_CONTAINS(symbols[0], "callstack_symbols_is_one_block_of_the_caller + ");
    CHECK(strncmp(symbols[count - 1], "0", 1) != 0);
    free((void *)symbols);
    symbols = sonde_callstack_symbols(2, &few);
    CHECK_EQ(few, 2);
    free((void *)symbols);
}

NOINLINE static const char *const *strings_here(uint32_t *ret_count)
{
    return sonde_callstack_strings(DEPTH, ret_count);
}

static void *strings_of_thread(void *arg)
{
    const char *const *first = NULL;
    (void)arg;
    for (int i = 0; i < 200; i++) {
        uint32_t count = 0;
        const char *const *lines = strings_here(&count);
        CHECK(lines != NULL);
        CHECK_CONTAINS(lines[0], " strings_here");
        first = lines;
    }
    return (void *)(uintptr_t)first;
}

/* In a child process: the strings stay for good. */
static void ask_by_threads(void)
{
    pthread_t threads[4];
    void *result[4];
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, strings_of_thread, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(pthread_join(threads[i], &result[i]), 0);
    }
    /* the same stack in each: from the last turn of the loop */
    CHECK(result[0] == result[1] && result[1] == result[2] && result[2] == result[3]);
}

TEST(callstack_strings_of_many_threads_after_fork)
{
    uint32_t count = 0;
    int status = 1;
    CHECK(strings_here(&count) != NULL);
    pid_t child = fork();
    if (child == 0) {
        ask_by_threads();
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

/* --- threads --- */

static void *wait_for_byte(void *arg)
{
    char byte;
    CHECK_EQ(read(*(int *)arg, &byte, 1), 0);
    return NULL;
}

TEST(text_of_threads)
{
    static struct text text;
    struct sonde_symbolizer *symbolizer = create();
    char head[64];
    pthread_t thread;
    uint64_t tid = 0;
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(pthread_create(&thread, NULL, wait_for_byte, &ends[0]), 0);
    CHECK_EQ(pthread_setname_np(thread, "waits"), 0);
    while (sonde_thread_find_name("waits", &tid) != SONDE_OK) {
        usleep(1000);
    }
    usleep(50000);
    uint64_t pcs[16];
    uint8_t how[16];
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, 16, 0);
    if (sonde_thread_capture(tid, NULL, &stack, NULL) == SONDE_UNSUPPORTED) {
        SKIP("the system does not show where this process' threads wait");
    }
    text.size = 0;
    CHECK_OK(sonde_threads_write(symbolizer, SONDE_STYLE_BS, append, &text));
    unsigned threads = 0;
    int size = 0;
    CHECK_EQ(sscanf(text.bytes, "Call Backtrace of %u threads:\nBacktrace of Thread %n", &threads,
                    &size),
             1);
    CHECK(size != 0);
    CHECK(threads >= 2); /* sanitizers and emulators have threads of their own */
    snprintf(head, sizeof head, "\n\nBacktrace of Thread %" PRIu64 ":\n", tid);
    CHECK_CONTAINS(text.bytes, head);
    CHECK_CONTAINS(text.bytes, " wait_for_byte + ");
    CHECK_CONTAINS(text.bytes, " text_of_threads + ");
    CHECK_STR(text.bytes + text.size - 2, "\n\n");
    text.size = 0;
    CHECK_OK(sonde_thread_write(symbolizer, SONDE_STYLE_SONDE, tid, append, &text));
    CHECK(strncmp(text.bytes, "#0  0x", 6) == 0);
    CHECK_CONTAINS(text.bytes, "wait_for_byte+0x");
    text.size = 0;
    CHECK_OK(
        sonde_thread_write(symbolizer, SONDE_STYLE_CALLSTACK, sonde_thread_self(), append, &text));
    CHECK(strncmp(text.bytes, "0   test_unit_api_text ", 23) == 0);
    CHECK_CONTAINS(text.bytes, " text_of_threads + ");
    CHECK_EQ(sonde_thread_write(symbolizer, SONDE_STYLE_BS, 1 << 30, append, &text), SONDE_ABSENT);
    close(ends[1]);
    pthread_join(thread, NULL);
    close(ends[0]);
    sonde_symbolizer_destroy(symbolizer);
}

TEST(text_memory_runs_out_cleanly)
{
    for (uint64_t n = 0;; n++) {
        struct sonde_symbolizer *symbolizer = NULL;
        const char *const *lines;
        uint32_t count;
        enum sonde_status status;
        capture_under_qsort();
        sonde__mem_fail_once(n);
        status = sonde_symbolizer_create(&symbolizer);
        if (status == SONDE_OK) {
            status =
                sonde_stack_strings(symbolizer, SONDE_STYLE_BS, &captured.stack, &lines, &count);
        }
        bool reached = sonde__mem_asked() > n;
        sonde__mem_fail_from(UINT64_MAX);
        CHECK(status == SONDE_OK || status == SONDE_MEMORY);
        sonde_symbolizer_destroy(symbolizer);
        if (!reached) {
            CHECK_OK(status);
            break;
        }
    }
}
