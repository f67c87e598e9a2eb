// SPDX-License-Identifier: Apache-2.0
/* Stacks of this process' threads. A blocked thread is read passively. A thread gets a signal only
 * if it was just seen running; if it does not answer, it is read again. */
#include "api_thread.h"

#include "base_mem.h"
#include "base_sized.h"
#include "base_status.h"
#include "base_text.h"
#include "capture_thread.h"
#include "capture_walk.h"
#include "mem_heap.h"
#include "os.h"
#include "target_self.h"
#include "unwind_walk.h"

/* Number of tries: a thread may enter or leave a call between the read and the signal. */
enum { ROUNDS = 3 };
#define FLAGS (SONDE_CAPTURE_PASSIVE_ONLY | SONDE_CAPTURE_BARE)

static void note(struct sonde_captured *captured, const char *text)
{
    struct sonde__text out;
    sonde__base_text_init(&out, captured->note, sizeof captured->note);
    sonde__base_text_str(&out, text);
}

static void clear_stack(struct sonde_stack *stack)
{
    sonde__stack_reset(stack);
}

_Static_assert((int)SONDE_CAPTURED_SIGNAL == (int)SONDE__CAPTURED_SIGNAL,
               "ways of capture are handed over as they are");

void sonde__api_capture_of(const struct sonde_captured *captured,
                           struct sonde__capture *ret_capture)
{
    *ret_capture = (struct sonde__capture){
        .status = captured->status, .by = captured->by, .syscall = captured->syscall};
    sonde__base_mem_copy(ret_capture->syscall_args, captured->syscall_args,
                         sizeof ret_capture->syscall_args);
    sonde__base_mem_copy(ret_capture->note, captured->note, sizeof captured->note);
}

bool sonde__api_capture_options(const struct sonde_capture_options *given, uint64_t timeout_ns,
                                struct sonde_capture_options *ret_options)
{
    struct sonde_capture_options options = {.struct_bytes = sizeof options};
    if (given != NULL && (!sonde__base_sized_take(given, &options, sizeof options) ||
                          (options.flags & ~FLAGS) != 0)) {
        return false;
    }
    if (options.timeout_ns == 0) {
        options.timeout_ns = timeout_ns;
    }
    *ret_options = options;
    return true;
}

static enum sonde_status capture_self(const struct sonde__regs *caller, uint32_t skip,
                                      struct sonde_stack *stack, struct sonde_captured *captured)
{
    sonde__capture_walk(stack, caller, false, skip, SONDE__CAPTURE_OWN);
    captured->by = SONDE_CAPTURED_SELF;
    return SONDE_OK;
}

struct passive_read {
    uint64_t tid;
    struct sonde_stack *stack;
    struct sonde_captured *captured;
    enum sonde_status status;
};

static void read_passively(void *ctx)
{
    struct passive_read *read = ctx;
    read->status = sonde__capture_blocked(read->tid, read->stack, read->captured);
}

static enum sonde_status capture_other(uint64_t tid, const struct sonde_capture_options *options,
                                       enum sonde_status passive, struct sonde_stack *stack,
                                       struct sonde_captured *captured)
{
    bool may_signal = (options->flags & SONDE_CAPTURE_PASSIVE_ONLY) == 0;
    enum sonde_status status = passive;
    for (unsigned i = 0; i < ROUNDS; i++) {
        captured->note[0] = '\0';
        captured->syscall = -1;
        if (passive == SONDE_OK) {
            struct passive_read read = {tid, stack, captured, SONDE_UNSUPPORTED};
            sonde__target_self_hold_images(read_passively, &read);
            status = read.status;
            if (status != SONDE_BUSY && status != SONDE_TIMEOUT) {
                return status;
            }
        }
        captured->syscall = -1;
        if (passive != SONDE_OK) {
            /* It is unknown whether it is blocked, and a signal might end its call early. */
            note(captured, passive == SONDE_DENIED
                               ? "the system does not let this process read its own threads"
                               : "the system does not show where this process' threads wait");
            return passive;
        }
        if (!may_signal) {
            note(captured, status == SONDE_BUSY ? "it runs, and signals are not allowed here"
                                                : "it moved each time it was read");
            return SONDE_BUSY;
        }
        clear_stack(stack);
        status = sonde__api_signal_capture(tid, options->timeout_ns, stack, captured);
        if (status != SONDE_TIMEOUT) {
            return status;
        }
    }
    return status;
}

