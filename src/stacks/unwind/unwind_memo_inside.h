// SPDX-License-Identifier: Apache-2.0
/* Follows the frames of a memo as far as their cells hold the same, and moves them. For
 * unwind_memo*.c only. Context: handler. */
#ifndef SONDE_UNWIND_MEMO_INSIDE_H
#define SONDE_UNWIND_MEMO_INSIDE_H

#include "unwind_memo.h"

#define UNROLL _Pragma("GCC unroll 4")

enum {
    END = SONDE__MEMO_FRAMES,
    GROUP = 4,       /* frames compared at once */
    PAGE_SHIFT = 12, /* the smallest page */
};

/* Distances are 32 bits: they reach this far below the first sp, and as far above. */
#define REACH ((uint64_t)1 << 31)

static inline uint32_t cell_of(uint32_t cell)
{
    return cell & ~(uint32_t)SONDE__MEMO_FLAGS;
}

/* Where the memo's cells end. */
static inline uint64_t cells_end(const struct sonde__memo *memo)
{
    return memo->base + memo->frames[END - 1].sp;
}

static inline bool has_fp(const struct sonde__memo *memo, const struct sonde__memo_frame *frame,
                          uint64_t fp, bool is_known)
{
    return (frame->fp_home & SONDE__MEMO_NEED) == 0 || (is_known && fp - memo->base == frame->fp);
}

static __attribute__((noinline)) bool inspect_image(const struct sonde__memo *memo, uint64_t call,
                                                    struct sonde__memo_look *look)
{
    for (uint32_t i = 0; i < memo->image_count; i++) {
        const struct sonde__memo_image *image = &memo->images[i];
        if (call >= image->start && call < image->end) {
            look->start = image->start;
            look->size = image->end - image->start;
            return look->is_still_loaded != NULL && look->is_still_loaded(image);
        }
    }
    return false;
}

/* Is the image of a frame still loaded, so that the remembered rule is valid? */
static inline bool may_leave(const struct sonde__memo *memo, const struct sonde__memo_frame *frame,
                             struct sonde__memo_look *look)
{
    if ((frame->cell & SONDE__MEMO_IMAGE) == 0 || frame->pc - 1 - look->start < look->size) {
        return true;
    }
    if (!inspect_image(memo, frame->pc - 1, look)) {
        look->size = 0;
        return false;
    }
    return true;
}

static inline uint64_t pac_mask(unsigned arch)
{
    return arch == SONDE_ARCH_X86_64 ? UINT64_MAX : sonde__arch_strip_pac(arch, UINT64_MAX);
}

/* Does the cell from which the arrival at `caller` read fp hold the same value? */
SONDE__NO_SANITIZE static inline bool has_same_fp(uint64_t base,
                                                  const struct sonde__memo_frame *caller)
{
    return sonde__plain_word(base + cell_of(caller->fp_home)) == base + caller->fp;
}

static inline uint32_t at_index(const struct sonde__memo *memo,
                                const struct sonde__memo_frame *frame)
{
    return (uint32_t)(frame - memo->frames);
}

/* The position of verify(). */
struct position {
    const struct sonde__memo_frame *frame;
    uint64_t pc; /* of the frame */
    uint64_t *pcs;
};

/* Verify whole groups of frames that were each arrived at by one cell (with_fp: by two, with
 * that of fp) and whose images need no check. False: a cell has changed. */
SONDE__NO_SANITIZE static inline __attribute__((always_inline)) bool
verify_groups(struct position *at, const struct sonde__memo_frame *last, uint64_t base,
              uint64_t mask, const bool is_wanted, const bool with_fp)
{
    const struct sonde__memo_frame *frame = at->frame;
    uint64_t *pcs = at->pcs;
    uint64_t pc = at->pc;
    unsigned i = GROUP;
    while (__builtin_expect(last - frame >= GROUP, 1)) {
        _Static_assert(GROUP == 4, "cells");
        const uint64_t cells[GROUP] = {frame[1].cell, frame[2].cell, frame[3].cell, frame[4].cell};
        uint64_t some = ((cells[3] | cells[2]) | (cells[1] | cells[0])) & SONDE__MEMO_FLAGS;
        uint64_t each = cells[0] & cells[1] & cells[2] & cells[3] & SONDE__MEMO_CHECK;
        if (__builtin_expect(with_fp ? some != SONDE__MEMO_CHECK || each == 0 : some != 0, 0)) {
            break;
        }
        i = 0;
        UNROLL for (; i < GROUP; i++)
        {
            const struct sonde__memo_frame *caller = &frame[i + 1];
            uint64_t caller_pc = caller->pc;
            uint64_t cell = base + cells[i] - (with_fp ? SONDE__MEMO_CHECK : 0);
            if (__builtin_expect((sonde__plain_word(cell) & mask) != caller_pc, 0) ||
                (with_fp && __builtin_expect(!has_same_fp(base, caller), 0))) {
                break;
            }
            if (is_wanted) {
                pcs[i] = pc;
            }
            pc = caller_pc;
        }
        frame += i;
        if (is_wanted) {
            pcs += i;
        }
        if (__builtin_expect(i < GROUP, 0)) {
            break;
        }
    }
    *at = (struct position){frame, pc, pcs};
    return i == GROUP;
}

