// SPDX-License-Identifier: Apache-2.0
/* Each blocked thread's stack is whole, from the call to the thread's entry, and no call ends early
 * because of a capture. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/thread.h>

#include "calls.h"
#include "target.h"
#include "test.h"

enum { DEPTH = 64, TIMES = 5, FUNCTION_BYTES_MAX = 1024 };

static uint64_t pcs[DEPTH];
static uint8_t how[DEPTH];
static struct sonde_stack stack;

static bool is_in(uint64_t pc, const void *function)
{
    return pc - (uint64_t)(uintptr_t)function < FUNCTION_BYTES_MAX &&
           pc != (uint64_t)(uintptr_t)function;
}

/* block_*, middle and outer are adjacent; under outer are libc's two frames. */
static const char *what_is_wrong(const struct call *call)
{
    uint32_t i = 0;
    const void *block;
    memcpy(&block, &call->block, sizeof block);
    if (stack.end != SONDE_END_ROOT) {
        return sonde_end_text(stack.end);
    }
    while (i < stack.count && !is_in(pcs[i], block)) {
        i++;
    }
    if (i + 5 != stack.count) {
        return i == stack.count ? "the function that blocks is missing" : "another depth";
    }
    return is_in(pcs[i + 1], (const void *)&middle) && is_in(pcs[i + 2], (const void *)&outer)
               ? NULL
               : "other callers";
}

static void print_stack(const struct call *call, const char *what)
{
    printf("%s: %s\n", call->name, what);
    for (uint32_t i = 0; i < stack.count; i++) {
        printf("    0x%llx %s\n", (unsigned long long)pcs[i],
               sonde_found_text(how[i] & SONDE_HOW_FOUND_MASK));
    }
}

/* Capture until the thread is in its call. */
static void capture_call(const struct call *call)
{
    struct sonde_capture_options options = {.struct_bytes = sizeof options,
                                            .flags = SONDE_CAPTURE_PASSIVE_ONLY};
    struct sonde_captured captured = {.struct_bytes = sizeof captured};
    enum sonde_status status;
    do {
        sonde_stack_init(&stack, pcs, how, DEPTH, 0);
        status = sonde_thread_capture(call->tid, &options, &stack, &captured);
        if (status != SONDE_OK && status != SONDE_BUSY) {
            FAIL("%s: %s %s", call->name, sonde_status_text(status), captured.note);
        }
    } while (status == SONDE_BUSY);
    CHECK_EQ(captured.by, SONDE_CAPTURED_PASSIVE);
}

static void capture_inside(void)
{
    unsigned wrong = 0;
    start_calls();
    usleep(300000); /* let the threads reach their calls */
    for (unsigned i = 0; i < call_count; i++) {
        for (unsigned n = 0; n < TIMES; n++) {
            const char *what;
            capture_call(&calls[i]);
            what = what_is_wrong(&calls[i]);
            if (what != NULL && n == 0) {
                print_stack(&calls[i], what);
                wrong++;
            }
        }
        CHECK(!__atomic_load_n(&calls[i].done, __ATOMIC_ACQUIRE));
    }
    release_calls();
    check_calls();
    CHECK_EQ(wrong, 0);
}

/* In a child: libc keeps memory of so many threads, which would look like a leak. */
TEST_TIMEOUT(from_inside, 120)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        capture_inside();
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

/* A child makes the calls; it has our functions at our addresses. */
static unsigned capture_child(pid_t child)
{
    struct sonde__target *target;
    const struct sonde__thread *threads;
    struct sonde_error error;
    uint32_t count;
    unsigned wrong = 0, seen = 0;
    struct sonde__target_options options = {.mode = SONDE__TARGET_PASSIVE};
    if (sonde__target_open_process(child, &options, &target, &error) != SONDE_OK ||
        sonde__target_threads(target, &threads, &count, &error) != SONDE_OK) {
        FAIL("%s", error.what);
    }
    for (uint32_t t = 0; t < count; t++) {
        for (unsigned i = 0; i < call_count; i++) {
            struct sonde__capture capture;
            const char *what;
            if (strcmp(threads[t].name, calls[i].name) != 0) {
                continue;
            }
            seen++;
            sonde_stack_init(&stack, pcs, how, DEPTH, 0);
            sonde__target_capture(target, &threads[t], &stack, &capture);
            if (capture.status != SONDE_OK) {
                FAIL("%s: %s %s", calls[i].name, sonde_status_text(capture.status), capture.note);
            }
            what = what_is_wrong(&calls[i]);
            if (what != NULL) {
                print_stack(&calls[i], what);
                wrong++;
            }
        }
    }
    sonde__target_close(target);
    CHECK_EQ(seen, call_count);
    return wrong;
}

TEST_TIMEOUT(from_outside, 120)
{
    int ready[2], go[2], status;
    char byte;
    unsigned wrong;
    CHECK_OK(pipe(ready));
    CHECK_OK(pipe(go));
    pid_t child = fork();
    if (child == 0) {
        start_calls();
        usleep(300000);
        CHECK_EQ(write(ready[1], "x", 1), 1);
        CHECK_EQ(read(go[0], &byte, 1), 1);
        release_calls();
        check_calls();
        _exit(0);
    }
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    wrong = capture_child(child);
    CHECK_EQ(write(go[1], "x", 1), 1);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    close(ready[0]), close(ready[1]), close(go[0]), close(go[1]);
    CHECK_EQ(wrong, 0);
}