static enum sonde_status capture_one(uint64_t tid, const struct sonde_capture_options *options,
                                     enum sonde_status passive, const struct sonde__regs *caller,
                                     struct sonde_stack *stack, struct sonde_captured *captured)
{
    sonde__base_mem_set(captured, 0, sizeof *captured);
    captured->syscall = -1;
    clear_stack(stack);
    captured->status = tid == sonde__os_tid()
                           ? capture_self(caller, options->skip, stack, captured)
                           : capture_other(tid, options, passive, stack, captured);
    return captured->status;
}

static enum sonde_status check_exists(uint64_t tid)
{
    struct sonde__capture_stat stat;
    enum sonde_status status = tid > 0 ? sonde__capture_read_stat(tid, &stat) : SONDE_ABSENT;
    return status == SONDE_ABSENT ? SONDE_ABSENT : SONDE_OK;
}

enum sonde_status sonde__api_thread_capture(uint64_t tid, const struct sonde_capture_options *given,
                                            struct sonde_stack *stack,
                                            struct sonde_captured *ret_captured,
                                            const struct sonde__regs *caller)
{
    struct sonde_capture_options options;
    struct sonde_captured captured;
    enum sonde_status status;
    if (!sonde__capture_is_usable(stack) ||
        (ret_captured != NULL && !sonde__base_sized_is_set(ret_captured)) ||
        !sonde__api_capture_options(given, SONDE_CAPTURE_TIMEOUT_NS, &options)) {
        return SONDE_USAGE;
    }
    status = sonde__target_self_refresh(false);
    if (status != SONDE_OK) {
        return status;
    }
    status = check_exists(tid);
    if (status == SONDE_OK) {
        status =
            capture_one(tid, &options, sonde__capture_passive_check(), caller, stack, &captured);
    } else {
        captured = (struct sonde_captured){.status = status, .syscall = -1};
    }
    if (ret_captured != NULL) {
        sonde__base_sized_give(ret_captured, &captured, sizeof captured);
    }
    return status;
}

enum sonde_status sonde__api_threads_capture(const struct sonde_capture_options *given,
                                             struct sonde_stack *stack, sonde_thread_each each,
                                             void *ctx, const struct sonde__regs *caller)
{
    struct sonde_capture_options options;
    enum sonde_status passive;
    uint64_t *tids;
    size_t count;
    if (!sonde__capture_is_usable(stack) || each == NULL ||
        !sonde__api_capture_options(given, SONDE_CAPTURE_TIMEOUT_NS, &options)) {
        return SONDE_USAGE;
    }
    SONDE_TRY(sonde__target_self_refresh(false));
    SONDE_TRY(sonde__api_thread_tids(&tids, &count));
    passive = sonde__capture_passive_check();
    for (size_t i = 0; i < count; i++) {
        struct sonde_captured captured = {.status = SONDE_ABSENT, .syscall = -1};
        struct sonde_thread thread = {.struct_bytes = sizeof thread,
                                      .tid = tids[i],
                                      .state = SONDE_THREAD_DEAD,
                                      .letter = '?'};
        clear_stack(stack);
        if (sonde__api_thread_describe(tids[i], &thread) == SONDE_OK) {
            enum sonde_status status =
                capture_one(tids[i], &options, passive, caller, stack, &captured);
            (void)status; /* `captured` has it */
        }
        captured.struct_bytes = sizeof captured;
        if (each(ctx, &thread, stack, &captured) != 0) {
            break;
        }
    }
    sonde__mem_free(tids);
    return SONDE_OK;
}
