// SPDX-License-Identifier: Apache-2.0
#include "unwind_memo_inside.h"

#include "base_mem.h"

void sonde__unwind_memo_reset(struct sonde__memo *memo, uint64_t sp, uint64_t generation)
{
    memo->base = (sp >> PAGE_SHIFT << PAGE_SHIFT) - REACH;
    memo->generation = generation;
    memo->first = END;
    memo->image_count = 0;
    memo->is_root = false;
}

/* --- recording --- */

void sonde__memo_begin(struct sonde__recorder *rec, const struct sonde__walker *walker)
{
    const struct sonde__walk *walk = walker->walk;
    const struct sonde__memo_arrival none = {.from_sp = 0};
    struct sonde__memo *memo = walk->memo;
    uint64_t sp = walker->frame.sp;
    *rec = (struct sonde__recorder){.memo = memo, .is_still_loaded = walk->image_is_still_loaded};
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
    struct look look = {rec->is_still_loaded, rec->stands_start, rec->stands_size};
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
        frame->fp_known = restore_fp(memo, from, at, &frame->fp) || frame->fp_known;
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
        set_need(&frames[i - 1], i < END ? &frames[i] : NULL);
    }
    forget_tags(rec->memo, rec->begin, rec->changed);
}

uint32_t *sonde__unwind_memo_tags(struct sonde__memo *memo, uint32_t first, uint64_t tagger)
{
    if (memo->tagger != tagger) {
        memo->tagger = tagger;
        forget_tags(memo, 0, END);
    }
    return &memo->tags[first];
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
