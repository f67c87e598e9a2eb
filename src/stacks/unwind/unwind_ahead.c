// SPDX-License-Identifier: Apache-2.0
/* Frame 0 in an image with __unwind_info.
 *
 * An encoding describes a function's body only. Where the pc is before the frame is set up or after
 * it was left, the rule would skip the caller, and nothing further out would show that. There, the
 * code ahead shows where the return address is (arch_ahead.h): in lr, or on the stack.
 *
 * arm64: functions without an encoding are written in assembler. There, lr is taken by the same
 * proof, and the frame record only if the code behind the pc has set up x29. Else there is no rule:
 * the record may be the caller's, and a step by it would skip the caller. Context: handler. */
#include "arch_ahead.h"
#include "arch_prologue.h"
#include "base_bytes.h"
#include "unwind_encoding.h"
#include "unwind_step.h"

enum {
    AHEAD_MAX = 64,    /* instructions; the ends of functions are shorter */
    INSN_MAX = 15,     /* bytes, of x86-64 */
    BEHIND_MAX = 1024, /* a frame is set up near the function's start */
    LINE_BYTES = 64,   /* read at once; no line crosses a page */
    RECORD_BYTES = 16, /* of fp and lr, at the top of the frame that an encoding describes */
};

/* The code that was read last. */
struct code {
    uint64_t at; /* 1: nothing was read */
    uint8_t bytes[2 * LINE_BYTES];
};

static bool read_lines(const struct sonde__walker *walker, struct code *code, uint64_t at,
                       size_t size)
{
    code->at = 1;
    if (!sonde__walker_read(walker, at, code->bytes, size)) {
        return false;
    }
    code->at = at;
    return true;
}

static bool read_insn(const struct sonde__walker *walker, struct code *code, uint64_t pc,
                      uint32_t *ret_insn)
{
    uint64_t line = pc & ~(uint64_t)(LINE_BYTES - 1);
    if (line != code->at && !read_lines(walker, code, line, LINE_BYTES)) {
        return false;
    }
    *ret_insn = sonde__base_le32(code->bytes + (pc - line));
    return true;
}

static enum sonde__ahead_kind read_x86(const struct sonde__walker *walker, struct code *code,
                                       struct sonde__ahead *ahead)
{
    bool is_there = ahead->pc - code->at <= sizeof code->bytes - INSN_MAX;
    if (!is_there && !read_lines(walker, code, ahead->pc, sizeof code->bytes)) {
        return SONDE__AHEAD_UNKNOWN;
    }
    size_t offset = (size_t)(ahead->pc - code->at);
    return sonde__arch_ahead_x86(ahead, code->bytes + offset, sizeof code->bytes - offset);
}

/* The function at the pc of frame 0; encoding 0: it has none. Its bounds are those of neighbours
 * with the same encoding, too. False: this file has nothing to say about the frame. */
