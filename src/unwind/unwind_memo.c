// SPDX-License-Identifier: Apache-2.0
#include "unwind_memo.h"

#include "base_mem.h"

#define UNROLL _Pragma("GCC unroll 4")

enum {
    END = SONDE__MEMO_FRAMES,
    GROUP = 4,        /* frames compared at once */
    PAGE_SHIFT = 12,  /* the smallest page */
    ROOM_MIN = 8,     /* frames of room made at once in front */
    DROP_FRAMES = 32, /* outermost ones dropped at once when there is no more room */
};

/* Distances are 32 bits: this much below the first sp, and as much above. */
#define REACH ((uint64_t)1 << 31)

void sonde__unwind_memo_reset(struct sonde__memo *memo, uint64_t sp, uint64_t generation)
{
    memo->base = (sp >> PAGE_SHIFT << PAGE_SHIFT) - REACH;
    memo->generation = generation;
    memo->first = END;
    memo->image_count = 0;
    memo->is_root = false;
}

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

/* What is seen once in each use. */
struct look {
    sonde__memo_stands *stands;
    uint64_t start; /* addresses whose image stands */
    uint64_t size;
};

static __attribute__((noinline)) bool look_at_image(const struct sonde__memo *memo, uint64_t call,
                                                    struct look *look)
{
    for (uint32_t i = 0; i < memo->image_count; i++) {
        const struct sonde__memo_image *image = &memo->images[i];
        if (call >= image->start && call < image->end) {
            look->start = image->start;
            look->size = image->end - image->start;
            return look->stands != NULL && look->stands(image);
        }
    }
    return false;
}

/* Does the image of a frame stand, so that its rule is the remembered one? */
static inline bool may_leave(const struct sonde__memo *memo, const struct sonde__memo_frame *frame,
                             struct look *look)
{
    if ((frame->cell & SONDE__MEMO_IMAGE) == 0 || frame->pc - 1 - look->start < look->size) {
        return true;
    }
    if (!look_at_image(memo, frame->pc - 1, look)) {
        look->size = 0;
        return false;
    }
    return true;
}

static inline uint64_t pac_mask(unsigned arch)
{
    return arch == SONDE__ARCH_X86_64 ? UINT64_MAX : sonde__arch_strip_pac(arch, UINT64_MAX);
}

/* Does the cell from which the arrival at `caller` read fp hold the same? */
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

/* From frame `at`, whose state is the walk's, outward to frame `end` - 1 at most. Returns the frame
 * up to which the state is proven; the pcs of those before it are written to `pcs`, if so wanted.
 */
