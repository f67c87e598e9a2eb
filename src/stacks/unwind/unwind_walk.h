// SPDX-License-Identifier: Apache-2.0
/* The one walk loop: registers + memory + images -> program counters.
 *
 * Pure: memory is read through the door it is given, images come as a snapshot. Takes no lock, no
 * heap, calls no libc. Bounded by the stack's capacity for what it keeps and by
 * SONDE__WALK_FRAMES_MAX for what it counts. Context: handler.
 *
 * Rules in order: __unwind_info where an image has it; else compiled table of the image,
 * .eh_frame_hdr in place (same result), .debug_frame, else the frame-pointer chain where it is
 * plausible. Rows with an expression or a CFA in another register than sp/fp restart the walk with
 * the full register interpreter. */
#ifndef SONDE_UNWIND_WALK_H
#define SONDE_UNWIND_WALK_H

#include <sonde/stack.h>

#include "arch_regs.h"
#include "image_set.h"

/* Frames walked at most; a stack that loops without growing ends earlier by NO_PROGRESS. */
#define SONDE__WALK_FRAMES_MAX (1u << 24)

/* Where the walk reads the stack. Plain loads are made inside [plain_start, plain_end), which the
 * caller vouches for (the current thread's or a truly stopped thread's stack); everything else
 * goes through `read`, which may fail but not crash. Both may be absent. */
struct sonde__memory {
    uint64_t plain_start;
    uint64_t plain_end;
    bool (*read)(void *ctx, uint64_t address, void *ret_bytes, size_t size);
    void *ctx;
};

struct sonde__memo;  /* unwind_memo.h */
struct sonde__scans; /* unwind_scans.h */
struct sonde__memo_image;

struct sonde__walk {
    const struct sonde__image_set *images;
    const struct sonde__image_set *made; /* of code that is made at run time and has no image in
                                            `images`; or null */
    struct sonde__regs regs;             /* regs.pc is frame 0; unknown registers are marked */
    struct sonde__memory memory;
    uint32_t skip;    /* innermost frames to leave out */
    bool first_exact; /* frame 0 is a next instruction (true) or a return address (false) */
    bool is_brief;    /* nothing is searched for: at a frame without CFI the walk ends (COSTLY) */
    bool infer;       /* where a needed register is unknown: scan the stack, and accept a unique
                         proof up to the root (frames INFERRED) */
    /* Asked for the image of a pc that no range of `images` (which may be null) holds; null: nobody
     * is asked. For this process, where the loader knows more than the snapshot. The answer is used
     * for every pc in [start, end) of that image until the next question; null: no image. */
    const struct sonde__image *(*find_image)(void *ctx, uint64_t pc);
    /* The same for a pc that may be anything, such as a word left on the stack: nothing keeps its
     * image from being unloaded meanwhile, so nothing in the answer may need the image's memory.
     * Null: find_image does, no image goes away during this walk. */
    const struct sonde__image *(*find_doubtful)(void *ctx, uint64_t pc);
    void *find_ctx;
    /* Asked for a pc that has no image: is it code (of a JIT)? The answer holds in [*ret_start,
     * *ret_end), an empty range: for this pc only. Null: no; code without an image is what a range
     * of `images` without one says. */
    bool (*find_code)(void *ctx, uint64_t pc, uint64_t *ret_start, uint64_t *ret_end);
    void *code_ctx;
    /* Where find_code is null: asked for a pc that is no code by `images`. May it be code all the
     * same (of a JIT that has gone on; of a file that a core only names)? Null: no. */
    bool (*may_be_code)(void *ctx, uint64_t pc);
    /* What is remembered of this thread's last stack, used and renewed; null: nothing. Only for a
     * walk of this machine's architecture whose plain memory is the thread's own stack. */
    struct sonde__memo *memo;
    /* What scans found on other stacks of this process; null: each is made anew. */
    struct sonde__scans *scans;
    /* Asked whether an image that can be unloaded is still the remembered one; null: it is not. */
    bool (*image_is_still_loaded)(const struct sonde__memo_image *image);
};

/* Empty again, with the caller's arrays. */
static inline void sonde__stack_reset(struct sonde_stack *stack)
{
    uint64_t *async_pcs = stack->async_pcs;
    uint32_t async_capacity = stack->async_capacity;
    sonde_stack_init(stack, stack->pcs, stack->how, stack->capacity, stack->outer);
    sonde_stack_set_async(stack, async_pcs, async_capacity);
}

/* Walk; fills the result of `stack`, but for the task's id. */
void sonde__unwind_walk(const struct sonde__walk *walk, struct sonde_stack *stack);

#endif
