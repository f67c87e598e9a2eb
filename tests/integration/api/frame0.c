// SPDX-License-Identifier: Apache-2.0
/* Frame 0 is the caller of the public function. Compiled in many ways by test_frame0.c. */
#include <stdio.h>

#include <sonde/depot.h>
#include <sonde/stack.h>
#include <sonde/thread.h>

enum { DEPTH = 32, FUNCTION_BYTES_MAX = 512 };

static uint64_t pcs[DEPTH];
static uint8_t how[DEPTH];
static struct sonde_stack stack;

#define KEEP __attribute__((noinline, noclone))
#ifdef __clang__
#    undef KEEP
#    define KEEP __attribute__((noinline))
#endif

KEEP static enum sonde_status in_the_middle(void)
{
    enum sonde_status status = sonde_stack_capture(&stack, 0);
    stack.outer = 0;
    return status;
}

/* Prevents a tail call, which would remove this function's frame. */
KEEP static enum sonde_status at_the_tail(void)
{
    return sonde_stack_capture(&stack, 0);
}

static int check(const char *name, enum sonde_status status, const void *caller)
{
    uint64_t distance = pcs[0] - (uint64_t)(uintptr_t)caller;
    if (status != SONDE_OK || stack.count == 0 || distance == 0 || distance > FUNCTION_BYTES_MAX) {
        printf("%s: status %d, count %u, distance %lld\n", name, (int)status, stack.count,
               (long long)distance);
        return 1;
    }
    return 0;
}

#if !defined(STACK_ONLY)
KEEP static enum sonde_status of_the_whole(void)
{
    struct sonde_stack whole;
    enum sonde_status status = sonde_stack_capture_whole(&whole, 0);
    if (status == SONDE_OK) {
        pcs[0] = whole.pcs[0];
        stack.count = whole.count;
        sonde_stack_free(&whole);
    }
    return status;
}

KEEP static enum sonde_status own_thread(void)
{
    return sonde_thread_capture(sonde_thread_self(), NULL, &stack, NULL);
}

static uint64_t seen;
static int take(void *ctx, const struct sonde_thread *thread, const struct sonde_stack *taken,
                const struct sonde_captured *captured)
{
    (void)ctx;
    (void)captured;
    if (thread->is_self) {
        seen = taken->pcs[0];
    }
    return 0;
}

KEEP static enum sonde_status all_threads(void)
{
    return sonde_threads_capture(NULL, &stack, take, NULL);
}

static struct sonde_depot *depot;
static uint32_t id;

KEEP static enum sonde_status into_a_depot(void)
{
    return sonde_depot_capture(depot, 0, &id);
}

KEEP static enum sonde_status as_a_call(void)
{
    return sonde_audit_record(depot, 1, 0);
}

static int note_id(void *ctx, const struct sonde_audit_entry *entry)
{
    (void)ctx;
    id = entry->stack;
    return 0;
}

static int check_depot(void)
{
    int bad = 0;
    if (sonde_depot_create(1000, &depot) != SONDE_OK || into_a_depot() != SONDE_OK) {
        return 1;
    }
    bad += check("depot", sonde_depot_stack(depot, id, &stack), (const void *)&into_a_depot);
    if (as_a_call() != SONDE_OK || sonde_audit_entries(depot, note_id, NULL) != SONDE_OK) {
        return 1;
    }
    bad += check("call", sonde_depot_stack(depot, id, &stack), (const void *)&as_a_call);
    sonde_depot_destroy(depot);
    return bad;
}
#endif

int main(void)
{
    int bad = 0;
    uint64_t caller;
    for (uint32_t depth = 1; depth <= DEPTH; depth += DEPTH - 1) {
        sonde_stack_init(&stack, pcs, how, depth, 0);
        bad += check("in the middle", in_the_middle(), (const void *)&in_the_middle);
        bad += check("at the tail", at_the_tail(), (const void *)&at_the_tail);
#if !defined(STACK_ONLY)
        bad += check("own thread", own_thread(), (const void *)&own_thread);
        bad += check("whole", of_the_whole(), (const void *)&of_the_whole);
        bad += check("all threads", all_threads(), (const void *)&all_threads);
        pcs[0] = seen;
        bad += check("all threads, in the callback", SONDE_OK, (const void *)&all_threads);
        bad += check_depot();
#endif
    }
    /* one frame further out by skip: who called main */
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    bad += sonde_stack_capture(&stack, 0) != SONDE_OK;
    caller = pcs[1];
    bad += sonde_stack_capture(&stack, 1) != SONDE_OK || pcs[0] != caller;
    puts(bad == 0 ? "frame 0 is the caller" : "wrong");
    return bad != 0;
}
