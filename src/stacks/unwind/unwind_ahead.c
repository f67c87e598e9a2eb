// SPDX-License-Identifier: Apache-2.0
/* Frame 0 of arm64 code in an image with __unwind_info.
 *
 * An encoding describes a function's body only. Where the pc is before the frame is set up or after
 * it was left, the rule would skip the caller, and nothing further out would show that. There, the
 * code ahead proves that lr is the return address (arch_ahead.h).
 *
 * Functions without an encoding are written in assembler. There, lr is taken by the same proof, and
 * the frame record only if the code behind the pc has set up x29. Else there is no rule: the record
 * may be the caller's, and a step by it would skip the caller.
 * Context: handler. */
#include "arch_ahead.h"
#include "base_bytes.h"
#include "unwind_encoding.h"
#include "unwind_step.h"

enum {
    AHEAD_MAX = 64,    /* instructions; the ends of functions are shorter */
    BEHIND_MAX = 1024, /* a frame is set up near the function's start */
    LINE_BYTES = 64,   /* read at once; no line crosses a page */
    RECORD_BYTES = 16, /* of fp and lr, at the top of the frame that an encoding describes */
};

struct code {
    uint64_t at; /* 1: nothing was read */
    uint8_t bytes[LINE_BYTES];
};

static bool read_insn(const struct sonde__walker *walker, struct code *code, uint64_t pc,
                      uint32_t *ret_insn)
{
    uint64_t line = pc & ~(uint64_t)(LINE_BYTES - 1);
    if (line != code->at) {
        code->at = 1;
        if (!sonde__walker_read(walker, line, code->bytes, LINE_BYTES)) {
            return false;
        }
        code->at = line;
    }
    *ret_insn = sonde__base_le32(code->bytes + (pc - line));
    return true;
}

/* The function at the pc of frame 0; encoding 0: it has none. Its bounds are those of neighbours
 * with the same encoding, too. False: this file has nothing to say about the frame. */
static bool find_function(struct sonde__walker *walker, struct sonde__unwind_info_entry *ret_entry)
{
    const struct sonde__frame *frame = &walker->frame;
    if (walker->arch != SONDE_ARCH_AARCH64 || !frame->exact || (frame->pc & 3) != 0) {
        return false;
    }
    sonde__walker_locate(walker, frame->pc);
    const struct sonde__image *image = walker->image;
    if (image == NULL || image->encodings.info.data == NULL) {
        return false;
    }
    if (!sonde__unwind_info_find(&image->encodings.info, frame->pc - image->bias, ret_entry)) {
        *ret_entry = (struct sonde__unwind_info_entry){.start = image->start - image->bias,
                                                       .end = image->end - image->bias};
    }
    return true;
}

static enum sonde__ahead_kind look_ahead(struct sonde__walker *walker,
                                         const struct sonde__unwind_info_entry *entry,
                                         int64_t *ret_depth)
{
    uint64_t bias = walker->image->bias;
    struct code code = {.at = 1};
    struct sonde__ahead ahead;
    enum sonde__ahead_kind kind = SONDE__AHEAD_MORE;
    sonde__arch_ahead_begin(&ahead, walker->frame.pc, entry->start + bias, entry->end + bias);
    for (unsigned i = 0; i < AHEAD_MAX && kind == SONDE__AHEAD_MORE; i++) {
        uint32_t insn;
        if (!read_insn(walker, &code, ahead.pc, &insn)) {
            return SONDE__AHEAD_UNKNOWN;
        }
        kind = sonde__arch_ahead(&ahead, insn);
    }
    *ret_depth = ahead.depth;
    return kind;
}

/* Is lr proven to be the return address? *ret_cfa: the caller's sp; the sp of now if it is not
 * known. */
static bool is_linked(struct sonde__walker *walker, const struct sonde__unwind_info_entry *entry,
                      uint64_t *ret_cfa)
{
    int64_t depth = 0;
    uint32_t mode = entry->encoding & SONDE__ENCODING_MODE_MASK;
    enum sonde__ahead_kind kind = look_ahead(walker, entry, &depth);
    *ret_cfa = walker->frame.sp;
    if (kind == SONDE__AHEAD_RETURN) {
        *ret_cfa += (uint64_t)depth;
        return depth >= 0;
    }
    if (kind == SONDE__AHEAD_SETUP && mode == SONDE__ENCODING_ARM64_FRAME) {
        *ret_cfa += (uint64_t)(depth + RECORD_BYTES);
        return depth + RECORD_BYTES >= 0;
    }
    return entry->encoding == 0 && (kind == SONDE__AHEAD_SETUP || kind == SONDE__AHEAD_JUMP);
}

static void stand_at(struct sonde__walker *walker, uint64_t pc, uint64_t sp, bool has_encoding)
{
    struct sonde__frame *frame = &walker->frame;
    struct sonde__regs *regs = walker->regs;
    if (regs != NULL) {
        if (sp != frame->sp) { /* the code ahead may restore what the function has saved */
            for (unsigned reg = 19; reg < SONDE__AARCH64_FP; reg++) {
                regs->known &= ~((uint64_t)1 << reg);
            }
        }
        sonde__regs_set(regs, SONDE__AARCH64_SP, sp);
        regs->pc = pc;
    }
    walker->was_signal = false;
    frame->pc = pc;
    frame->sp = sp;
    frame->lr_known = false;
    frame->exact = false;
    frame->found = has_encoding ? SONDE_FOUND_LR : SONDE_FOUND_INFERRED;
}

bool sonde__step_ahead(struct sonde__walker *walker, enum sonde__step *ret_step)
{
    struct sonde__frame *frame = &walker->frame;
    struct sonde__unwind_info_entry entry;
    uint64_t lr = sonde__arch_strip_pac(walker->arch, frame->lr), cfa = 0;
    if (!frame->lr_known || !find_function(walker, &entry) || !is_linked(walker, &entry, &cfa)) {
        return false;
    }
    if (lr == 0 && entry.encoding != 0 && sonde__step_is_start(walker)) {
        *ret_step = sonde__step_end(walker, SONDE_END_ROOT, frame->pc);
        return true;
    }
    if (!sonde__walker_is_behind_call(walker, lr) || !sonde__step_grows(walker, cfa, false)) {
        return false;
    }
    stand_at(walker, lr, cfa, entry.encoding != 0);
    *ret_step = SONDE__STEP_ON;
    return true;
}

/* Has the code before the pc, in this function, set up x29? */
static bool is_set_up(const struct sonde__walker *walker,
                      const struct sonde__unwind_info_entry *entry)
{
    uint64_t start = entry->start + walker->image->bias;
    struct code code = {.at = 1};
    enum sonde__behind_kind kind = SONDE__BEHIND_MORE;
    uint64_t pc = walker->frame.pc;
    for (unsigned i = 0; i < BEHIND_MAX && pc > start && kind == SONDE__BEHIND_MORE; i++) {
        uint32_t insn;
        pc -= 4;
        if (!read_insn(walker, &code, pc, &insn)) {
            return false;
        }
        kind = sonde__arch_behind(insn);
    }
    return kind == SONDE__BEHIND_SETUP;
}

bool sonde__step_is_frame_unknown(struct sonde__walker *walker)
{
    struct sonde__unwind_info_entry entry;
    return find_function(walker, &entry) && entry.encoding == 0 && !is_set_up(walker, &entry);
}
