// SPDX-License-Identifier: Apache-2.0
/* Scans with a cache of their proofs (unwind_scans.h) and a limit of their work.
 *
 * A walk in this process may run in a handler, so the work of its scans is limited. At the limit
 * the walk ends with COSTLY, and the cache keeps what was proven, so the next walk gets further. A
 * scan that alone exceeds the limit gets twice as much the next time, a few times. Then the walk no
 * longer scans there, and uses the frame record only.
 *
 * A proof may be older than the knowledge that its code is never unloaded (the first walk; a walk
 * before sonde_stack_prepare()). It loses its seal when it is next found to be valid.
 *
 * A cached rule is used if code that can change has not changed, and if the word at its place is
 * the return address of a call that is known to lead to the function, or that is found to do so
 * now. Context: handler. */
#include "unwind_scan.h"

enum {
    SEAL_START_BYTES = 64, /* of a function that can change; hashed to recognize it */
    SEAL_BEFORE_BYTES = 56,
    SEAL_BEHIND_BYTES = 8,
    CUTS_MAX = 7, /* how often the work limit is doubled: at most 25 ms, once for each pc */
};

/* Returns 0 if the code cannot be read. */
static uint64_t seal_of_code(const struct sonde__walker *walker, uint64_t entry, uint64_t pc)
{
    uint8_t code[SEAL_START_BYTES + SEAL_BEFORE_BYTES + SEAL_BEHIND_BYTES];
    size_t size = pc - entry < SEAL_START_BYTES ? (size_t)(pc - entry) : SEAL_START_BYTES;
    if (!sonde__walker_read(walker, entry, code, size) ||
        !sonde__walker_read(walker, pc - SEAL_BEFORE_BYTES, code + size,
                            SEAL_BEFORE_BYTES + SEAL_BEHIND_BYTES)) {
        return 0;
    }
    return sonde__scans_hash(code, size + SEAL_BEFORE_BYTES + SEAL_BEHIND_BYTES);
}

static uint64_t seal_of_call(const struct sonde__walker *walker, uint64_t pc)
{
    uint8_t code[8];
    return sonde__walker_read(walker, pc - sizeof code, code, sizeof code)
               ? sonde__scans_hash(code, sizeof code)
               : 0;
}

/* A copy for look-ups. */
static struct sonde__walker make_looker(const struct sonde__walker *walker)
{
    struct sonde__walker looker = *walker;
    looker.is_doubtful = true;
    sonde__walker_ask_anew(&looker);
    return looker;
}

static bool slot_by_rule(const struct sonde__frame *frame, const struct sonde__scans_rule *rule,
                         uint64_t *ret_slot)
{
    *ret_slot = (rule->by_fp ? frame->fp : frame->sp) + rule->at;
    return *ret_slot >= frame->sp && (!rule->by_fp || frame->fp_known);
}

static void step_by_rule(struct sonde__walker *walker, const struct sonde__scans_rule *rule,
                         uint64_t slot, uint64_t pc)
{
    bool is_lost = rule->fp_saved == SONDE__SCANS_FP_LOST;
    struct sonde__sweep sweep = {
        .entry = rule->entry,
        .depth = rule->by_fp ? -1 : (int64_t)rule->at,
        .fp_base = rule->by_fp ? (int64_t)rule->at
                   : is_lost   ? 0
                               : -1,
        .fp_saved = rule->fp_saved >= 0 ? rule->fp_saved : -1,
    };
    sonde__scan_step_out(walker, &sweep, slot, pc);
}

/* Is `pc`, at the place that the function's rule gives, a return address of a call that leads to
 * the function, or of an indirect call that may? (Such a call from JIT code counts only if call
 * frame information leads on from there, as in a scan.) */