static bool find_function(struct sonde__walker *walker, struct sonde__unwind_info_entry *ret_entry)
{
    const struct sonde__frame *frame = &walker->frame;
    if (!frame->exact || (walker->arch == SONDE_ARCH_AARCH64 && (frame->pc & 3) != 0)) {
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
                                         struct sonde__ahead *ahead)
{
    uint64_t bias = walker->image->bias;
    struct code code = {.at = 1};
    enum sonde__ahead_kind kind = SONDE__AHEAD_MORE;
    sonde__arch_ahead_begin(ahead, walker->frame.pc, entry->start + bias, entry->end + bias);
    for (unsigned i = 0; i < AHEAD_MAX && kind == SONDE__AHEAD_MORE; i++) {
        uint32_t insn;
        if (walker->arch == SONDE_ARCH_X86_64) {
            kind = read_x86(walker, &code, ahead);
        } else {
            kind = read_insn(walker, &code, ahead->pc, &insn) ? sonde__arch_ahead(ahead, insn)
                                                              : SONDE__AHEAD_UNKNOWN;
        }
    }
    return kind;
}

/* --- x86-64 --- */

static bool is_return_slot(struct sonde__walker *walker, uint64_t slot)
{
    uint64_t pc = 0;
    return sonde__reader_word(walker->reader, slot, &pc) &&
           sonde__walker_is_behind_call(walker, pc);
}

/* How much the function has pushed, if all of its code before the pc only pushes. A neighbour with
 * the same encoding that its bounds include, too, ends otherwise. */
static bool find_pushed(const struct sonde__walker *walker,
                        const struct sonde__unwind_info_entry *entry, uint64_t *ret_bytes)
{
    struct code code;
    uint64_t start = entry->start + walker->image->bias, size = walker->frame.pc - start;
    return size <= sizeof code.bytes &&
           (size == 0 || read_lines(walker, &code, start, (size_t)size)) &&
           sonde__arch_x86_64_pushed_bytes(code.bytes, (unsigned)size, ret_bytes);
}

/* Without a frame pointer: the code still has to push a part of the frame before its first call. It
 * may also be the arguments of that call: then the rule holds. The code before the pc tells, else
 * that the rule leads to a return address. But that may be the one of a frame further out. */
static bool find_slot_before_pushes(struct sonde__walker *walker,
                                    const struct sonde__unwind_info_entry *entry,
                                    const struct sonde__rule *rule, struct sonde__ahead *ahead,
                                    uint64_t *ret_slot)
{
    uint64_t frame_bytes = (uint64_t)(int64_t)rule->cfa_offset - 8, pushed = 0;
    uint64_t slot = walker->frame.sp + frame_bytes;
    bool is_told = find_pushed(walker, entry, &pushed);
    *ret_slot = is_told ? walker->frame.sp + pushed : slot + (uint64_t)ahead->depth;
    uint64_t fp_at = *ret_slot + 8 + (uint64_t)(int64_t)rule->fp_offset;
    ahead->pops_fp = rule->fp_from == SONDE__FROM_CFA && fp_at >= walker->frame.sp;
    ahead->fp_at = (int64_t)(fp_at - walker->frame.sp);
    if (is_told) {
        return pushed < frame_bytes;
    }
    return ahead->depth < 0 && *ret_slot >= walker->frame.sp && !is_return_slot(walker, slot);
}

/* Find the slot of the return address, if the rule does not. */
static bool find_slot(struct sonde__walker *walker, const struct sonde__unwind_info_entry *entry,
                      struct sonde__ahead *ahead, uint64_t *ret_slot)
{
    struct sonde__encoded encoded;
    bool has_fp = (entry->encoding & SONDE__ENCODING_MODE_MASK) == SONDE__ENCODING_X86_64_FP;
    uint64_t sp = walker->frame.sp;
    if (entry->encoding == 0) {
        return false;
    }
    sonde__encoding_decode(&walker->image->encodings, walker->arch, entry, &encoded);
    const struct sonde__rule *rule = &encoded.rule;
    *ret_slot = sp + 8;
    switch (look_ahead(walker, entry, ahead)) {
    case SONDE__AHEAD_RETURN:
        *ret_slot = sp + (uint64_t)ahead->depth;
        return ahead->depth >= 0 && !(has_fp && ahead->pops_fp) &&
               (rule->cfa != SONDE__RULE_SP ||
                *ret_slot + 8 != sp + (uint64_t)(int64_t)rule->cfa_offset);
    case SONDE__AHEAD_SETUP:
        *ret_slot += (uint64_t)ahead->depth;
        return has_fp && ahead->depth >= -8;
    case SONDE__AHEAD_CALL:
        return rule->cfa == SONDE__RULE_SP &&
               find_slot_before_pushes(walker, entry, rule, ahead, ret_slot);
    default:
        return false;
    }
}

static void leave_x86(struct sonde__walker *walker, const struct sonde__ahead *ahead, uint64_t slot,
                      uint64_t pc)
{
    static const uint8_t saved[] = {SONDE__X86_64_RBX, SONDE__X86_64_RBP, 12, 13, 14, 15};
    struct sonde__frame *frame = &walker->frame;
    struct sonde__regs *regs = walker->regs;
    if (ahead->pops_fp) {
        frame->fp_known =
            sonde__reader_word(walker->reader, frame->sp + (uint64_t)ahead->fp_at, &frame->fp);
        frame->fp = sonde__strip_fp_tag(frame->fp);
    }
    if (regs != NULL) { /* the code ahead may restore what the function has saved */
        for (unsigned i = 0; slot != frame->sp && i < sizeof saved; i++) {
            regs->known &= ~((uint64_t)1 << saved[i]);
        }
        if (frame->fp_known) {
            sonde__regs_set(regs, SONDE__X86_64_RBP, frame->fp);
        }
        sonde__regs_set(regs, SONDE__X86_64_RSP, slot + 8);
        regs->pc = pc;
    }
    walker->was_signal = false;
    frame->pc = pc;
    frame->sp = slot + 8;
    frame->exact = false;
    frame->found = SONDE_FOUND_INFERRED;
}

static bool step_x86(struct sonde__walker *walker, enum sonde__step *ret_step)
{
    struct sonde__unwind_info_entry entry;
    struct sonde__ahead ahead = {.depth = 0};
    uint64_t slot = 0, pc = 0;
    if (!find_function(walker, &entry) || !find_slot(walker, &entry, &ahead, &slot) ||
        !sonde__reader_word(walker->reader, slot, &pc)) {
        return false;
    }
    if (pc == 0 && sonde__step_is_start(walker)) {
        *ret_step = sonde__step_end(walker, SONDE_END_ROOT, walker->frame.pc);
        return true;
    }
    if (!sonde__walker_is_behind_call(walker, pc)) {
        return false;
    }
    leave_x86(walker, &ahead, slot, pc);
    *ret_step = SONDE__STEP_ON;
    return true;
}

/* --- arm64 --- */

/* Is lr proven to be the return address? *ret_cfa: the caller's sp; the sp of now if it is not
 * known. */
static bool is_linked(struct sonde__walker *walker, const struct sonde__unwind_info_entry *entry,
                      uint64_t *ret_cfa)
{
    struct sonde__ahead ahead;
    uint32_t mode = entry->encoding & SONDE__ENCODING_MODE_MASK;
    enum sonde__ahead_kind kind = look_ahead(walker, entry, &ahead);
    int64_t depth = ahead.depth;
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

static void leave_arm64(struct sonde__walker *walker, uint64_t pc, uint64_t sp, bool has_encoding)
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

static bool step_arm64(struct sonde__walker *walker, enum sonde__step *ret_step)
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
    leave_arm64(walker, lr, cfa, entry.encoding != 0);
    *ret_step = SONDE__STEP_ON;
    return true;
}

bool sonde__step_ahead(struct sonde__walker *walker, enum sonde__step *ret_step)
{
    return walker->arch == SONDE_ARCH_X86_64 ? step_x86(walker, ret_step)
                                             : step_arm64(walker, ret_step);
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
    return walker->arch == SONDE_ARCH_AARCH64 && find_function(walker, &entry) &&
           entry.encoding == 0 && !is_set_up(walker, &entry);
}
