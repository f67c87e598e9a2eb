// SPDX-License-Identifier: Apache-2.0
/* The memo of a thread: the frames of its last stack, each with the cells that it was read from.
 *
 * A step by a plain rule is a function. Its input is the state at a frame (pc, sp, and fp where the
 * rule uses it) and two words of memory: the return address, and the saved fp if there is one. The
 * state alone determines where these words are. The result is the caller's state. So if a new walk
 * reaches a state that the memo holds, and the remembered cells hold the same values, the next
 * state is the remembered one. By induction, the stacks are equal up to the first cell that
 * differs; from there the walk goes on by the tables. All cells are known before any is read, so
 * their loads do not wait for each other: an unchanged stack costs two loads and a compare per
 * frame.
 *
 * Why this is exact:
 *
 * - A walk joins only at an equal pc, sp and, where a later rule needs it, fp. It never reads cells
 *   below the joining sp, and reads each cell only after the one before it compared equal. So it
 *   reads no address that the walk by tables would not read (a stack may have been unmapped and a
 *   shorter one mapped in its place), and none beyond the memory that the caller vouches for.
 * - The value of fp matters only if a rule further out uses it before a frame's saved fp replaces
 *   it. It is compared only there: many functions keep data in that register.
 * - A step that a scan has proven is plain if the code of both sides of the call never changes: the
 *   rule at the pc, and that the call before the return address leads to the function, are facts
 *   about that code (unwind_scans.h). The memo marks such frames PROVEN; in the stack, they and all
 *   frames further out are INFERRED.
 * - On Darwin, zeros in place of the return address and the saved fp make a frame the outermost
 * one. The memo holds where they were, and they are compared as cells are.
 * - Steps that are not plain (signal frames, expressions, frame-pointer chains, a switch of stacks,
 *   a frame record with the tag of Swift's async functions) have no cells here. The walk repeats
 *   them, and may join behind them. (The function decides whether its record has a tag, so it is
 *   the same at the same pc.)
 * - A rule is a property of the bytes of an image. An image that can be unloaded is checked once in
 *   each use (sonde__memo_image) by its records and build-id. An image without a build-id is not
 *   remembered.
 * - So a memo holds facts ("from this state, these cells lead there") that are true of any stack:
 *   longjmp, coroutines and depth limits need no special case. A memo may be dropped at any time.
 *
 * Frames are in order at the end of their array, innermost first; new inner ones are added in
 * front. The walk of a changed stack uses the rules of return addresses (unwind_memo_rules.h),
 * without tables, and without pinning a snapshot of the images.
 *
 * A frame can have a tag: a word of another module (the depot) about the stack from there outward.
 * Any change to that part clears it, so a tagger pays for new frames only.
 *
 * One thread at a time; the owner of a memo handles re-entry by a handler. Context: handler. */
#ifndef SONDE_UNWIND_MEMO_H
#define SONDE_UNWIND_MEMO_H

#include "unwind_sink.h"

#define SONDE__MEMO_BYTES  12288
#define SONDE__MEMO_FRAMES 320 /* nearly all stacks have fewer */
#define SONDE__MEMO_IMAGES 8   /* images that can be unloaded; frames of more are not remembered */

/* A frame. sp, cells and fp are distances from the memo's base. sp and cells are multiples of
 * eight, so the low bits of cells hold flags. The arrival (cell, fp_home) is the step that led
 * here from the frame before it in the array. */
struct sonde__memo_frame {
    uint64_t pc;
    uint32_t cell; /* where pc was read; flags ODD, CHECK, IMAGE */
    uint32_t sp;
    uint32_t fp_home; /* where the arrival read fp; 0: it kept fp; flags NEED, USES, PROVEN */
    uint32_t fp;      /* its value, where needed */
};

enum {
    SONDE__MEMO_ODD = 1,    /* cell: the arrival was not a plain step */
    SONDE__MEMO_CHECK = 2,  /* cell: fp_home must hold fp */
    SONDE__MEMO_IMAGE = 4,  /* cell: the image can be unloaded: check that it is still loaded */
    SONDE__MEMO_NEED = 1,   /* fp_home: a rule from here on uses this fp */
    SONDE__MEMO_USES = 2,   /* fp_home: the rule of this frame uses fp */
    SONDE__MEMO_PROVEN = 4, /* fp_home: the arrival was by a scan's rule: the frame is INFERRED */
    SONDE__MEMO_FLAGS = 7,
};

