// SPDX-License-Identifier: Apache-2.0
/* Checks if a chain of frames was the thread's when its native stack was copied.
 *
 * The copy (a perf sample) is of one instant; the frames were read later. Calls of the loop leave
 * pointers to frames on the native stack: 3.11 in its _PyCFrame, 3.12 and later in the frame that
 * ends a run, all versions in registers and spilled words. Those in the copy must match the chain.
 * From 3.11 on, the copy must also have the next instruction of the innermost frame: other
 * functions reuse the same place of the data stack. */
#include "base_bytes.h"
#include "python.h"

static bool word_at(const struct sonde__runtime_moment *moment, uint64_t address,
                    uint64_t *ret_word)
{
    if (moment->size < 8 || address < moment->address ||
        address - moment->address > moment->size - 8) {
        return false;
    }
    *ret_word = sonde__base_le64(moment->stack + (address - moment->address));
    return true;
}

/* Is there a word in [low, high) in a register or in the copy below `end`? */
static bool has_word(const struct sonde__runtime_moment *moment, uint64_t end, uint64_t low,
                     uint64_t high)
{
    uint64_t word;
    for (unsigned i = 0; i < SONDE__REG_COUNT; i++) {
        if (sonde__regs_known(moment->regs, i) && moment->regs->r[i] >= low &&
            moment->regs->r[i] < high) {
            return true;
        }
    }
    for (uint64_t at = moment->address; at < end && word_at(moment, at, &word); at += 8) {
        if (word >= low && word < high) {
            return true;
        }
    }
    return false;
}

/* 3.8 to 3.10: each call of the loop keeps its frame's address in a saved register or on the stack,
 * so the copy has the addresses in the order of the chain. */
static bool objects_agree(const struct python_chain *chain,
                          const struct sonde__runtime_moment *moment)
{
    uint64_t at = moment->address, word = 0;
    for (uint32_t i = 0; i < chain->count; i++) {
        bool found = i == 0 && has_word(moment, moment->address, chain->frames[0].at,
                                        chain->frames[0].at + 1);
        while (!found && word_at(moment, at, &word)) {
            found = word == chain->frames[i].at;
            at += 8;
        }
        if (!found) {
            return i > 0 && moment->is_cut; /* the rest is beyond the copy */
        }
    }
    return true;
}

/* The first frame of the run after that of frame `i`; 0: none. */
static uint64_t next_run(const struct python_chain *chain, uint32_t i, uint64_t *ret_anchor)
{
    uint32_t run = chain->frames[i].run;
    while (i < chain->count && chain->frames[i].run == run) {
        i++;
    }
    *ret_anchor = i < chain->count ? chain->frames[i].anchor : 0;
    return i < chain->count ? chain->frames[i].at : 0;
}

static bool run_agrees(const struct python_layout *l, const struct python_chain *chain, uint32_t i,
                       const struct sonde__runtime_moment *moment)
{
    const struct python_frame *frame = &chain->frames[i];
    uint64_t word = 0, anchor = 0, next = next_run(chain, i, &anchor);
    bool is_last = next == 0;
    if (l->frames == PYTHON_ENTRY_FLAGS) {
        return !word_at(moment, frame->anchor + l->cframe_current, &word) ||
               (word == frame->at &&
                (is_last || !word_at(moment, frame->anchor + l->cframe_previous, &word) ||
                 word == anchor));
    }
    return is_last || !word_at(moment, frame->anchor + l->frame_previous, &word) || word == next ||
           chain->run_count != chain->frames[chain->count - 1].run + 1; /* a run without frames */
}

bool python_agrees(const struct python *python, const struct python_chain *chain,
                   uint64_t code_bytes, const struct sonde__runtime_moment *moment)
{
    enum { NEAR = 512 }; /* bytes of the loop's native frame above the anchor */
    const struct python_layout *l = &python->layout;
    if (chain->count == 0) {
        return false;
    }
    if (l->frames == PYTHON_FRAME_OBJECTS) {
        return objects_agree(chain, moment);
    }
    const struct python_frame *first = &chain->frames[0];
    uint64_t start = first->code + l->code_start, end = first->anchor + NEAR;
    for (uint32_t i = 0; i < chain->count; i++) {
        bool begins = i == 0 || chain->frames[i].run != chain->frames[i - 1].run;
        if (begins && !run_agrees(l, chain, i, moment)) {
            return false;
        }
    }
    return has_word(moment, end, first->at, first->at + 1) &&
           has_word(moment, end, start, start + code_bytes + 2);
}