SONDE__NO_SANITIZE static inline __attribute__((always_inline)) uint32_t
verify(const struct sonde__memo *memo, uint32_t at, uint32_t end, struct look *look, uint64_t *pcs,
       const bool is_wanted)
{
    const uint64_t mask = pac_mask(SONDE__ARCH_HOST);
    const uint64_t base = memo->base;
    const struct sonde__memo_frame *frame = &memo->frames[at];
    const struct sonde__memo_frame *last = &memo->frames[end - 1];
    uint64_t pc = frame->pc;
    if (!may_leave(memo, frame, look)) {
        return at;
    }
    for (;;) {
        /* nearly all frames: arrived by one cell, image not to be looked at */
        while (last - frame >= GROUP) {
            unsigned i = 0;
            UNROLL for (; i < GROUP; i++)
            {
                const struct sonde__memo_frame *caller = &frame[i + 1];
                uint64_t cell = caller->cell;
                uint64_t caller_pc = caller->pc;
                if (__builtin_expect((cell & SONDE__MEMO_FLAGS) != 0, 0) ||
                    __builtin_expect((sonde__plain_word(base + cell) & mask) != caller_pc, 0)) {
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
            if (i < GROUP) {
                break;
            }
        }
        /* others, as many as there are together */
        for (bool is_special = true; is_special || last - frame < GROUP;) {
            const struct sonde__memo_frame *caller = frame + 1;
            if (frame == last) {
                return at_index(memo, frame);
            }
            uint32_t cell = caller->cell;
            is_special = (cell & SONDE__MEMO_FLAGS) != 0;
            if (((cell & SONDE__MEMO_CHECK) != 0 && !has_same_fp(base, caller)) ||
                (cell & SONDE__MEMO_ODD) != 0 ||
                (sonde__plain_word(base + cell_of(cell)) & mask) != caller->pc) {
                return at_index(memo, frame);
            }
            if (is_wanted) {
                *pcs++ = pc;
            }
            pc = caller->pc;
            frame = caller;
            if (!may_leave(memo, frame, look)) {
                return at_index(memo, frame);
            }
        }
    }
}

static uint32_t verify_silent(const struct sonde__memo *memo, uint32_t at, uint32_t end,
                              struct look *look)
{
    return verify(memo, at, end, look, NULL, false);
}

static inline uint32_t min_u32(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

/* how[0, count) = found. Words overlap at the end: no loop over what remains. */
static inline void fill_how(uint8_t *how, uint64_t count, uint8_t found)
{
    struct word {
        uint64_t value;
    } __attribute__((packed, may_alias));
    const uint64_t words = 0x0101010101010101u * found;
    if (count >= 8) {
        uint8_t *end = how + count - 8;
        for (; how < end; how += 8) {
            ((struct word *)(void *)how)->value = words;
        }
        ((struct word *)(void *)end)->value = words;
        return;
    }
    while (count-- > 0) {
        *how++ = found;
    }
}

bool sonde__unwind_memo_repeat(const struct sonde__memo *memo,
                               const struct sonde__memo_start *start, struct sonde_stack *stack)
{
    uint64_t offset = start->sp - memo->base;
    uint32_t outer = stack->outer < stack->capacity ? stack->outer : 0;
    uint32_t inner = stack->capacity - outer;
    uint32_t at = memo->first;
    struct look look = {.stands = start->stands};
    while (at < END && memo->frames[at].sp < offset) {
        at++;
    }
    if (at == END || memo->frames[at].sp != offset || memo->frames[at].pc != start->pc ||
        !has_fp(memo, &memo->frames[at], sonde__strip_fp_tag(start->fp), true) ||
        cells_end(memo) > start->plain_end) {
        return false;
    }
    if (start->skip > 0) {
        uint32_t from = at;
        if (start->skip >= END - at) {
            return false;
        }
        at = verify_silent(memo, at, at + start->skip + 1, &look);
        if (at - from != start->skip) {
            return false;
        }
    }
    uint32_t end =
        verify(memo, at, min_u32(END, (uint64_t)at + inner + 1), &look, stack->pcs, true);
    uint32_t count = end - at;
    const struct sonde__memo_frame *last = &memo->frames[end];
    if (count == inner) {
        if (outer != 0) {
            return false;
        }
        stack->end = SONDE_END_DEPTH;
    } else if (end == END - 1 && memo->is_root && may_leave(memo, last, &look)) {
        stack->pcs[count++] = last->pc;
        stack->end = SONDE_END_ROOT;
    } else {
        return false;
    }
    sonde__sink_forget_async(stack);
    fill_how(stack->how, count, SONDE_FOUND_CFI);
    if (start->skip == 0) {
        stack->how[0] = SONDE_FOUND_REGISTERS;
    }
    stack->end_at = last->pc;
    stack->count = count;
    stack->lost_at = count;
    stack->lost_count = 0;
    return true;
}

/* --- recording --- */

void sonde__memo_begin(struct sonde__recorder *rec, const struct sonde__walker *walker)
{
    const struct sonde__walk *walk = walker->walk;
    const struct sonde__memo_arrival none = {.from_sp = 0};
    struct sonde__memo *memo = walk->memo;
    uint64_t sp = walker->frame.sp;
    *rec = (struct sonde__recorder){.memo = memo, .stands = walk->image_stands};
    if (memo == NULL) {
        return;
    }
    /* far from where it was, or more than the caller vouches for: begin anew */
    if (sp - memo->base >= 2 * REACH ||
        (memo->first < END && cells_end(memo) > walk->memory.plain_end)) {
        sonde__unwind_memo_reset(memo, sp, memo->generation);
    }
    rec->begin = rec->at = rec->next = rec->changed = memo->first;
    (void)sonde__memo_arrive(rec, &walker->frame, &none);
}

/* Move the frames of this walk by `distance`. */
static void shift(struct sonde__recorder *rec, int32_t distance)
{
    struct sonde__memo_frame *frames = rec->memo->frames;
    uint32_t count = rec->at - rec->begin;
    if (distance < 0) {
        for (uint32_t i = rec->begin; i < rec->begin + count; i++) {
            frames[(int32_t)i + distance] = frames[i];
        }
    } else {
        for (uint32_t i = rec->at; i > rec->begin; i--) {
            frames[(int32_t)i - 1 + distance] = frames[i - 1];
        }
    }
    rec->begin = (uint32_t)((int32_t)rec->begin + distance);
    rec->at = (uint32_t)((int32_t)rec->at + distance);
    rec->changed = (uint32_t)((int32_t)rec->changed + distance);
}

static void close_gap(struct sonde__recorder *rec)
{
    if (rec->next > rec->at) {
        shift(rec, (int32_t)(rec->next - rec->at));
    }
}

/* Room for one frame between those of this walk and those of the stack before. */
static bool make_room(struct sonde__recorder *rec)
{
    struct sonde__memo *memo = rec->memo;
    if (rec->begin > 0) {
        uint32_t count = rec->at - rec->begin;
        uint32_t room = count > ROOM_MIN ? count : ROOM_MIN;
        shift(rec, -(int32_t)min_u32(room, rec->begin));
        return true;
    }
    if (rec->next == END) {
        return false; /* the innermost frames stay */
    }
    uint32_t drop = min_u32(DROP_FRAMES, END - rec->next);
    for (uint32_t i = END - 1; i >= rec->next + drop; i--) {
        memo->frames[i] = memo->frames[i - drop];
    }
    rec->next += drop;
    memo->is_root = false;
    return true;
}

/* The arrival of a frame, its flags for leaving kept. */
static inline void set_arrival(struct sonde__memo_frame *to, const struct sonde__memo *memo,
                               const struct sonde__frame *frame,
                               const struct sonde__memo_arrival *arrival, bool is_plain)
{
    uint64_t base = memo->base;
    to->cell = (is_plain ? (uint32_t)(arrival->cell - base) : SONDE__MEMO_ODD) |
               (to->cell & SONDE__MEMO_IMAGE);
    to->sp = (uint32_t)(frame->sp - base);
    to->fp_home = (is_plain && arrival->fp_home != 0 ? (uint32_t)(arrival->fp_home - base) : 0) |
                  (to->fp_home & (SONDE__MEMO_NEED | SONDE__MEMO_USES));
    to->fp = (uint32_t)(frame->fp - base);
}

/* A cell of the frame that was left: in it, and aligned. */
static inline bool is_inside(uint64_t cell, uint64_t from_sp, uint64_t sp)
{
    return cell >= from_sp && sp - cell >= 8 && sp >= cell && (cell & 7) == 0;
}

bool sonde__memo_arrive(struct sonde__recorder *rec, const struct sonde__frame *frame,
                        const struct sonde__memo_arrival *arrival)
{
    struct sonde__memo *memo = rec->memo;
    uint64_t offset = frame->sp - memo->base;
    bool was_here = rec->is_here;
    bool is_plain =
        arrival->is_plain && was_here && is_inside(arrival->cell, arrival->from_sp, frame->sp) &&
        (arrival->fp_home == 0 || is_inside(arrival->fp_home, arrival->from_sp, frame->sp));
    rec->is_here = false;
    rec->is_linked = false;
    if (rec->is_stopped || frame->exact) {
        return false;
    }
    if (offset >= 2 * REACH || (offset & 7) != 0 ||
        (rec->at > rec->begin && offset <= memo->frames[rec->at - 1].sp)) {
        rec->is_stopped = true;
        return false;
    }
    while (rec->next < END && memo->frames[rec->next].sp < offset) {
        rec->next++;
    }
    if (rec->next < END && memo->frames[rec->next].sp == offset) {
        struct sonde__memo_frame *known = &memo->frames[rec->next];
        if (known->pc == frame->pc && has_fp(memo, known, frame->fp, frame->fp_known)) {
            close_gap(rec);
            set_arrival(known, memo, frame, arrival, is_plain);
            rec->changed = rec->next + 1;
            rec->is_joined = true;
            return true;
        }
        rec->next++;
    }
    if (rec->at == rec->next && !make_room(rec)) {
        rec->is_stopped = true;
        return false;
    }
    struct sonde__memo_frame *fresh = &memo->frames[rec->at++];
    *fresh = (struct sonde__memo_frame){.pc = frame->pc};
    set_arrival(fresh, memo, frame, arrival, is_plain);
    rec->changed = rec->at;
    rec->is_here = true;
    return false;
}

/* The number of an image in the memo's list, where it is put if it is new. False: no room. */
static bool list_image(struct sonde__memo *memo, const struct sonde__image *image)
{
    for (uint32_t i = 0; i < memo->image_count; i++) {
        if (memo->images[i].start == image->start && memo->images[i].end == image->end) {
            return memo->images[i].build_id_at == image->build_id_at;
        }
    }
    if (memo->image_count == SONDE__MEMO_IMAGES) {
        return false;
    }
    memo->images[memo->image_count++] = (struct sonde__memo_image){
        .start = image->start,
        .end = image->end,
        .eh_frame_hdr = image->cfi.eh_frame_hdr,
        .build_id_at = image->build_id_at,
        .build_id = image->build_id,
    };
    return true;
}

void sonde__memo_set_image(struct sonde__recorder *rec, const struct sonde__image *image)
{
    rec->image = image;
    rec->may_record = false;
    if (image == NULL) {
        return;
    }
    rec->is_permanent = image->is_permanent;
    if (rec->is_permanent) {
        rec->may_record = true;
    } else if (image->build_id.size != 0 && image->build_id_at != NULL &&
               list_image(rec->memo, image)) {
        rec->may_record = true;
        rec->stands_start = image->start; /* the walker has just found it */
        rec->stands_size = image->end - image->start;
    }
}

/* The walker's fp at frame `at`, from where it was last read behind frame `from`. */
SONDE__NO_SANITIZE static void restore_fp(const struct sonde__memo *memo, uint32_t from,
                                          uint32_t at, struct sonde__frame *frame)
{
    for (; at > from; at--) {
        uint32_t home = cell_of(memo->frames[at].fp_home);
        if (home != 0) {
            frame->fp = sonde__strip_fp_tag(sonde__plain_word(memo->base + home));
            frame->fp_known = true;
            return;
        }
    }
}

/* Put frames [from, to) of the memo, whose pcs stand in the stack already. */
static void put_verified(struct sonde__sink *sink, const struct sonde__walker *walker,
                         uint32_t count)
{
    uint8_t *how = sink->stack->how + sink->kept;
    if (count == 0) {
        return;
    }
    fill_how(how, count, SONDE_FOUND_CFI);
    how[0] = walker->frame.found;
    sink->kept += count;
    sink->last = (uint32_t)(sink->kept - 1);
}

bool sonde__memo_follow(struct sonde__recorder *rec, struct sonde__walker *walker,
                        struct sonde__sink *sink)
{
    const struct sonde__memo *memo = rec->memo;
    struct look look = {rec->stands, rec->stands_start, rec->stands_size};
    uint32_t from = rec->next;
    uint32_t at = from;
    bool is_end = false;
    if (sink->skip > 0) {
        at = verify_silent(memo, at, min_u32(END, (uint64_t)at + sink->skip + 1), &look);
        sink->skip -= at - from;
        sink->last = at != from ? UINT32_MAX : sink->last;
    }
    if (sink->skip == 0 && sink->kept < sink->inner) {
        uint32_t begin = at;
        uint64_t room = sink->inner - sink->kept;
        at = verify(memo, at, min_u32(END, begin + room + 1), &look, sink->stack->pcs + sink->kept,
                    true);
        if (begin != from) {
            walker->frame.found = SONDE_FOUND_CFI;
        }
        put_verified(sink, walker, at - begin);
        is_end = at == END - 1 && memo->is_root && at - begin < room &&
                 may_leave(memo, &memo->frames[at], &look);
    }
    rec->stands_start = look.start;
    rec->stands_size = look.size;
    rec->is_joined = false;
    rec->is_linked = true;
    rec->is_here = true;
    rec->at = rec->next = at + 1;
    if (at != from) {
        struct sonde__frame *frame = &walker->frame;
        restore_fp(memo, from, at, frame);
        frame->pc = memo->frames[at].pc;
        frame->sp = memo->base + memo->frames[at].sp;
        frame->lr_known = false;
        frame->found = SONDE_FOUND_CFI;
    }
    if (is_end) {
        (void)sonde__sink_put(sink, &walker->frame);
        (void)sonde__step_end(walker, SONDE_END_ROOT, walker->frame.pc);
        rec->is_root = true;
    }
    return is_end;
}

/* Which values of fp matter: from the outermost new arrival inward. */
static void set_needs(struct sonde__recorder *rec)
{
    struct sonde__memo_frame *frames = rec->memo->frames;
    for (uint32_t i = rec->changed; i > rec->begin; i--) {
        struct sonde__memo_frame *frame = &frames[i - 1];
        bool needs = (frame->fp_home & SONDE__MEMO_USES) != 0;
        if (!needs && i < END) {
            const struct sonde__memo_frame *caller = &frames[i];
            needs = (caller->cell & SONDE__MEMO_ODD) == 0 && cell_of(caller->fp_home) == 0 &&
                    (caller->fp_home & SONDE__MEMO_NEED) != 0;
        }
        bool must_check =
            needs && cell_of(frame->fp_home) != 0 && (frame->cell & SONDE__MEMO_ODD) == 0;
        frame->fp_home =
            (frame->fp_home & ~(uint32_t)SONDE__MEMO_NEED) | (needs ? SONDE__MEMO_NEED : 0);
        frame->cell =
            (frame->cell & ~(uint32_t)SONDE__MEMO_CHECK) | (must_check ? SONDE__MEMO_CHECK : 0);
    }
}

void sonde__memo_finish(struct sonde__recorder *rec)
{
    struct sonde__memo *memo = rec->memo;
    if (rec->is_root) {
        rec->next = END; /* there is nothing behind it */
    }
    close_gap(rec);
    if (rec->next < END && !rec->is_joined && !rec->is_linked) {
        struct sonde__memo_frame *behind = &memo->frames[rec->next];
        behind->cell |= SONDE__MEMO_ODD;
        rec->changed = rec->next + 1;
    }
    set_needs(rec);
    memo->is_root = rec->next < END ? memo->is_root : rec->is_root;
    memo->first = rec->begin;
}
