// SPDX-License-Identifier: Apache-2.0
/* The memo of a thread: the frames of its last stack, each with the cells that it was read from.
 *
 * A step by a plain rule is a function: from the state at a frame (pc, sp, and fp where the rule
 * uses it) and two words of memory (the return address, and the saved fp where there is one) to the
 * state at its caller. Which words these are follows from the state alone. So if a new walk comes
 * to a state that the memo holds, the next state can differ from the remembered one only if one of
 * the remembered cells holds something else; if they hold the same, the next state is the
 * remembered one, and so on outward: by induction the stacks are equal up to the first cell that
 * differs, and the walk goes on from there by the tables. The cells of all frames are known before
 * any of them is read: their loads do not wait for each other, and a stack that has not changed
 * costs two loads and a compare for each frame.
 *
 * What makes that exact, and not a good guess:
 *
 * - A walk joins only at an equal pc, sp and, where a later rule needs it, fp. Nothing of the memo
 *   is believed because of where it was; cells below the joining sp are never looked at, and each
 *   cell is read only after the one before it was found equal. So no address is read that the walk
 *   by tables would not have read (a stack may have been unmapped, and another, shorter one lie
 *   there now), and none beyond the memory that the walk's caller vouches for.
 * - The value of fp matters only where a rule outward uses it before some frame's saved one
 *   replaces it. Only there it is compared (many functions keep data in that register).
 * - All that is no plain step (signal frames, expressions, frame-pointer chains, a jump to another
 *   stack, a frame record with the tag of Swift's async functions) has no cells here: it is walked
 *   again, and the walk may join behind it. (Whether a record has a tag is its function's doing, so
 *   the same at the same pc.)
 * - A rule is a property of the bytes of an image. Images that can be unloaded are asked for once
 * in each use (sonde__memo_image): another image in its place is told by its records and build-id.
 *   An image without a build-id is not remembered.
 * - So all that is in a memo are facts ("from this state, these cells lead there"), whichever stack
 *   is walked now: longjmp, coroutines and limits of depth need no care. A memo may be dropped at
 *   any time.
 *
 * Frames lie in order at the end of their array, innermost first: new inner ones are added in
 * front. A stack that has changed is walked by the rules of return addresses (unwind_memo_rules.h),
 * without tables, and without holding on to a snapshot of the images.
 *
 * A frame can have a tag: a word of somebody's (the depot's) about the stack from there outward. It
 * is forgotten when anything of that has changed, so whoever tags pays for new frames only.
 *
 * One thread at a time; whoever hands out memos sees to re-entry by a handler. Context: handler. */
#ifndef SONDE_UNWIND_MEMO_H
#define SONDE_UNWIND_MEMO_H

#include "unwind_sink.h"

#define SONDE__MEMO_BYTES  12288
#define SONDE__MEMO_FRAMES 320 /* as many as a stack has nearly always */
#define SONDE__MEMO_IMAGES 8   /* that can be unloaded; frames of further ones are walked */

/* A frame. sp, cells and fp are distances from the memo's base; sp and cells are multiples of
 * eight, so the low bits of cells are free for flags. The arrival (cell, fp_home) is the step that
 * led here from the frame before it in the array. */
struct sonde__memo_frame {
    uint64_t pc;
    uint32_t cell; /* where pc was read; ODD, CHECK, IMAGE */
    uint32_t sp;
    uint32_t fp_home; /* where the arrival read fp; 0: it kept it; NEED, USES */
    uint32_t fp;      /* its value, where it is needed */
};

enum {
    SONDE__MEMO_ODD = 1,   /* cell: arrived here by something else than a plain step */
    SONDE__MEMO_CHECK = 2, /* cell: fp_home must hold fp */
    SONDE__MEMO_IMAGE = 4, /* cell: its image can be unloaded: see that it stands */
    SONDE__MEMO_NEED = 1,  /* fp_home: a rule from here on uses this fp */
    SONDE__MEMO_USES = 2,  /* fp_home: the rule of this frame does */
    SONDE__MEMO_FLAGS = 7,
};

/* An image that can be unloaded, as it was when frames of it were remembered. */
struct sonde__memo_image {
    uint64_t start;
    uint64_t end;
    const uint8_t *eh_frame_hdr;
    const uint8_t *build_id_at;
    struct sonde__build_id build_id;
};

/* A plain rule: the CFA from sp or fp, the return address and perhaps fp so far below it. Distances
 * are multiples of eight. */
struct sonde__memo_rule {
    uint32_t flags;
    int32_t cfa;    /* from sp or fp */
    uint32_t fp_at; /* 0: fp is kept */
    uint32_t ra_at;
};

enum {
    SONDE__MEMO_RULE_BY_FP = 1,
    SONDE__MEMO_RULE_END = 2,   /* the outermost frame */
    SONDE__MEMO_RULE_IMAGE = 4, /* of an image that can be unloaded, so of this use only */
    SONDE__MEMO_RULE_FLAGS = SONDE__MEMO_RULE_BY_FP | SONDE__MEMO_RULE_END,
};

/* Is it still there? Context: handler. */
typedef bool sonde__memo_is_loaded(const struct sonde__memo_image *image);

/* In order of how rarely a part is touched: all that a stack of usual depth needs lies in the last
 * page. */