/* Is the arrival at `caller` still the same? */
SONDE__NO_SANITIZE static inline bool
has_same_cells(uint64_t base, uint64_t mask, const struct sonde__memo_frame *caller, uint32_t cell)
{
    return ((cell & (SONDE__MEMO_CHECK | SONDE__MEMO_ODD)) == 0 ||
            ((cell & SONDE__MEMO_ODD) == 0 && has_same_fp(base, caller))) &&
           (sonde__plain_word(base + cell_of(cell)) & mask) == caller->pc;
}

/* Verify from frame `at`, whose state is the walk's, outward to frame `end` - 1 at most. Returns
 * the frame up to which the state is proven. is_wanted: writes the pcs of the frames before it
 * to `pcs`. */
SONDE__NO_SANITIZE static inline __attribute__((always_inline)) struct position
verify(const struct sonde__memo *memo, uint32_t at, uint32_t end, struct sonde__memo_look *look,
       uint64_t *pcs, const bool is_wanted)
{
    const uint64_t mask = pac_mask(SONDE__ARCH_HOST);
    const uint64_t base = memo->base;
    const struct sonde__memo_frame *last = &memo->frames[end - 1];
    struct position here = {&memo->frames[at], memo->frames[at].pc, pcs};
    if (!may_leave(memo, here.frame, look)) {
        return here;
    }
    for (;;) {
        /* nearly all frames: without frame pointers, then with */
        if (!verify_groups(&here, last, base, mask, is_wanted, false) ||
            !verify_groups(&here, last, base, mask, is_wanted, true)) {
            return here;
        }
        /* other frames, which come in runs, and the rest */
        const struct sonde__memo_frame *stop =
            last - here.frame >= GROUP ? here.frame + GROUP : last;
        while (here.frame != stop) {
            const struct sonde__memo_frame *caller = here.frame + 1;
            if (!has_same_cells(base, mask, caller, caller->cell)) {
                return here;
            }
            if (is_wanted) {
                *here.pcs++ = here.pc;
            }
            here.pc = caller->pc;
            here.frame = caller;
            if (!may_leave(memo, here.frame, look)) {
                return here;
            }
        }
        if (here.frame == last) {
            return here;
        }
    }
}

