// SPDX-License-Identifier: Apache-2.0
/* The one walk loop: registers + memory + images -> program counters.
 *
 * Pure: it reads memory through the given reader and images from a snapshot. It takes no lock, uses
 * no heap and calls no libc. The stack's capacity limits what it keeps, SONDE__WALK_FRAMES_MAX what
 * it counts. Context: handler.
 *
 * Order of rules: __unwind_info if the image has it; else its compiled table or, without one,
 * .eh_frame_hdr in place (same result); Go's function table; .debug_frame; last the ways without
 * CFI (unwind_no_cfi.c). A row with an expression, or a CFA in a register other than sp or fp,
 * restarts the walk with the full register interpreter. */
#ifndef SONDE_UNWIND_WALK_H
#define SONDE_UNWIND_WALK_H

#include <sonde/stack.h>

#include "arch_regs.h"
#include "image_set.h"

/* Limit of frames walked; a stack that loops without growing ends earlier by NO_PROGRESS. */
#define SONDE__WALK_FRAMES_MAX (1u << 24)

/* Where the walk reads the stack. It makes plain loads inside [plain_start, plain_end), which
 * the caller vouches for (the stack of the current thread or of a truly stopped one). It reads
 * all else with `read`, which may fail but not crash. Both may be absent. */
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
    const struct sonde__image_set *made; /* of generated code in no image of `images`; or null */
    struct sonde__regs regs;             /* regs.pc is frame 0; unknown registers are marked */
    struct sonde__memory memory;
    uint32_t skip;    /* innermost frames to leave out */
    bool first_exact; /* frame 0 is a next instruction (true) or a return address (false) */
    bool is_brief;    /* no searches: the walk ends (COSTLY) at a frame without CFI */
    bool infer; /* if a needed register is unknown, scan the stack and accept a unique proof up to
                   the root (frames INFERRED) */
    /* Finds the image of a pc that is in no range of `images` (which may be null). For this
     * process, where the loader knows more than the snapshot. The answer is valid for every pc
     * in [*ret_start, *ret_end) until the next call. Returns null: no image. A null function finds
     * none. */
    const struct sonde__image *(*find_image)(void *ctx, uint64_t pc, uint64_t *ret_start,
                                             uint64_t *ret_end);
    /* The same for a pc that may be anything, such as a stale word of the stack. Nothing keeps its
     * image from being unloaded meanwhile, so the answer must not need the image's memory. Null:
     * find_image is called; no image is unloaded during this walk. */
    const struct sonde__image *(*find_doubtful)(void *ctx, uint64_t pc, uint64_t *ret_start,
                                                uint64_t *ret_end);
    void *find_ctx;
    /* Is a pc that has no image code (of a JIT)? The answer is valid in [*ret_start, *ret_end);
     * an empty range: for this pc only. Null: no; then only a range of `images` without an image
     * is such code. */
    bool (*find_code)(void *ctx, uint64_t pc, uint64_t *ret_start, uint64_t *ret_end);
    void *code_ctx;
    /* If find_code is null: may a pc that is not code by `images` be code all the same (of a JIT
     * that has made more since; of a file that a core only names)? Null: no. */
    bool (*may_be_code)(void *ctx, uint64_t pc);
    /* Does all code at a pc keep a frame record for each of its calls, though its image does not
     * describe it (of V8)? image: of the pc; null: it has none. Null: no. */
    bool (*keeps_record)(void *ctx, const struct sonde__image *image, uint64_t pc);
    void *record_ctx;
    /* The thread's memo, used and renewed; null: none. Only for a walk of this machine's
     * architecture whose plain memory is the thread's own stack. */
    struct sonde__memo *memo;
    /* Receives the frame pointer of each kept frame, or 0 if it is unknown; has the capacity of the
     * stack. Not with plain memory. Null: not wanted. */
    uint64_t *ret_fps;
    /* Receives the stack pointer of the outermost frame that was found, which may have been left
     * out; 0: none was. Null: not wanted. */
    uint64_t *ret_outer_sp;
    /* The cache of scans of this process; null: each scan is made again. */
    struct sonde__scans *scans;
    /* Is an image that can be unloaded still the remembered one? Null: no. */
    bool (*image_is_still_loaded)(const struct sonde__memo_image *image);
};

/* Make the stack empty again; it keeps the caller's arrays. */
static inline void sonde__stack_reset(struct sonde_stack *stack)
{
    uint64_t *async_pcs = stack->async_pcs;
    uint32_t async_capacity = stack->async_capacity;
    sonde_stack_init(stack, stack->pcs, stack->how, stack->capacity, stack->outer);
    sonde_stack_set_async(stack, async_pcs, async_capacity);
}

/* Walk. Fills the result of `stack` except the task's id. */
void sonde__unwind_walk(const struct sonde__walk *walk, struct sonde_stack *stack);

#endif