struct sonde__memo {
    uint32_t tags[SONDE__MEMO_FRAMES]; /* by frame; 0: none */
    struct sonde__memo_image images[SONDE__MEMO_IMAGES];
    struct sonde__memo_frame frames[SONDE__MEMO_FRAMES]; /* from `first` on */
    uint64_t base;
    uint64_t generation; /* the snapshot of images that it belongs to */
    uint64_t tagger;     /* whose tags these are; 0: nobody's, they are not kept */
    uint32_t first;
    uint32_t image_count;
    bool is_root; /* the last frame is the outermost: its rule says so */
    bool is_busy; /* for the owner: a walk is using it */
    uint8_t here; /* for the owner: written once to have the page */
};
_Static_assert(sizeof(struct sonde__memo) <= SONDE__MEMO_BYTES, "a memo fits its slot");

/* A generation that no snapshot has. */
#define SONDE__MEMO_NO_GENERATION UINT64_MAX

/* Forget all frames. sp: of the stack that comes next. */
void sonde__unwind_memo_reset(struct sonde__memo *memo, uint64_t sp, uint64_t generation);

/* Where a walk starts; what it may read by plain loads is [sp, plain_end), and as far outward as
 * `reach` says when it has come to that. */
struct sonde__memo_start {
    uint64_t pc; /* a return address */
    uint64_t sp;
    uint64_t fp;
    uint64_t plain_end;
    uint32_t skip;
    sonde__memo_is_loaded *is_still_loaded;
    /* The rule for a return address in an image that is never unloaded. False: there is none that a
     * memo can hold. */
    bool (*find_rule)(void *ctx, uint64_t pc, struct sonde__memo_rule *ret_rule);
    /* As much as can be had of [sp, to), perhaps more: returns its end. */
    uint64_t (*reach)(void *ctx, uint64_t sp, uint64_t to);
    void *ctx;
};

/* The stack from the memo as far as it holds, and by remembered rules where it has changed; fills
 * `stack` as the walk would, and renews the memo. False: there is something in it that is left to
 * the walk, which begins anew (the memo holds what was found so far). A stack that has not changed
 * is read only. */
bool sonde__unwind_memo_walk(struct sonde__memo *memo, const struct sonde__memo_start *start,
                             struct sonde_stack *stack);

/* The same without a stack to fill: to the root, which costs less, for somebody who needs no more
 * than what is in the memo. The frames [*ret_first, FRAMES) of it are the stack; start->skip is not
 * looked at. */
bool sonde__unwind_memo_renew(struct sonde__memo *memo, const struct sonde__memo_start *start,
                              uint32_t *ret_first);

/* A rule of a table as a memo holds it. False: it cannot. */
bool sonde__unwind_memo_rule(const struct sonde__rule *rule, struct sonde__memo_rule *ret_rule);

/* The tags of the frames from `first` on, to read and to write, in the order of the stack. tagger:
 * who asks (a number that nobody else has or had, not 0); other tags than its own are forgotten. */
uint32_t *sonde__unwind_memo_tags(struct sonde__memo *memo, uint32_t first, uint64_t tagger);

/* --- a general walk that uses and renews a memo --- */

/* Where a walk is, and how it came there. sp is a distance from the memo's base, fp an address. */
struct sonde__memo_place {
    uint64_t pc, sp, fp;
    uint32_t cell; /* of the arrival, as in a frame */
    uint32_t fp_home;
    uint32_t next; /* frames of the memo from here on lie outward of sp */
};

/* What is looked at once in each use. */
struct sonde__memo_look {
    sonde__memo_is_loaded *is_still_loaded;
    uint64_t start; /* addresses whose image is still there */
    uint64_t size;
};

/* A walk by the memo and by plain rules. What of it the memo holds is frames[begin, at); what is
 * left of the stack before is frames[place.next, FRAMES). */
struct sonde__memo_pass {
    struct sonde__memo *memo;
    const struct sonde__memo_start *start;
    uint64_t *pcs; /* of the stack to fill */
    uint64_t end;  /* of what may be read, from the memo's base */
    struct sonde__memo_look look;
    struct sonde__memo_place place;
    uint32_t inner; /* frames that there is room for */
    uint32_t skip;  /* frames still to leave out */
    uint32_t kept;
    uint32_t begin, at;
    uint32_t changed; /* one past the outermost frame with a new arrival */
    bool has_begun;   /* the memo holds frames of this walk */
    bool is_changed;
    bool is_linked;  /* frames[place.next] is the caller that frames[at - 1] had before */
    bool is_root;    /* the last frame is the outermost one */
    bool is_stopped; /* no room, or the stack went back: nothing is added, nothing followed */
};

/* The same for a walker, from one frame that needs more thought to the next. */
struct sonde__memo_walker {
    struct sonde__memo_pass pass;
    struct sonde__memo_start start;
    struct sonde__walker *walker;
    uint64_t plain_start;
};

/* Begin; the walk has a memo. */
void sonde__memo_walker_begin(struct sonde__memo_walker *with, struct sonde__walker *walker);

/* Put the frames that the memo knows and those that plain rules lead over. The walker then stands
 * at the last of them, which is not put yet. True: it was the root, and is put; the walk has ended.
 */
bool sonde__memo_walker_run(struct sonde__memo_walker *with, struct sonde__sink *sink);

/* The walk has ended: the memo is what it found, and behind it what may still be of use. */
void sonde__memo_walker_end(struct sonde__memo_walker *with);

#endif
