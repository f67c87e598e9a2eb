// SPDX-License-Identifier: Apache-2.0
/* The caller of a frame whose frame pointer nobody knows (a blocked thread read passively shows its
 * sp and pc only), by scanning its stack.
 *
 * Each slot is tried as the frame pointer. A try counts when the return address that the rule then
 * gives follows a call, the call goes to this very function (directly, through a linkage stub that
 * holds its address, or indirectly), and CFI leads from there to the thread's entry. Leftovers of
 * earlier calls can satisfy all that too: so exactly one try must. Otherwise the answer is that
 * nobody knows. */
#include "unwind_step.h"

/* How far up the caller is sought: no function of a stock library that keeps a frame pointer has a
 * frame above 132 KB. */
#define SCAN_BYTES (256u << 10)

/* Frames walked for all tries together, as a bound of time (about 10 ms). */
#define PROBE_FRAMES_MAX (1u << 20)

struct scan {
    const struct sonde__walker *walker;
    uint64_t function; /* address of its first instruction */
    uint64_t frames_left;
};

static bool read_door(const struct sonde__walker *walker, uint64_t address, void *bytes,
                      size_t size)
{
    const struct sonde__memory *memory = &walker->reader->memory;
    return memory->read != NULL && memory->read(memory->ctx, address, bytes, size);
}

/* Does a call of the function end at this return address? */
static bool follows_call(const struct scan *scan, uint64_t pc)
{
    const struct sonde__walker *walker = scan->walker;
    uint8_t code[16];
    uint64_t target = 0;
    uint64_t slot = 0;
    uint64_t value = 0;
    if (!read_door(walker, pc - 8, code, 8) ||
        !sonde__arch_is_call_before(walker->arch, pc, code, 8, &target)) {
        return false;
    }
    if (target == 0 || target == scan->function) {
        return true;
    }
    return read_door(walker, target, code, sizeof code) &&
           sonde__arch_stub_slot(walker->arch, target, code, sizeof code, &slot) &&
           read_door(walker, slot, &value, sizeof value) && value == scan->function;
}

/* Try one frame pointer. True: it leads to the root; *ret_walker then stands at the caller. */
static bool try_fp(struct scan *scan, const struct sonde__rule *rule, uint64_t fp,
                   struct sonde__walker *ret_walker, bool *ret_unreadable)
{
    struct sonde__walker trial = *scan->walker;
    trial.frame.fp = fp;
    trial.frame.fp_known = true;
    if (sonde__rule_apply(&trial, rule) != SONDE__STEP_ON) {
        *ret_unreadable = trial.end == SONDE_END_UNREADABLE;
        return false;
    }
    sonde__walker_locate(&trial, trial.frame.pc - 1);
    if (!trial.is_executable || !follows_call(scan, trial.frame.pc)) {
        return false;
    }
    struct sonde__walker probe = trial;
    probe.is_proof = true; /* stacks are full of zeros and of old frame pointers */
    if (sonde__walker_probe(&probe, &scan->frames_left) != SONDE_END_ROOT) {
        return false;
    }
    *ret_walker = trial;
    return true;
}

bool sonde__step_infer(struct sonde__walker *walker, const struct sonde__rule *rule)
{
    struct scan scan = {.walker = walker, .frames_left = PROBE_FRAMES_MAX};
    struct sonde__walker found = *walker;
    bool is_found = false;
    uint64_t start = 0;
    uint64_t end = 0;
    bool by_fp = rule->cfa == SONDE__RULE_FP || rule->cfa == SONDE__RULE_FP_DEREF;
    if (!by_fp || walker->arch != SONDE__ARCH_X86_64 || walker->image == NULL ||
        !sonde__cfi_fde_bounds(&walker->image->cfi, walker->arch,
                               sonde__frame_lookup_pc(&walker->frame) - walker->image->bias, &start,
                               &end)) {
        return false;
    }
    scan.function = start + walker->image->bias;
    uint64_t first = (walker->frame.sp + 7) & ~(uint64_t)7;
    for (uint64_t fp = first; fp - first < SCAN_BYTES; fp += 8) {
        bool unreadable = false;
        struct sonde__walker caller;
        if (try_fp(&scan, rule, fp, &caller, &unreadable)) {
            if (is_found) {
                return false; /* two proofs are none */
            }
            found = caller;
            is_found = true;
        }
        uint64_t word = 0;
        if (scan.frames_left == 0 ||
            (unreadable && !sonde__reader_word(walker->reader, fp, &word))) {
            break;
        }
    }
    if (scan.frames_left == 0 || !is_found) {
        return false;
    }
    *walker = found;
    return true;
}
