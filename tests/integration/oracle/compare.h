// SPDX-License-Identifier: Apache-2.0
/* The unwinder against the shadow stack, at one instruction after the other.
 *
 * At each one three walks are made: the product's loop (compiled tables, plain memory), the same
 * steps one by one through the door (which show each frame's CFA too), and at times rules read in
 * place without tables. Every frame up to the outermost one must be right: return address, CFA, and
 * whether it is exact.
 *
 * Code that switches stacks (longjmp, setcontext) describes itself, from some instruction on, as
 * called by the place that it is about to go to. So a difference is held back for as long as such a
 * switch takes, and dropped if the walk gave just the stack that the switch then arrived at.
 *
 * Where the walk ends with right frames and says that it cannot go on, it has not been wrong: such
 * places count for themselves, where a test expects them at all.
 *
 * A program that overwrites a return address or a saved register (libgcc does both when it installs
 * an exception's landing pad) has no true caller there any more: those instants are counted, if the
 * walk gave what the frame now holds and the program then arrived with that, and no more. */
#ifndef TEST_ORACLE_COMPARE_H
#define TEST_ORACLE_COMPARE_H

#include "shadow.h"
#include "space.h"

enum { COMPARE_FRAMES_MAX = 512, COMPARE_PLACES_MAX = 256, COMPARE_HELD_MAX = 2048 };

struct frames {
    struct shadow_frame at[COMPARE_FRAMES_MAX]; /* frame 0 first */
    unsigned count;
    uint8_t end; /* enum sonde_end_reason */
};

/* What another unwinder says at the same instant. */
enum verdict { NOT_ASKED, SAME, ANOTHER };

/* A place in the code whose rule is wrong: the pc of the frame whose caller the walk did not find.
 */
struct place {
    uint64_t pc;
    char image[96];
    uint64_t vaddr;
    unsigned count;     /* instants */
    unsigned unknown;   /* others, where the walk says that it cannot go on */
    unsigned cfa_count; /* of these: the sp of one frame alone was wrong, and every pc right */
    char what[160];
    struct frames ours; /* at the first time */
    unsigned wrong_at;  /* the first frame that is wrong */
    bool walks_differ;  /* our own walks do not agree: nobody can explain that */
    enum verdict verdicts[2];
    int32_t copy; /* a stopped copy of the process at that instant; 0: none */
};

struct held { /* a difference that a switch may account for */
    struct frames ours;
    struct place *place;
    uint64_t instant;
    unsigned fp_at; /* the first frame whose fp is not what it was at its call; 0: none */
};

/* A caller that is said to go on with another sp than it had at its call. Its callee may have moved
 * the return address (libffi's ffi_call_unix64 does): how it returns, tells. */
enum { CLAIM_PLACES_MAX = 64, CLAIMS_MAX = 8 };
struct claim {
    const struct shadow_stack *stack;
    unsigned index; /* in its frames */
    uint64_t pc, sp;
    struct {
        struct place *place;
        unsigned count;
    } at[CLAIM_PLACES_MAX];
    unsigned place_count;
};

struct image_count {
    char name[64];
    uint64_t instructions;
};

struct compare {
    struct space *space;
    struct shadow *shadow;
    uint64_t instants;
    uint64_t frames;
    uint64_t switched;    /* instants inside of a switch of stacks, as its target sees them */
    uint64_t moved;       /* a callee moved its return address, and the walk knew */
    uint64_t overwritten; /* the program has put another return address into a frame */
    uint64_t unknown;     /* instants whose walk ended early, said so, and gave no wrong frame */
    uint64_t unended;     /* the last frame was right, and no rule says that it is the last */
    uint64_t deepest;
    struct place places[COMPARE_PLACES_MAX];
    unsigned place_count;
    struct held *held;
    unsigned held_count;
    struct claim claims[CLAIMS_MAX];
    unsigned claim_count;
    struct image_count images[64];
    unsigned image_count;
    bool may_not_know; /* code that nobody's rules describe: the walk may end there, and say so */
    bool lies;         /* a test of the test: the walk's answer inside of a switch is made wrong */
    /* Asked at the first difference of a place: fills verdicts, copy. May be null. */
    void (*ask)(void *ctx, struct place *place);
    void *ask_ctx;
};

void compare_start(struct compare *compare, struct space *space, struct shadow *shadow);
/* The program is about to execute the instruction at regs->pc. */
void compare_instant(struct compare *compare, const struct sonde__regs *regs);
/* Control arrived elsewhere: shadow_return() or shadow_jump() said so. */
void compare_switched(struct compare *compare, const struct shadow_frame *arrived);
/* No more instants: what is held back counts. */
void compare_end(struct compare *compare);
void compare_done(struct compare *compare);

/* Is frame `wrong_at` of theirs what ours is? */
enum verdict compare_verdict(const struct place *place, const struct frames *theirs);

/* The lines "frame PC SP" behind the line `head` of gdb's output. False: there are none. */
bool compare_read_frames(const char *text, const char *head, struct frames *ret_frames);

/* One line a place that is explained: image and vaddr, at the end of the file. */
void compare_list(const struct compare *compare, const char *path);

/* Print figures and places. Returns how many places nobody explains; *ret_explained: the others
 * that gave a wrong pc. */
unsigned compare_report(struct compare *compare, unsigned *ret_explained);

#endif