static bool is_new_caller(struct sonde__walker *walker, const struct sonde__scans_rule *rule,
                          uint64_t slot, uint64_t pc)
{
    struct sonde__walker looker = make_looker(walker);
    struct sonde__sweep sweep;
    uint64_t target = 0, expected = 0;
    enum sonde__sweep_result result = SONDE__SWEEP_OPEN;
    if (pc <= 4096 || !sonde__walker_is_return_address(walker, &looker, pc, &target)) {
        return false;
    }
    if (target != 0) {
        result = sonde__sweep_to(walker, sonde__scan_entry(walker, target), true, &sweep);
    }
    if (result == SONDE__SWEEP_FOUND) {
        return sweep.entry == rule->entry && sonde__scan_slot(&walker->frame, &sweep, &expected) &&
               expected == slot;
    }
    if (result == SONDE__SWEEP_ELSEWHERE || (slot & 15) != 8) {
        return false;
    }
    if (walker->image != NULL) {
        return true;
    }
    struct sonde__walker trial = *walker;
    step_by_rule(&trial, rule, slot, pc);
    bool leads_on = sonde__walker_reaches_root(&trial);
    walker->sweep_left = trial.sweep_left;
    return leads_on;
}

static bool can_change(const struct sonde__walker *walker)
{
    return walker->image == NULL || !walker->image->is_permanent;
}

/* Cache that the call before `pc` leads to the function. */
static void keep_caller(const struct sonde__walker *walker, uint64_t entry, uint64_t pc)
{
    struct sonde__walker looker = make_looker(walker);
    sonde__walker_locate(&looker, pc - 1);
    bool is_sealed = can_change(&looker);
    uint64_t seal = is_sealed ? seal_of_call(walker, pc) : 0;
    if (seal != 0 || !is_sealed) {
        sonde__scans_put_caller(walker->walk->scans, entry, pc, seal);
    }
}

static bool is_kept_caller(struct sonde__walker *walker, uint64_t entry, uint64_t pc)
{
    uint64_t seal = 0;
    if (!sonde__scans_is_caller(walker->walk->scans, entry, pc, &seal) ||
        (seal != 0 && seal != seal_of_call(walker, pc))) {
        return false;
    }
    if (seal != 0 && !can_change(walker)) {
        keep_caller(walker, entry, pc);
        sonde__walker_ask_anew(walker);
    }
    return true;
}

/* Raise the work limit for a scan from this frame by how often it was exceeded. Returns that. */
static uint32_t grant_work(struct sonde__walker *walker, uint64_t seal)
{
    uint32_t cuts = sonde__scans_cuts(walker->walk->scans, walker->frame.pc, seal);
    if (cuts <= CUTS_MAX && walker->sweep_left > 0) {
        walker->sweep_left += ((uint32_t)SONDE__WORK_IN_HANDLER << cuts) - SONDE__WORK_IN_HANDLER;
    }
    return cuts;
}

static uint64_t seal_of_place(const struct sonde__walker *walker)
{
    return can_change(walker) ? seal_of_code(walker, walker->frame.pc, walker->frame.pc) : 0;
}

static bool recall_rule(struct sonde__walker *walker)
{
    struct sonde__frame *frame = &walker->frame;
    struct sonde__scans_rule rule;
    uint64_t seal = 0, slot = 0, pc = 0;
    if (!sonde__scans_rule(walker->walk->scans, frame->pc, frame->exact, &rule, &seal) ||
        (seal != 0 && seal != seal_of_code(walker, rule.entry, frame->pc)) ||
        !slot_by_rule(frame, &rule, &slot) || !sonde__reader_word(walker->reader, slot, &pc)) {
        return false;
    }
    if (seal != 0 && !can_change(walker)) {
        sonde__scans_put_rule(walker->walk->scans, frame->pc, frame->exact, &rule, 0);
    }
    if (!is_kept_caller(walker, rule.entry, pc)) {
        uint64_t place = seal_of_place(walker);
        uint32_t cuts = grant_work(walker, place), work = walker->sweep_left;
        bool is_caller = is_new_caller(walker, &rule, slot, pc);
        if (is_caller) {
            keep_caller(walker, rule.entry, pc);
        } else if (walker->sweep_left == 0 && cuts <= CUTS_MAX &&
                   work >= SONDE__WORK_IN_HANDLER / 2) {
            sonde__scans_put_cuts(walker->walk->scans, frame->pc, cuts + 1, place);
        }
        sonde__walker_ask_anew(walker);
        if (!is_caller) {
            sonde__walker_locate(walker, sonde__frame_lookup_pc(frame));
            return false;
        }
    }
    step_by_rule(walker, &rule, slot, pc);
    return true;
}

