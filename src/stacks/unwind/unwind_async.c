// SPDX-License-Identifier: Apache-2.0
/* Finds who awaits the current Swift async function.
 *
 * An extended frame record is (context, saved fp, return address) at fp - 8, fp, fp + 8. Its saved
 * fp has 0001 in its top bits (Swift ABI, "extended frame"; Clang's swiftasynccall makes the same).
 * A context begins with two words: the context of the awaiting function, and its resume address.
 *
 * The chain is on the heap and untrusted: the walk reads each word through the reader, and ends
 * at the first resume address that is not code. Context: handler. */
#include "unwind_step.h"

/* Limit of contexts read; async recursion is as deep as the heap. */
#define CHAIN_MAX (1u << 16)

void sonde__async_note(struct sonde__walker *walker, uint64_t record, bool is_signal)
{
    const struct sonde__frame *frame = &walker->frame;
    uint64_t context = 0;
    /* A prologue tags the register before it has written the record, so the tag means nothing
     * until then, or in registers that a signal saved. */
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
        return; /* an executor inside an async function: only the innermost chain is reported */
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
