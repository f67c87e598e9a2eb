// SPDX-License-Identifier: Apache-2.0
#include "snapshots.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct seen seen[SEEN_MAX];
uint32_t seen_count;
struct sonde_snapshot snapshot = {.struct_bytes = sizeof snapshot};

int take(void *ctx, const struct sonde_thread *thread, const struct sonde_stack *stack,
         const struct sonde_captured *captured)
{
    struct seen *s = &seen[seen_count++];
    (void)ctx;
    CHECK(seen_count <= SEEN_MAX);
    s->thread = *thread;
    s->captured = *captured;
    s->stack = *stack;
    memcpy(s->pcs, stack->pcs, stack->count * sizeof *s->pcs);
    memcpy(s->how, stack->how, stack->count);
    return 0;
}

__attribute__((noinline)) enum sonde_status capture(uint32_t flags, uint32_t files)
{
    static uint64_t pcs[DEPTH];
    static uint8_t how[DEPTH];
    struct sonde_stack stack;
    struct sonde_capture_options options = {.struct_bytes = sizeof options,
                                            .flags = flags,
                                            .timeout_ns = 20000000000u, /* a loaded machine */
                                            .files_kept = files};
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    seen_count = 0;
    return sonde_threads_snapshot(&options, &stack, take, NULL, &snapshot);
}

const struct seen *find(uint64_t tid)
{
    for (uint32_t i = 0; i < seen_count; i++) {
        if (seen[i].thread.tid == tid) {
            return &seen[i];
        }
    }
    FAIL("thread %" PRIu64 " is not in the snapshot", tid);
}

bool holds(const struct seen *s, const void *function, size_t size)
{
    if (TEST_SIGNALS_ARE_LATE && s->captured.by == SONDE_CAPTURED_SIGNAL) {
        return s->stack.count > 0;
    }
    for (uint32_t i = 0; i < s->stack.count; i++) {
        if (s->pcs[i] - (uintptr_t)function < size) {
            return true;
        }
    }
    return false;
}

void check_stands_in(const struct seen *s, const void *function)
{
    CHECK_EQ(s->captured.by, SONDE_CAPTURED_SIGNAL);
    CHECK(s->stack.count > 0);
    if (!TEST_SIGNALS_ARE_LATE) {
        CHECK_EQ(s->stack.end, SONDE_END_ROOT);
        CHECK(s->pcs[0] - (uintptr_t)function < FUNCTION_SIZE);
    }
}

void need_snapshots(void)
{
    enum sonde_status status = capture(SONDE_CAPTURE_PASSIVE_ONLY, 0);
    if (status == SONDE_UNSUPPORTED) {
        SKIP("the system does not show where this process' threads wait");
    }
    CHECK_OK(status);
}

void check_action_is(void (*handler)(int))
{
    struct sigaction now;
    CHECK_OK(sigaction(SIGURG, NULL, &now));
    CHECK(now.sa_handler == handler);
}

/* The loader and the C library keep some memory of their first threads and libraries, which would
 * look like a leak of each test. */
static void *nothing(void *arg)
{
    void *volatile memory = malloc(100000); /* of an arena of its own */
    free(memory);
    usleep(1000);
    return arg;
}

static __attribute__((constructor)) void warm_up(void)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) {
        CHECK_OK(pthread_create(&threads[i], NULL, nothing, NULL));
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        void *handle = dlopen("libm.so.6", RTLD_NOW);
        if (handle != NULL) {
            dlclose(handle);
        }
    }
}

void begin_work(struct worker *w)
{
    w->tid = (uint64_t)syscall(SYS_gettid);
    __atomic_store_n(&w->ready, 1, __ATOMIC_RELEASE);
}

__attribute__((noinline)) void *read_bytes(void *arg)
{
    struct worker *w = arg;
    char byte;
    begin_work(w);
    while (read(w->fds[0], &byte, 1) == 1) {
        __atomic_fetch_add(&w->bytes, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

__attribute__((noinline)) void *spin(void *arg)
{
    struct worker *w = arg;
    begin_work(w);
    while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
        test_take_signals();
    }
    return NULL;
}

void start(struct worker *w, void *(*function)(void *))
{
    CHECK_OK(pthread_create(&w->thread, NULL, function, w));
    while (!__atomic_load_n(&w->ready, __ATOMIC_ACQUIRE)) {
        usleep(100);
    }
}

void end(struct worker *w)
{
    __atomic_store_n(&w->stop, 1, __ATOMIC_RELEASE);
    pthread_join(w->thread, NULL);
}

void start_reader(struct worker *w)
{
    CHECK_OK(pipe(w->fds));
    start(w, read_bytes);
    while (capture(SONDE_CAPTURE_PASSIVE_ONLY, 0) != SONDE_OK || /* until it is in its call */
           find(w->tid)->captured.syscall != SYS_read) {
        usleep(100);
    }
}

void end_reader(struct worker *w)
{
    close(w->fds[1]);
    pthread_join(w->thread, NULL);
    close(w->fds[0]);
}

void feed_reader(struct worker *w)
{
    unsigned bytes = __atomic_load_n(&w->bytes, __ATOMIC_ACQUIRE);
    CHECK_EQ(write(w->fds[1], "x", 1), 1);
    while (__atomic_load_n(&w->bytes, __ATOMIC_ACQUIRE) == bytes) {
        usleep(100);
    }
    usleep(10000);
}

void check_reader(const struct worker *w)
{
    const struct seen *s = find(w->tid);
    CHECK_OK(s->captured.status);
    CHECK_EQ(s->captured.by, SONDE_CAPTURED_PASSIVE);
    CHECK_EQ(s->captured.syscall, SYS_read);
    CHECK_EQ(s->captured.syscall_args[0], w->fds[0]);
    CHECK_EQ(s->stack.end, SONDE_END_ROOT);
    CHECK(holds(s, (void *)&read_bytes, FUNCTION_SIZE));
    CHECK_EQ(s->thread.state, SONDE_THREAD_BLOCKED);
}
