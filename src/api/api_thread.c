// SPDX-License-Identifier: Apache-2.0
/* Stacks of this process' threads: the calling one here, the others by what the system allows
 * (api_thread_passive.c, api_thread_stop.c). */
#include "api_thread.h"

#include "base_mem.h"
#include "base_sized.h"
#include "base_status.h"
#include "base_text.h"
#include "capture_walk.h"
#include "os.h"
#include "target_self.h"
#include "unwind_walk.h"

#define FLAGS (SONDE_CAPTURE_PASSIVE_ONLY | SONDE_CAPTURE_BARE)

static void clear_stack(struct sonde_stack *stack)
{
    sonde__stack_reset(stack);
}

void sonde__api_stack_copy(const struct sonde_stack *from, struct sonde_stack *to)
{
    struct sonde_stack arrays = *to;
    sonde__base_mem_copy(to->pcs, from->pcs, from->count * sizeof *to->pcs);
    sonde__base_mem_copy(to->how, from->how, from->count);
    if (from->async_count > 0) {
        sonde__base_mem_copy(to->async_pcs, from->async_pcs,
                             from->async_count * sizeof *to->async_pcs);
    }
    *to = *from;
    to->pcs = arrays.pcs;
    to->how = arrays.how;
    to->async_pcs = arrays.async_pcs;
}

_Static_assert((int)SONDE_CAPTURED_STOP == (int)SONDE__CAPTURED_STOP,
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

static enum sonde_status capture_one(const struct sonde__os_stop *thread,
                                     const struct sonde_capture_options *options,
                                     enum sonde_status others, const struct sonde__regs *caller,
                                     struct sonde_stack *stack, struct sonde_captured *captured)
{
    sonde__base_mem_set(captured, 0, sizeof *captured);
    captured->syscall = -1;
    clear_stack(stack);
    captured->status = thread->tid == sonde__os_tid()
                           ? capture_self(caller, options->skip, stack, captured)
                           : sonde__api_other_capture(thread, options, others, stack, captured);
    return captured->status;
}

enum sonde_status sonde__api_thread_capture(uint64_t tid, const struct sonde_capture_options *given,
                                            struct sonde_stack *stack,
                                            struct sonde_captured *ret_captured,
                                            const struct sonde__regs *caller)
{
    struct sonde_capture_options options;
    struct sonde_captured captured;
    struct sonde__os_stop thread;
    struct sonde__text note;
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
    status = sonde__api_thread_refer(tid, &thread);
    if (status == SONDE_OK) {
        status = capture_one(&thread, &options, sonde__api_other_check(), caller, stack, &captured);
        sonde__api_thread_release(&thread);
    } else {
        clear_stack(stack);
        captured = (struct sonde_captured){.status = status, .syscall = -1};
        sonde__base_text_init(&note, captured.note, sizeof captured.note);
        sonde__base_text_str(&note,
                             status == SONDE_OS ? "the kernel did not list the threads" : "");
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
    enum sonde_status others;
    struct sonde__os_stop *all;
    size_t count;
    if (!sonde__capture_is_usable(stack) || each == NULL ||
        !sonde__api_capture_options(given, SONDE_CAPTURE_TIMEOUT_NS, &options)) {
        return SONDE_USAGE;
    }
    SONDE_TRY(sonde__target_self_refresh(false));
    SONDE_TRY(sonde__api_threads_open(&all, &count));
    others = sonde__api_other_check();
    for (size_t i = 0; i < count; i++) {
        struct sonde_captured captured = {.status = SONDE_ABSENT, .syscall = -1};
        struct sonde_thread thread = {.struct_bytes = sizeof thread,
                                      .tid = all[i].tid,
                                      .state = SONDE_THREAD_DEAD,
                                      .letter = '?'};
        clear_stack(stack);
        if (sonde__api_thread_describe(&all[i], &thread) == SONDE_OK) {
            enum sonde_status status =
                capture_one(&all[i], &options, others, caller, stack, &captured);
            (void)status; /* `captured` has it */
        }
        captured.struct_bytes = sizeof captured;
        if (each(ctx, &thread, stack, &captured) != 0) {
            break;
        }
    }
    sonde__api_threads_close(all, count);
    return SONDE_OK;
}