/* An image that can be unloaded, as of when its frames were remembered. */
struct sonde__memo_image {
    uint64_t start;
    uint64_t end;
    const uint8_t *eh_frame_hdr;
    const uint8_t *build_id_at;
    struct sonde__build_id build_id;
};

/* A plain rule: the CFA relative to sp or fp; the return address, and perhaps fp, at distances
 * below the CFA. Distances are multiples of eight. */
struct sonde__memo_rule {
    uint32_t flags;
    int32_t cfa;    /* from sp or fp */
    uint32_t fp_at; /* 0: fp is kept */
    uint32_t ra_at;
    uint64_t entry; /* SCAN: the function, which the call before the return address must reach */
};

enum {
    SONDE__MEMO_RULE_BY_FP = 1,
    SONDE__MEMO_RULE_END = 2,   /* the outermost frame */
    SONDE__MEMO_RULE_ZEROS = 4, /* it is the outermost one if return address and saved fp are 0 */
    SONDE__MEMO_RULE_IMAGE = 8, /* of an image that can be unloaded: valid for this use only */
    SONDE__MEMO_RULE_SCAN = 16, /* a scan has proven it (unwind_scans.h) */
    SONDE__MEMO_RULE_MADE = 32, /* of code that the program makes: not for the cache of rules */
    SONDE__MEMO_RULE_FLAGS = SONDE__MEMO_RULE_BY_FP | SONDE__MEMO_RULE_END | SONDE__MEMO_RULE_ZEROS,
};

/* What makes the last frame of a memo the outermost one. */
enum {
    SONDE__MEMO_NO_ROOT, /* it is not */
    SONDE__MEMO_ROOT_BY_RULE,
    SONDE__MEMO_ROOT_BY_ZEROS, /* the words in place of its return address and of its saved fp */
};

struct sonde__memo_root {
    uint32_t by;
    uint32_t cell, fp_home; /* of the zeros, as distances */
};

/* Is the image still loaded? Context: handler. */
typedef bool sonde__memo_is_loaded(const struct sonde__memo_image *image);

/* The least used parts come first: a stack of usual depth uses the last page only. */
struct sonde__memo {
    uint32_t tags[SONDE__MEMO_FRAMES]; /* by frame; 0: none */
    struct sonde__memo_image images[SONDE__MEMO_IMAGES];
    struct sonde__memo_frame frames[SONDE__MEMO_FRAMES]; /* from `first` on */
    uint64_t base;
    uint64_t generation; /* the snapshot of images that the memo belongs to */
    uint64_t tagger;     /* who wrote the tags; 0: there are none */
    uint32_t first;
    uint32_t proven; /* the first PROVEN frame; FRAMES: none */
    uint32_t image_count;
    struct sonde__memo_root root;
    bool is_busy; /* for the owner: a walk is using it */
    uint8_t here; /* for the owner, who writes it once to have the page mapped */
};
_Static_assert(sizeof(struct sonde__memo) <= SONDE__MEMO_BYTES, "a memo fits its slot");

/* A generation that no snapshot has. */
#define SONDE__MEMO_NO_GENERATION UINT64_MAX

/* Forget all frames. sp: that of the next stack. */
void sonde__unwind_memo_reset(struct sonde__memo *memo, uint64_t sp, uint64_t generation);

/* The start of a walk. It may read [sp, plain_end), and further out up to what `reach` returns. */
struct sonde__memo_start {
    uint64_t pc; /* a return address */
    uint64_t sp;
    uint64_t fp;
    uint64_t plain_end;
    uint32_t skip;
    sonde__memo_is_loaded *is_still_loaded;
    /* Find the rule for a return address. False: none that a memo can hold. */
    bool (*find_rule)(void *ctx, uint64_t pc, struct sonde__memo_rule *ret_rule);
    /* The cache that find_rule takes rules of scans from; null: none. */
    const struct sonde__scans *scans;
    /* Make [sp, to) or more readable as far as possible. Returns the end of it. */
    uint64_t (*reach)(void *ctx, uint64_t sp, uint64_t to);
    void *ctx;
};

/* Walk by the memo where the stack is unchanged, and by remembered rules elsewhere. Fills `stack`
 * as the general walk would, and updates the memo; an unchanged stack writes nothing to it. False:
 * a frame needs the general walk, which starts again. The memo keeps what was found so far. */
bool sonde__unwind_memo_walk(struct sonde__memo *memo, const struct sonde__memo_start *start,
                             struct sonde_stack *stack);

