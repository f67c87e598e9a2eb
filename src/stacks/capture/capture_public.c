// SPDX-License-Identifier: Apache-2.0
/* The public functions that may be called in a handler. They are in this folder, not in api, so
 * that the build holds them to its rules (CONTRIBUTING.md). */
#include <sonde/stack.h>
#include <sonde/thread.h>

#include "base_mem.h"
#include "capture_walk.h"
#include "os.h"
#include "os_context.h"
#include "unwind_walk.h"

enum sonde_status sonde_stack_capture_ucontext(struct sonde_stack *stack, const void *ucontext,
                                               uint32_t skip)
{
    struct sonde__regs regs;
    if (!sonde__capture_is_usable(stack) || ucontext == NULL) {
        return SONDE_USAGE;
    }
    sonde__os_context_regs(ucontext, &regs);
    sonde__capture_walk_counted(stack, &regs, true, skip, SONDE__CAPTURE_OWN);
    return SONDE_OK;
}

enum sonde_status sonde_stack_capture_registers(struct sonde_stack *stack,
                                                const struct sonde_registers *registers,
                                                uint32_t skip)
{
    struct sonde__regs regs;
    if (!sonde__capture_is_usable(stack) || registers == NULL) {
        return SONDE_USAGE;
    }
    sonde__base_mem_set(&regs, 0, sizeof regs);
    regs.arch = SONDE__ARCH_HOST;
    regs.pc = registers->pc;
    sonde__regs_set(&regs, sonde__arch_sp(regs.arch), registers->sp);
    if ((registers->known & SONDE_REGISTERS_FP) != 0) {
        sonde__regs_set(&regs, sonde__arch_fp(regs.arch), registers->fp);
    }
    if ((registers->known & SONDE_REGISTERS_LR) != 0 && regs.arch == SONDE_ARCH_AARCH64) {
        sonde__regs_set(&regs, SONDE__AARCH64_LR, registers->lr);
    }
    sonde__capture_walk_counted(stack, &regs, (registers->known & SONDE_REGISTERS_EXACT) != 0, skip,
                                SONDE__CAPTURE_DOUBT);
    return SONDE_OK;
}

enum sonde_status sonde_stack_capture_frame(struct sonde_stack *stack, uint64_t frame_pointer,
                                            uint32_t skip)
{
    uint64_t record[2] = {0, 0}; /* both ABIs: saved frame pointer, return address */
    struct sonde__regs regs;
    if (!sonde__capture_is_usable(stack)) {
        return SONDE_USAGE;
    }
    if (sonde__os_read(frame_pointer, record, sizeof record) != sizeof record) {
        sonde__stack_reset(stack);
        stack->end = SONDE_END_UNREADABLE;
        stack->end_at = frame_pointer;
        return SONDE_OK;
    }
    sonde__base_mem_set(&regs, 0, sizeof regs);
    regs.arch = SONDE__ARCH_HOST;
    regs.pc = sonde__arch_strip_pac(regs.arch, record[1]);
    sonde__regs_set(&regs, sonde__arch_fp(regs.arch), record[0]);
    sonde__regs_set(&regs, sonde__arch_sp(regs.arch),
                    sonde__arch_sp_after_frame_record(regs.arch, frame_pointer, record[0]));
    sonde__capture_walk_counted(stack, &regs, false, skip, SONDE__CAPTURE_DOUBT);
    return SONDE_OK;
}

uint64_t sonde_thread_self(void)
{
    return sonde__os_tid();
}

uint64_t sonde_thread_main(void)
{
    return sonde__os_main_tid();
}

const char *sonde_captured_text(unsigned by)
{
    static const char texts[][12] = {
#define TEXT(name, text) [SONDE_CAPTURED_##name] = text,
        SONDE_CAPTURED_MAP(TEXT)
#undef TEXT
    };
    return by < sizeof texts / sizeof texts[0] ? texts[by] : "unknown";
}

const char *sonde_thread_state_text(unsigned state)
{
    static const char texts[][12] = {
        [SONDE_THREAD_RUNNING] = "running", [SONDE_THREAD_BLOCKED] = "blocked",
        [SONDE_THREAD_DISK] = "disk wait",  [SONDE_THREAD_STOPPED] = "stopped",
        [SONDE_THREAD_DEAD] = "ended",      [SONDE_THREAD_UNKNOWN] = "unknown",
    };
    return state < sizeof texts / sizeof texts[0] ? texts[state] : "unknown";
}
