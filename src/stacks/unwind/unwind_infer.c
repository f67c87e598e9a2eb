// SPDX-License-Identifier: Apache-2.0
/* Finds the caller of a frame that needs an unknown frame pointer, by a scan of the stack. (A
 * passive read of a blocked thread gives only sp and pc.)
 *
 * The scan tries each slot as the frame pointer. A try counts if the rule then gives a return
 * address behind a call that may have called this function, and CFI leads from there to the
 * thread's entry. A direct call, also through a linkage stub that holds the function's address,
 * names its target. A call through a word of memory (-fno-plt) names this function or another one.
 * Any other indirect call may have called anything, so every frame further out that made one is a
 * try, too. Leftovers of earlier calls can pass all of this. So the proof is: exactly one direct
 * call, and every indirect one is on the way from it to the entry; or no direct call and exactly
 * one indirect one. Otherwise the caller is unknown.
 *
 * The function's prologue, if it can be decoded, gives the distance from sp to the frame
 * pointer. A try at that place needs no proof that it is the only one. If CFI does not lead to
 * the entry (a libc without CFI is on the way), the function's code and the call must agree
 * about the place of the return address (unwind_scan.c). The code also rejects a single indirect
 * call elsewhere: if the stack was overwritten up to that call, it is the only one left. */
#include "arch_prologue.h"
#include "unwind_step.h"

/* How far the scan goes: no frame of a stock library with a frame pointer exceeds 132 KB. */
#define SCAN_BYTES (256u << 10)

/* Limit of frames walked for all tries together (about 10 ms). */
#define PROBE_FRAMES_MAX (1u << 20)

/* A frame is set up near the function's start. */
#define PROLOGUE_BYTES 96

/* Limit of indirect calls on one stack; with more there is no proof. */
#define INDIRECT_MAX 32

enum call_kind { CALL_NONE, CALL_DIRECT, CALL_INDIRECT };

struct scan {
    const struct sonde__walker *walker;
    uint64_t function; /* address of its first instruction */
    uint64_t frames_left;
    unsigned direct_count;
    unsigned indirect_count;
    struct sonde__walker direct; /* stands at the caller that the last direct try gave */
    struct sonde__walker indirect;
    uint64_t indirect_sp[INDIRECT_MAX]; /* of the callers */
};

/* find_image's answer is valid until its next call only, and each copy of a walker calls it. */
static struct sonde__walker copy_walker(const struct sonde__walker *walker)
{
    struct sonde__walker copy = *walker;
    copy.is_doubtful = true;
    copy.place_start = 0;
    copy.place_end = 0;
    copy.image = NULL;
    return copy;
}

/* What kind of call ends at this return address? NONE: none that may have called the function. */
static enum call_kind classify_call(const struct scan *scan, uint64_t pc)
{
    const struct sonde__walker *walker = scan->walker;
    uint8_t code[16];
    uint64_t target = 0;
    uint64_t slot = 0;
    uint64_t value = 0;
    if (!sonde__walker_read(walker, pc - 8, code, 8) ||
        !sonde__arch_is_call_before(walker->arch, pc, code, 8, &target)) {
        return CALL_NONE;
    }
    if (target == 0) {
        uint64_t named = sonde__scan_through_word(walker, pc, code);
        return named == 0 || named == scan->function ? CALL_INDIRECT : CALL_NONE;
    }
    bool to_stub =
        target != scan->function && sonde__walker_read(walker, target, code, sizeof code) &&
        sonde__arch_stub_slot(walker->arch, target, code, sizeof code, &slot) &&
        sonde__walker_read(walker, slot, &value, sizeof value) && value == scan->function;
    return target == scan->function || to_stub ? CALL_DIRECT : CALL_NONE;
}

/* Does CFI lead from `from` to the thread's entry? *ret_passed: callers by indirect calls
 * passed. */
static bool reaches_root(struct scan *scan, const struct sonde__walker *from, unsigned *ret_passed)
{
    /* not by frame pointers: stacks are full of zeros and stale ones */
    struct sonde__walker walker = sonde__proof_begin(from);
    unsigned passed = 0;
    for (; scan->frames_left > 0; scan->frames_left--) {
        for (unsigned i = 0; i < scan->indirect_count; i++) {
            passed += scan->indirect_sp[i] == walker.frame.sp;
        }
        enum sonde__step step = sonde__proof_step(&walker);
        if (step != SONDE__STEP_ON) {
            *ret_passed = passed;
            return step == SONDE__STEP_ENDED && walker.end == SONDE_END_ROOT;
        }
    }
    return false;
}

