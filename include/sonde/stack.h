// SPDX-License-Identifier: Apache-2.0
/* A captured stack: program counters in the caller's memory, how each was found, and why the walk
 * ended. A truncated stack is a valid result, and is marked. */
#ifndef SONDE_STACK_H
#define SONDE_STACK_H

#include <stdint.h>

#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a frame's pc was found. */
#define SONDE_FOUND_MAP(X)                                                                         \
    X(REGISTERS, "registers") /* frame 0: the thread's own pc */                                   \
    X(CFI, "cfi")             /* call frame information of the frame below */                      \
    X(FP, "fp")               /* frame-pointer chain: the frame below has no CFI */                \
    X(LR, "lr")               /* link register (aarch64) */                                        \
    X(ASYNC, "async")       /* Swift async continuation: a resume address, not a return address */ \
    X(INFERRED, "inferred") /* see below */

/* INFERRED: the frame below had no rule, or its rule needs an unknown register. The return address
 * was found by a scan of the stack and proven: call frame information leads to the root from this
 * word and from no other; or the function's code and the call before the return address agree on
 * its place. If the pc below is not code, the word at sp is taken if it is the address after a
 * call. On arm64 also: the function has no entry in a Mach-O image's unwind table, its code returns
 * by lr, and lr is the address after a call. Frames further out depend on this one and are
 * INFERRED, too, whatever rule found them. */
enum sonde_found_by {
#define SONDE_FOUND_ENUM_(name, text) SONDE_FOUND_##name,
    SONDE_FOUND_MAP(SONDE_FOUND_ENUM_)
#undef SONDE_FOUND_ENUM_
};

/* Why a walk ended. */
#define SONDE_END_MAP(X)                                                                           \
    X(ROOT, "root")                 /* the thread's first function, by CFI or known otherwise */   \
    X(DEPTH, "depth")               /* the caller's buffer or depth limit */                       \
    X(UNREADABLE, "unreadable")     /* the next cell of the stack could not be read */             \
    X(NO_PROGRESS, "no progress")   /* the next frame is not further out */                        \
    X(NO_RULE, "no rule")           /* no CFI and no plausible frame pointer */                    \
    X(NO_REGISTERS, "no registers") /* the rule needs an unknown register */                       \
    X(MOVED, "moved")               /* the thread ran while it was read passively */               \
    X(NOT_READ, "not read")         /* the thread could not be read at all: see the status */      \
    X(COSTLY,                                                                                      \
      "costly") /* the caller has to be searched for, which takes more than the time left */       \
    X(SWITCHED, "stack switch") /* continues on another stack, unknown where */                    \
    X(NO_CODE, "no code")       /* the last frame's pc is in no mapping, or is not executable */

enum sonde_end_reason {
#define SONDE_END_ENUM_(name, text) SONDE_END_##name,
    SONDE_END_MAP(SONDE_END_ENUM_)
#undef SONDE_END_ENUM_
};

/* Per-frame byte `how`: the low four bits are an enum sonde_found_by, the rest flags. */
#define SONDE_HOW_FOUND_MASK 0x0fu
/* The pc is the next instruction to execute, not a return address: look it up as it is. Set for
 * frame 0, a frame that a signal interrupted, and async resume addresses. For other frames look up
 * pc - 1 (the call), but print the pc. */
#define SONDE_HOW_EXACT 0x10u
/* The frame is a signal trampoline, by its call frame information. */
#define SONDE_HOW_SIGNAL 0x20u

/* Outermost frames that the library's own captures keep of a stack deeper than their buffer. */
#define SONDE_OUTER_FRAMES 64u

/* A stack. The arrays are the caller's: sonde_stack_init(). */
struct sonde_stack {
    uint64_t *pcs; /* innermost first */
    uint8_t *how;  /* one SONDE_HOW byte for each pc */
    uint32_t capacity;
    uint32_t outer; /* part of the capacity reserved for the outermost frames */
    /* result */
    uint32_t count;   /* frames in pcs */
    uint32_t lost_at; /* index in pcs before which frames were left out; == count: outermost frames,
                         if any (end is DEPTH) */
    uint64_t lost_count; /* frames left out there; 0: none */
    uint8_t end;         /* enum sonde_end_reason */
    uint64_t end_at; /* pc or address at which it ended, if useful; NO_CODE: the last frame's pc */
    /* Swift async: sonde_stack_set_async() */
    uint64_t *async_pcs; /* resume addresses, the awaiting function first; may be null */
    uint32_t async_capacity;
    uint32_t async_count; /* result: resume addresses in async_pcs */
    uint32_t async_at; /* index in pcs of the frame that they follow; SONDE_NO_FRAME: no async frame
                          was kept */
    uint8_t async_met; /* the walk met an async frame, kept or not */
    uint8_t async_cut; /* the chain has more members than async_capacity */
    uint64_t task_id;  /* of the running task, in captures of the calling thread: Swift's runtime
                          tells  no other thread's; 0: unknown */
};

