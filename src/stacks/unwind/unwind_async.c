// SPDX-License-Identifier: Apache-2.0
/* Swift's async functions: who awaits the function that runs.
 *
 * An extended frame record is (context, saved fp, return address) at fp - 8, fp, fp + 8, and the
 * saved fp has 0001 in its top bits (Swift ABI, "extended frame"; Clang's swiftasynccall makes the
 * same). The context begins with (context of the function that awaits this one, where that goes
 * on).
 *
 * The chain lies on the heap and is another program's data: each word is read through the door,
 * and what is not the address of code ends it. Context: handler. */
#include "unwind_step.h"

/* Members of a chain that are looked at; a recursion of async functions is as deep as the heap. */
#define CHAIN_MAX (1u << 16)

void sonde__async_note(struct sonde__walker *walker, uint64_t record, bool is_signal)
{
    const struct sonde__frame *frame = &walker->frame;
    uint64_t context = 0;
    /* A prologue tags the register first: until the record is whole, and in the registers that a
     * signal saved, the tag says nothing of this frame. */
    if (is_signal || record < 8 || record - 8 < frame->sp ||
        (frame->fp_known && frame->fp != record) ||
        !sonde__reader_word(walker->reader, record - 8, &context)) {
        return;
    }
    walker->async_context = sonde__arch_strip_pac(walker->arch, context);
}

void sonde__async_deliver(struct sonde__walker *walker, struct sonde_stack *stack, uint32_t slot)
{
    uint64_t context = walker->async_context;
    walker->async_context = 0;
    if (stack->async_met != 0) {
        return; /* an executor that runs inside an async function: the innermost chain is reported
                 */
    }
    for (uint32_t i = 0; i < CHAIN_MAX && context != 0; i++) {
        uint64_t next = 0, resume = 0;
        if (!sonde__reader_word(walker->reader, context, &next) ||
            !sonde__reader_word(walker->reader, context + 8, &resume)) {
            break;
        }
        resume = sonde__arch_strip_pac(walker->arch, resume);
        sonde__walker_locate(walker, resume);
        if (!walker->is_executable) {
            break;
        }
        if (i == 0) {
            stack->async_met = 1;
            stack->async_at = slot;
        }
        if (stack->async_pcs == NULL || stack->async_count == stack->async_capacity) {
            stack->async_cut = 1;
            break;
        }
        stack->async_pcs[stack->async_count++] = resume;
        context = sonde__arch_strip_pac(walker->arch, next);
    }
}