static bool recall_record(const struct sonde__walker *walker)
{
    const struct sonde__frame *frame = &walker->frame;
    struct sonde__scans *scans = walker->walk->scans;
    uint64_t seal = 0, distance = frame->fp - frame->sp;
    if (frame->exact || !frame->fp_known || frame->fp < frame->sp ||
        !sonde__scans_is_record(scans, frame->pc, distance, &seal) ||
        (seal != 0 && seal != seal_of_code(walker, frame->pc, frame->pc))) {
        return false;
    }
    if (seal != 0 && !can_change(walker)) {
        sonde__scans_put_record(scans, frame->pc, distance, 0);
    }
    return true;
}

bool sonde__step_recall(struct sonde__walker *walker, enum sonde__step *ret_step)
{
    if (walker->arch != SONDE_ARCH_X86_64 || walker->walk->scans == NULL) {
        return false;
    }
    bool is_by_rule = recall_rule(walker);
    *ret_step = is_by_rule ? SONDE__STEP_ON : SONDE__STEP_OTHER;
    return is_by_rule || recall_record(walker);
}

static void keep_rule(const struct sonde__walker *walker, bool is_sealed,
                      const struct sonde__frame *before)
{
    const struct sonde__scans_rule *rule = &walker->scan_rule;
    uint64_t seal = is_sealed ? seal_of_code(walker, rule->entry, before->pc) : 0;
    if (seal != 0 || !is_sealed) {
        sonde__scans_put_rule(walker->walk->scans, before->pc, before->exact, rule, seal);
        keep_caller(walker, rule->entry, walker->frame.pc);
    }
}

/* Cache a frame record if it holds a return address that a call made. From JIT code, any code
 * address counts: interpreters push return addresses. */
static void keep_record(struct sonde__walker *walker, bool is_sealed,
                        const struct sonde__frame *frame)
{
    struct sonde__walker looker = make_looker(walker);
    uint64_t seal = is_sealed ? seal_of_code(walker, frame->pc, frame->pc) : 0;
    uint64_t pc = 0, target = 0;
    if (frame->fp_known && frame->fp >= frame->sp && !frame->exact && (seal != 0 || !is_sealed) &&
        sonde__reader_word(walker->reader, frame->fp + 8, &pc) && pc > 4096 &&
        (sonde__walker_is_return_address(walker, &looker, pc, &target) ||
         (walker->image == NULL && looker.is_executable))) {
        sonde__scans_put_record(walker->walk->scans, frame->pc, frame->fp - frame->sp, seal);
    }
}

/* Scan, and cache the result unless the scan exceeded its limit. */
static enum sonde__step scan_and_keep(struct sonde__walker *walker)
{
    const struct sonde__frame before = walker->frame;
    struct sonde__scans *scans = walker->walk->scans;
    const bool is_sealed = can_change(walker);
    uint64_t seal = seal_of_place(walker);
    uint32_t cuts = grant_work(walker, seal), work = walker->sweep_left;
    if (cuts > CUTS_MAX) {
        keep_record(walker, is_sealed, &before);
        return SONDE__STEP_OTHER;
    }
    if (work == 0) {
        return sonde__step_end(walker, SONDE_END_COSTLY, before.pc);
    }
    enum sonde__step step = sonde__scan_stack(walker);
    if (step == SONDE__STEP_ON && walker->scan_rule.entry != 0) {
        keep_rule(walker, is_sealed, &before);
    }
    if (step != SONDE__STEP_OTHER) {
        return step;
    }
    if (walker->sweep_left > 0) {
        keep_record(walker, is_sealed, &before);
        return step;
    }
    if (work >= SONDE__WORK_IN_HANDLER / 2) {
        sonde__scans_put_cuts(scans, before.pc, cuts + 1, seal);
    }
    return sonde__step_end(walker, SONDE_END_COSTLY, before.pc);
}

/* The look-up of words on the stack may replace the walker's image (the answer of find_image has
 * one place), so look it up again. */
enum sonde__step sonde__step_scan(struct sonde__walker *walker)
{
    if (walker->arch != SONDE_ARCH_X86_64) {
        return SONDE__STEP_OTHER;
    }
    walker->scan_rule.entry = 0;
    enum sonde__step step =
        walker->walk->scans != NULL ? scan_and_keep(walker) : sonde__scan_stack(walker);
    sonde__walker_ask_anew(walker);
    return step;
}
