// SPDX-License-Identifier: Apache-2.0
/* The walk of a target's stack, from registers already read. */
#include "arch_syscall.h"
#include "host_ptrace.h"
#include "os.h"
#include "target_process.h"
#include "unwind_walk.h"

static bool may_be_code(void *ctx, uint64_t pc)
{
    struct sonde__target *target = ctx;
    return target->ops->may_be_code(target, pc);
}

void sonde__target_walk(struct sonde__target *target, const struct sonde__regs *regs, bool infer,
                        bool (*read)(void *ctx, uint64_t address, void *ret_bytes, size_t size),
                        void *ctx, struct sonde_stack *stack)
{
    struct sonde__walk walk = {.images = &target->images.set,
                               .made = &target->jit.set,
                               .regs = *regs,
                               .memory = {.read = read, .ctx = ctx},
                               .first_exact = true,
                               .infer = infer,
                               .ret_fps = sonde__target_script_fps(target, stack->capacity),
                               .ret_outer_sp = &target->scripts.outer_sp,
                               .may_be_code = may_be_code,
                               .code_ctx = target,
                               .keeps_record = sonde__target_keeps_record,
                               .record_ctx = &target->scripts};
    target->scripts.inner_sp = regs->r[sonde__arch_sp(regs->arch)];
    sonde__stack_reset(stack);
    sonde__unwind_walk(&walk, stack);
    if (sonde__target_jit_learn(target, stack)) {
        sonde__stack_reset(stack);
        sonde__unwind_walk(&walk, stack);
    }
    sonde__target_images_hit(&target->images, stack->pcs, stack->count);
}

void sonde__target_walk_copy(struct sonde__target_process *p, const uint8_t *bytes,
                             uint64_t address, size_t size, struct sonde_stack *stack,
                             struct sonde__capture *capture)
{
    sonde__window_forget(p->window);
    p->window->copy = bytes;
    p->window->copy_start = address;
    p->window->copy_end = address + size;
    sonde__target_walk(&p->base, &capture->regs, false, sonde__window_read, p->window, stack);
    if (p->window->beyond_copy) {
        sonde__target_note(capture, "frames beyond %u bytes of stack were read a moment later",
                           (unsigned)size);
    }
    p->window->copy = NULL;
}

/* The state that the stop found it in. That of a moment before may have changed since. */
static char letter_of_stopped(const struct sonde__target_process *p, uint64_t tid,
                              const struct sonde__regs *regs)
{
    uint8_t code[8];
    if (sonde__host_ptrace_group_stop(tid)) {
        return 'T';
    }
    size_t size = sonde__os_read_process(p->base.pid, regs->pc - 4, code, sizeof code, NULL);
    return sonde__arch_call_was_interrupted(regs, code, (unsigned)size) ? 'S' : 'R';
}

void sonde__target_read_stopped(struct sonde__target_process *p, uint64_t tid,
                                struct sonde_stack *stack, struct sonde__capture *ret_capture)
{
    enum sonde_status status = sonde__host_ptrace_registers(
        tid, &ret_capture->regs, &ret_capture->syscall, ret_capture->syscall_args);
    ret_capture->status = status;
    if (status != SONDE_OK) {
        sonde__target_note(ret_capture, status == SONDE_ABSENT ? "the thread has ended"
                                                               : "its registers cannot be read");
        return;
    }
    ret_capture->by = SONDE__CAPTURED_PTRACE;
    ret_capture->letter = letter_of_stopped(p, tid, &ret_capture->regs);
    sonde__window_forget(p->window);
    sonde__target_walk(&p->base, &ret_capture->regs, false, sonde__window_read, p->window, stack);
    sonde__target_read_resting(&p->base, tid, stack);
    sonde__target_join_script(&p->base, NULL, stack);
}