#define SONDE_NO_FRAME UINT32_MAX

/* Prepare a stack over the caller's arrays.
 *
 * pcs, how   the caller's arrays of `capacity` elements; must live as long as the stack
 * capacity   frames, >= 1
 * outer      part of the capacity to reserve for the outermost frames of a deeper stack; < capacity
 *
 * Context    handler      Ownership  nothing is transferred */
static inline void sonde_stack_init(struct sonde_stack *stack, uint64_t *pcs, uint8_t *how,
                                    uint32_t capacity, uint32_t outer)
{
    stack->pcs = pcs;
    stack->how = how;
    stack->capacity = capacity;
    stack->outer = outer < capacity ? outer : capacity - 1;
    stack->count = 0;
    stack->lost_at = 0;
    stack->lost_count = 0;
    stack->end = SONDE_END_NOT_READ;
    stack->end_at = 0;
    stack->async_pcs = 0;
    stack->async_capacity = 0;
    stack->async_count = 0;
    stack->async_at = SONDE_NO_FRAME;
    stack->async_met = 0;
    stack->async_cut = 0;
    stack->task_id = 0;
}

/* Also capture the chain of Swift async functions.
 *
 * An async function is called by the executor, not by the function that awaits it. The physical
 * stack (pcs) shows the executor; the functions that await are in a chain of contexts on the heap.
 * After a capture, async_pcs holds their resume addresses, innermost first. pcs[0] to
 * pcs[async_at], then async_pcs, is the stack as in the source. Resume addresses are next
 * instructions: look them up as they are. async_met shows even without this call whether there is a
 * chain. Async frames are recognized by the tag that the Swift and Clang compilers put into the
 * saved frame pointer (bits 63:60 == 1); on Linux Swift sets none.
 *
 * async_pcs  the caller's array of `capacity` elements; must live as long as the stack
 *
 * Context    handler      Ownership  nothing is transferred
 * Example    examples/stack_async.c */
static inline void sonde_stack_set_async(struct sonde_stack *stack, uint64_t *async_pcs,
                                         uint32_t capacity)
{
    stack->async_pcs = async_pcs;
    stack->async_capacity = capacity;
}

/* The address to look up for frame `index`: the pc, or the call before a return address. */
static inline uint64_t sonde_stack_lookup_pc(const struct sonde_stack *stack, uint32_t index)
{
    uint64_t pc = stack->pcs[index];
    return (stack->how[index] & SONDE_HOW_EXACT) != 0 || pc == 0 ? pc : pc - 1;
}

/* Capture the stack of the calling thread.
 *
 * Frame 0 is the caller of this function, in every build; its pc is the return address of this
 * call. No frame of sonde is in the stack.
 *
 * stack  prepared by sonde_stack_init(); gets the result
 * skip   whole frames to leave out, counted from frame 0
 *
 * Returns    OK | USAGE (no arrays, capacity 0). For a stack that ends early, too: see `end`
 * Context    handler: no lock, no heap; also before main, after fork, inside malloc
 * Blocks     no
 * Ownership  nothing is transferred
 * Example    examples/stack_capture.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_stack_capture(struct sonde_stack *stack,
                                                                uint32_t skip);

/* The most frames that sonde_stack_capture_whole() keeps. */
#define SONDE_WHOLE_FRAMES_MAX (1u << 20)

/* Capture the whole stack of the calling thread: the arrays grow until it fits, up to
 * SONDE_WHOLE_FRAMES_MAX frames (9 MiB). Of a deeper stack, the outermost SONDE_OUTER_FRAMES are
 * kept in addition to the innermost.
 *
 * ret_stack  written on OK only; frame 0 is as in sonde_stack_capture()
 * skip       whole frames to leave out, counted from frame 0
 *
 * Returns    OK | USAGE | MEMORY
 * Context    any thread; not handler      Blocks  no
 * Ownership  the arrays are the caller's: sonde_stack_free()
 * Example    examples/stack_whole.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_stack_capture_whole(struct sonde_stack *ret_stack,
                                                                      uint32_t skip);

/* stack  from sonde_stack_capture_whole(); may be null or freed already
 *
 * Context    any thread; not handler      Blocks  no      Ownership  frees the arrays
 * Example    examples/stack_whole.c */