/* The same, always to the root, and faster, because it fills no stack: the stack is frames
 * [*ret_first, FRAMES) of the memo. Ignores start->skip. */
bool sonde__unwind_memo_renew(struct sonde__memo *memo, const struct sonde__memo_start *start,
                              uint32_t *ret_first);

/* The rule of code that keeps a frame record for each of its calls, and is in no image. */
static inline struct sonde__memo_rule sonde__unwind_memo_record_rule(void)
{
    return (struct sonde__memo_rule){.flags = SONDE__MEMO_RULE_BY_FP | SONDE__MEMO_RULE_MADE,
                                     .cfa = 16,
                                     .fp_at = 16,
                                     .ra_at = 8};
}

/* Convert a rule of a table. False: a memo cannot hold it. */
bool sonde__unwind_memo_rule(const struct sonde__rule *rule, struct sonde__memo_rule *ret_rule);
/* The same for a call's address in an image that has __unwind_info, whose rules are right there. */
bool sonde__unwind_memo_encoded_rule(const struct sonde__image *image, uint64_t vaddr,
                                     struct sonde__memo_rule *ret_rule);

/* The same for what a scan has proven about a pc, a return address in code that never changes
 * and has no call frame information. False: nothing is proven, or a memo cannot hold it. */
bool sonde__unwind_memo_scan_rule(const struct sonde__scans *scans, uint64_t pc,
                                  struct sonde__memo_rule *ret_rule);

/* The tags of the frames from `first` on, in the order of the stack, to read and write. tagger:
 * a unique number of the caller, not 0. Clears the tags of another tagger. */
uint32_t *sonde__unwind_memo_tags(struct sonde__memo *memo, uint32_t first, uint64_t tagger);

/* --- a general walk that uses and renews a memo --- */

/* Where a walk is, and how it arrived. sp is a distance from the memo's base, fp an address. */
struct sonde__memo_place {
    uint64_t pc, sp, fp;
    uint32_t cell; /* of the arrival, as in a frame */
    uint32_t fp_home;
    uint32_t next; /* frames of the memo from here on lie outward of sp */
};

/* The image last checked in this use. */
struct sonde__memo_look {
    sonde__memo_is_loaded *is_still_loaded;
    uint64_t start; /* start and size of a range whose image is still loaded */
    uint64_t size;
};

/* Where a walk puts a stack. */
struct sonde__memo_output {
    uint64_t *pcs;
    uint32_t inner; /* room in pcs, in frames */
    uint32_t skip;  /* frames still to leave out */
    uint32_t kept;
    uint32_t inferred; /* frames from here on are INFERRED; UINT32_MAX: none */
};

/* A walk by the memo and by plain rules. frames[begin, at) of the memo belong to this walk;
 * frames[place.next, FRAMES) are left from the previous stack. */
struct sonde__memo_pass {
    struct sonde__memo *memo;
    const struct sonde__memo_start *start;
    uint64_t end; /* of the memory that may be read; a distance from the memo's base */
    struct sonde__memo_output output;
    struct sonde__memo_look look;
    struct sonde__memo_place place;
    uint32_t begin, at;
    uint32_t changed;             /* one past the outermost frame with a new arrival */
    struct sonde__memo_root root; /* found by this walk itself */
    bool has_begun;               /* the memo holds frames of this walk */
    bool has_proven;              /* some of them are PROVEN */
    bool is_changed;
    bool is_linked;  /* frames[place.next] is the remembered caller of frames[at - 1] */
    bool is_root;    /* the last frame is the outermost one */
    bool is_stopped; /* no room, or sp did not grow: the pass adds and follows nothing more */
};

/* A pass for a walker, used between the frames that need the general step. */
struct sonde__memo_walker {
    struct sonde__memo_pass pass;
    struct sonde__memo_start start;
    struct sonde__walker *walker;
    uint64_t plain_start;
};

/* Begin. The walk must have a memo. */
void sonde__memo_walker_begin(struct sonde__memo_walker *with, struct sonde__walker *walker);

/* Put frames as far as the memo or plain rules lead. The walker is then at the last of them,
 * which is not put yet. True: the walk ended at the root, which is put. */
bool sonde__memo_walker_run(struct sonde__memo_walker *with, struct sonde__sink *sink);

/* End: store the walk in the memo. Older frames further out stay if they may still be valid. */
void sonde__memo_walker_end(struct sonde__memo_walker *with);

#endif