/* Try one frame pointer. False: the stack ends here. */
static bool try_fp(struct scan *scan, const struct sonde__rule *rule, uint64_t fp)
{
    struct sonde__walker trial = copy_walker(scan->walker);
    unsigned ignored = 0;
    trial.frame.fp = fp;
    trial.frame.fp_known = true;
    if (sonde__rule_apply(&trial, rule) != SONDE__STEP_ON) {
        uint64_t word = 0;
        return trial.end != SONDE_END_UNREADABLE || sonde__reader_word(trial.reader, fp, &word);
    }
    sonde__walker_locate(&trial, trial.frame.pc - 1);
    enum call_kind kind = trial.is_executable ? classify_call(scan, trial.frame.pc) : CALL_NONE;
    if (kind == CALL_NONE || !reaches_root(scan, &trial, &ignored)) {
        return true;
    }
    if (kind == CALL_DIRECT) {
        scan->direct_count++;
        scan->direct = trial;
    } else {
        if (scan->indirect_count < INDIRECT_MAX) {
            scan->indirect_sp[scan->indirect_count] = trial.frame.sp;
        }
        scan->indirect_count++;
        scan->indirect = trial;
    }
    return true;
}

/* Compute the frame pointer, supposing that only the prologue moved sp. */
static bool predict_fp(const struct scan *scan, uint64_t *ret_fp)
{
    const struct sonde__walker *walker = scan->walker;
    uint8_t code[PROLOGUE_BYTES];
    uint64_t bytes = 0;
    uint64_t distance = walker->frame.pc - scan->function;
    unsigned size = distance < PROLOGUE_BYTES ? (unsigned)distance : PROLOGUE_BYTES;
    if (!sonde__walker_read(walker, scan->function, code, size)) {
        return false;
    }
    for (unsigned i = 0; i + 3 <= size; i++) {
        /* mov %rsp, %rbp, both encodings */
        bool is_setup = code[i] == 0x48 && ((code[i + 1] == 0x89 && code[i + 2] == 0xe5) ||
                                            (code[i + 1] == 0x8b && code[i + 2] == 0xec));
        if (is_setup) {
            bool is_known = sonde__arch_x86_64_frame_bytes(code + i + 3, size - i - 3, &bytes);
            *ret_fp = walker->frame.sp + bytes;
            return is_known;
        }
    }
    return false;
}

static bool is_proven(struct scan *scan)
{
    unsigned passed = 0;
    if (scan->frames_left == 0 || scan->indirect_count > INDIRECT_MAX) {
        return false;
    }
    if (scan->direct_count == 0) {
        return scan->indirect_count == 1 &&
               !sonde__scan_is_elsewhere(scan->walker, scan->function, scan->indirect.frame.sp);
    }
    return scan->direct_count == 1 && reaches_root(scan, &scan->direct, &passed) &&
           passed == scan->indirect_count;
}

/* Move the walker to a proven trial. */
static void stand_at(struct sonde__walker *walker, const struct sonde__walker *trial)
{
    bool is_doubtful = walker->is_doubtful;
    *walker = copy_walker(trial);
    walker->is_doubtful = is_doubtful;
}

bool sonde__step_infer(struct sonde__walker *walker, const struct sonde__rule *rule)
{
    struct scan scan = {.walker = walker, .frames_left = PROBE_FRAMES_MAX};
    uint64_t start = 0;
    uint64_t end = 0;
    bool by_fp = rule->cfa == SONDE__RULE_FP || rule->cfa == SONDE__RULE_FP_DEREF;
    if (!by_fp || walker->arch != SONDE_ARCH_X86_64 || walker->image == NULL ||
        !sonde__cfi_fde_bounds(&walker->image->cfi, walker->arch,
                               sonde__frame_lookup_pc(&walker->frame) - walker->image->bias, &start,
                               &end)) {
        return false;
    }
    scan.function = start + walker->image->bias;
    uint64_t predicted = 0;
    if (predict_fp(&scan, &predicted)) {
        (void)try_fp(&scan, rule, predicted);
        if (scan.direct_count + scan.indirect_count == 1) {
            stand_at(walker, scan.direct_count != 0 ? &scan.direct : &scan.indirect);
            return true;
        }
    }
    uint64_t first = (walker->frame.sp + 7) & ~(uint64_t)7;
    for (uint64_t fp = first; fp - first < SCAN_BYTES; fp += 8) {
        bool is_enough =
            scan.frames_left == 0 || scan.direct_count > 1 || scan.indirect_count > INDIRECT_MAX;
        if (is_enough || !try_fp(&scan, rule, fp)) {
            break;
        }
    }
    if (!is_proven(&scan)) {
        return sonde__step_by_code(walker, scan.function);
    }
    stand_at(walker, scan.direct_count != 0 ? &scan.direct : &scan.indirect);
    return true;
}