SONDE_API void sonde_stack_free(struct sonde_stack *stack);

/* Capture the stack that a signal interrupted.
 *
 * Frame 0 is the interrupted instruction (SONDE_HOW_EXACT).
 *
 * ucontext  third argument of a handler set with SA_SIGINFO, of the calling thread
 * skip      whole frames to leave out, counted from frame 0
 *
 * Returns    OK | USAGE (no arrays, no ucontext)
 * Context    handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/stack_handler.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_stack_capture_ucontext(struct sonde_stack *stack, const void *ucontext, uint32_t skip);

/* Known members of struct sonde_registers. New members come with new bits. */
#define SONDE_REGISTERS_FP 1u
#define SONDE_REGISTERS_LR 2u
/* pc is the next instruction; without this bit, a return address. */
#define SONDE_REGISTERS_EXACT 4u

/* Registers to start a walk from if only a few are known (a fiber that is not running). */
struct sonde_registers {
    uint64_t pc;
    uint64_t sp;    /* at pc */
    uint64_t fp;    /* rbp, x29 */
    uint64_t lr;    /* x30; not used on x86-64 */
    uint32_t known; /* SONDE_REGISTERS_ bits; pc and sp always are */
};

/* Capture a stack of this process from given registers.
 *
 * The registers are not trusted: unmapped memory ends the walk (`unreadable`). Nothing may run on
 * the stack meanwhile; if something does, the result is wrong but bounded.
 *
 * Returns    OK | USAGE (no arrays, no registers)
 * Context    handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/stack_fiber.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_stack_capture_registers(struct sonde_stack *stack, const struct sonde_registers *registers,
                              uint32_t skip);

/* Capture a stack of this process from a frame pointer.
 *
 * For callers that have only a frame pointer (rbp, x29), from __builtin_frame_address() or a
 * runtime's record of a suspended function. Frame 0 is the caller of the function with this frame
 * record; from there the walk uses call frame information as usual. The pointer is not trusted: an
 * unmapped record gives no frames, and `unreadable`.
 *
 * frame_pointer  the address of a frame record: the saved frame pointer, then the return address
 *
 * Returns    OK | USAGE (no arrays)
 * Context    handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/stack_frame.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_stack_capture_frame(struct sonde_stack *stack, uint64_t frame_pointer, uint32_t skip);

/* Build the tables that make captures fast: the list of images and the compiled rules of each.
 *
 * Optional: without it, a capture asks the loader and reads call frame information in place, with
 * the same result at several times the cost. If speed matters, call it at start-up and after
 * dlopen(). Functions with context `any thread` build the cheap part (the list of images)
 * themselves.
 *
 * Returns    OK | MEMORY. Images that could not be compiled are walked in place
 * Context    any thread; not handler      Blocks  on a lock taken only by this and by functions of
 *            thread.h, image.h and symbol.h; about 1 ms per 400 KB of .eh_frame
 * Ownership  the library's tables, about as large as the .eh_frame sections
 * Example    examples/stack_capture.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_stack_prepare(void);

/* Short texts of the two enums ("cfi", "root"). The parameters are unsigned because structs store
 * the enums in bytes, which C++ does not convert to an enum.
 *
 * found, end  as in struct sonde_stack; found without its flags (SONDE_HOW_FOUND_MASK)
 *
 * Returns    a static string, for unknown values too
 * Context    handler      Blocks  no      Ownership  static
 * Example    examples/stack_capture.c */
SONDE_API const char *sonde_found_text(unsigned found);
SONDE_API const char *sonde_end_text(unsigned end);

#if defined(__GNUC__)
/* Keeps the frame of a function that ends with a capture. The compiler could make that call a tail
 * call: the function's frame would be gone, and the stack would begin with its caller. An empty asm
 * statement after the call prevents that. Inline functions instead of the macros would have other
 * addresses than the library's functions. */
static inline __attribute__((always_inline)) SONDE_NODISCARD enum sonde_status
sonde_keep_frame(enum sonde_status status)
{
    __asm__ volatile("" : "+r"(status));
    return status;
}
/* Macros, because a caller that ends with such a call has to keep its frame. */
#    define sonde_stack_capture(stack, skip) sonde_keep_frame(sonde_stack_capture(stack, skip))
#    define sonde_stack_capture_whole(ret_stack, skip)                                             \
        sonde_keep_frame(sonde_stack_capture_whole(ret_stack, skip))
#endif

#ifdef __cplusplus
}
#endif

#endif