static inline uint32_t min_u32(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

/* verify() over frames that are left out. Returns their number. */
uint32_t sonde__memo_pass_over(const struct sonde__memo *memo, uint32_t at, uint32_t count,
                               struct sonde__memo_look *look);

/* Are the zeros behind the last frame still there? end: of the memory that may be read. */
SONDE__NO_SANITIZE static inline bool has_zeros(const struct sonde__memo *memo, uint64_t end)
{
    const struct sonde__memo_root *root = &memo->root;
    return (uint64_t)root->cell + 8 <= end && (uint64_t)root->fp_home + 8 <= end &&
           (sonde__plain_word(memo->base + root->cell) |
            sonde__plain_word(memo->base + root->fp_home)) == 0;
}

/* Is the last frame the outermost one? */
static inline bool has_root(const struct sonde__memo *memo, uint64_t end,
                            struct sonde__memo_look *look)
{
    return (memo->root.by == SONDE__MEMO_ROOT_BY_RULE ||
            (memo->root.by == SONDE__MEMO_ROOT_BY_ZEROS && has_zeros(memo, end))) &&
           may_leave(memo, &memo->frames[END - 1], look);
}

/* Follow the memo from frame `from`, whose state is the walk's, as far as the cells hold the
 * same. Puts all of these frames but the last, and that too if it is the root. Returns the last.
 * end: of the memory that may be read. has_stack: there is an output. */
static inline __attribute__((always_inline)) const struct sonde__memo_frame *
follow(const struct sonde__memo *memo, struct sonde__memo_look *look,
       struct sonde__memo_output *output, uint32_t from, uint64_t end, const bool has_stack,
       bool *ret_is_root)
{
    const struct sonde__memo_frame *outermost = &memo->frames[END - 1];
    struct position to;
    if (!has_stack) {
        to = verify(memo, from, END, look, NULL, false);
        *ret_is_root = to.frame == outermost && has_root(memo, end, look);
        return to.frame;
    }
    *ret_is_root = false;
    if (output->skip > 0) {
        uint32_t passed = sonde__memo_pass_over(memo, from, output->skip, look);
        from += passed;
        output->skip -= passed;
        if (output->skip > 0) {
            return &memo->frames[from];
        }
    }
    uint32_t room = output->inner - output->kept;
    to = verify(memo, from, min_u32(END, (uint64_t)from + room + 1), look,
                output->pcs + output->kept, true);
    output->kept = (uint32_t)(to.pcs - output->pcs);
    if (to.frame == outermost && output->kept < output->inner && has_root(memo, end, look)) {
        output->pcs[output->kept++] = to.pc;
        *ret_is_root = true;
    }
    return to.frame;
}

/* The first PROVEN frame from `from` on; END: none. */
static inline uint32_t find_proven(const struct sonde__memo *memo, uint32_t from)
{
    while (from < END && (memo->frames[from].fp_home & SONDE__MEMO_PROVEN) == 0) {
        from++;
    }
    return from;
}

/* The memo's frames have changed. has_new: some of the new ones are PROVEN. */
static inline void note_proven(struct sonde__memo *memo, bool has_new)
{
    if (has_new || memo->proven != END) {
        memo->proven = find_proven(memo, memo->first);
    }
}

/* A walk with `kept` frames put and `skip` still to leave out has followed the memo from frame
 * `from` to frame `to`. Returns the index from which the frames that it puts are INFERRED.
 * UINT32_MAX: none. */
static inline uint32_t first_inferred(const struct sonde__memo *memo, uint32_t from, uint32_t to,
                                      uint32_t kept, uint32_t skip)
{
    uint32_t proven = memo->proven != END ? find_proven(memo, from + 1) : END;
    if (proven > to) {
        return UINT32_MAX;
    }
    return kept + (proven - from > skip ? proven - from - skip : 0);
}

static inline void shift(struct sonde__memo_pass *pass, int32_t distance)
{
    struct sonde__memo_frame *frames = pass->memo->frames;
    if (distance < 0) {
        for (uint32_t i = pass->begin; i < pass->at; i++) {
            frames[(int32_t)i + distance] = frames[i];
        }
    } else {
        for (uint32_t i = pass->at; i > pass->begin; i--) {
            frames[(int32_t)i - 1 + distance] = frames[i - 1];
        }
    }
    pass->begin = (uint32_t)((int32_t)pass->begin + distance);
    pass->at = (uint32_t)((int32_t)pass->at + distance);
    pass->changed = (uint32_t)((int32_t)pass->changed + distance);
}

/* Restore fp at frame `at` from where it was last read after frame `from`. False: it was kept. */
SONDE__NO_SANITIZE static inline bool restore_fp(const struct sonde__memo *memo, uint32_t from,
                                                 uint32_t at, uint64_t *fp)
{
    for (; at > from; at--) {
        uint32_t home = cell_of(memo->frames[at].fp_home);
        if (home != 0) {
            *fp = sonde__strip_fp_tag(sonde__plain_word(memo->base + home));
            return true;
        }
    }
    return false;
}

/* Clear the tags of frames whose callers have changed. */
static inline void forget_tags(struct sonde__memo *memo, uint32_t from, uint32_t to)
{
    if (memo->tagger != 0) {
        for (; from < to; from++) {
            memo->tags[from] = 0;
        }
    }
}

/* Mark whether fp is needed at `frame`: its rule uses fp, or keeps it for one that does. */
static inline void set_need(struct sonde__memo_frame *frame, const struct sonde__memo_frame *caller)
{
    bool needs = (frame->fp_home & SONDE__MEMO_USES) != 0 ||
                 (caller != NULL && (caller->cell & SONDE__MEMO_ODD) == 0 &&
                  cell_of(caller->fp_home) == 0 && (caller->fp_home & SONDE__MEMO_NEED) != 0);
    bool must_check = needs && cell_of(frame->fp_home) != 0 && (frame->cell & SONDE__MEMO_ODD) == 0;
    frame->fp_home =
        (frame->fp_home & ~(uint32_t)SONDE__MEMO_NEED) | (needs ? SONDE__MEMO_NEED : 0);
    frame->cell =
        (frame->cell & ~(uint32_t)SONDE__MEMO_CHECK) | (must_check ? SONDE__MEMO_CHECK : 0);
}

enum sonde__memo_outcome {
    SONDE__MEMO_OPEN,    /* the last frame is not put, and needs the general step */
    SONDE__MEMO_NO_ROOM, /* the last frame is not put */
    SONDE__MEMO_AT_ROOT, /* the last frame is the outermost one, and is put */
};

/* Walk on from pass->place. to: the frame up to which the memo was followed from there; END: not
 * followed. The silent one fills no stack. */
enum sonde__memo_outcome sonde__memo_pass_on(struct sonde__memo_pass *pass, uint32_t to);
enum sonde__memo_outcome sonde__memo_pass_on_silent(struct sonde__memo_pass *pass, uint32_t to);

/* See sonde__memo_walker_end(). */
void sonde__memo_pass_finish(struct sonde__memo_pass *pass);

/* May the memo hold frames of this unloadable image? If so, adds it to the memo's list. */
bool sonde__memo_list_image(struct sonde__memo *memo, const struct sonde__image *image);

#endif
