// SPDX-License-Identifier: Apache-2.0
#include "unwind_memo_inside.h"

void sonde__unwind_memo_reset(struct sonde__memo *memo, uint64_t sp, uint64_t generation)
{
    memo->base = (sp >> PAGE_SHIFT << PAGE_SHIFT) - REACH;
    memo->generation = generation;
    memo->first = END;
    memo->proven = END;
    memo->image_count = 0;
    memo->root.by = SONDE__MEMO_NO_ROOT;
}

bool sonde__memo_list_image(struct sonde__memo *memo, const struct sonde__image *image)
{
    if (image->build_id.size == 0 || image->build_id_at == NULL) {
        return false;
    }
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

uint32_t *sonde__unwind_memo_tags(struct sonde__memo *memo, uint32_t first, uint64_t tagger)
{
    if (memo->tagger != tagger) {
        memo->tagger = tagger;
        forget_tags(memo, 0, END);
    }
    return &memo->tags[first];
}

void sonde__memo_pass_finish(struct sonde__memo_pass *pass)
{
    struct sonde__memo *memo = pass->memo;
    struct sonde__memo_frame *frames = memo->frames;
    uint32_t next = pass->is_root ? END : pass->place.next; /* nothing is behind the root */
    if (next > pass->at) {
        shift(pass, (int32_t)(next - pass->at));
    }
    if (next < END && !pass->is_linked) {
        frames[next].cell |= SONDE__MEMO_ODD;
        pass->changed = next + 1;
    }
    /* find where fp matters, from the outermost new arrival inward */
    for (uint32_t i = pass->changed; i > pass->begin; i--) {
        set_need(&frames[i - 1], i < END ? &frames[i] : NULL);
    }
    forget_tags(memo, pass->begin, pass->changed);
    if (next == END && (!pass->is_root || pass->is_stopped)) {
        memo->root.by = SONDE__MEMO_NO_ROOT;
    } else if (next == END && pass->root.by != SONDE__MEMO_NO_ROOT) {
        memo->root = pass->root;
    }
    memo->first = pass->begin;
    note_proven(memo, pass->has_proven);
}
