// SPDX-License-Identifier: Apache-2.0
/* The unwinder against the shadow stack, at each instruction.
 *
 * Each instruction gets three walks: the product's loop (compiled tables, plain memory), the same
 * steps one by one through the door (which show each frame's CFA, too), and sometimes rules read in
 * place without tables. Every frame up to the outermost one must be right: return address, CFA, and
 * whether it is exact.
 *
 * Code that switches stacks (longjmp, setcontext) describes itself, from some instruction on, as
 * called by the place that it will go to. So a difference is held back while such a switch may
 * last, and dropped if the walk gave the stack that the switch then arrived at.
 *
 * A walk that ends with right frames and reports that it cannot go on is not wrong: such places
 * have a count of their own, in tests that allow them.
 *
 * A program that overwrites a return address or a saved register (libgcc does both when it installs
 * an exception's landing pad) has no true caller there any more: those instants are only counted,
 * if the walk gave the frame's new value and the program then arrived with it. */
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

/* The answer of another unwinder at the same instant. */
enum verdict { NOT_ASKED, SAME, ANOTHER };

/* A place in the code with a wrong rule: the pc of the frame whose caller the walk did not find. */
struct place {
    uint64_t pc;
    char image[96];
    uint64_t vaddr;
    unsigned count;     /* instants */
    unsigned unknown;   /* other instants, where the walk reports that it cannot go on */
    unsigned cfa_count; /* instants where only one frame's sp was wrong, and every pc right */
    char what[160];
    struct frames ours; /* at the first instant */
    unsigned wrong_at;  /* the first wrong frame */
    bool walks_differ;  /* sonde's own walks disagree: there is no excuse */
    enum verdict verdicts[2];
    int32_t copy; /* a stopped copy of the process at that instant; 0: none */
};

struct held { /* a difference that a switch may explain */
    struct frames ours;
    struct place *place;
    uint64_t instant;
    unsigned fp_at; /* the first frame whose fp differs from its fp at the call; 0: none */
};

/* The walk gives a caller another sp than it had at its call. The callee may have moved its return
 * address (libffi's ffi_call_unix64 does): its return decides. */
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
    uint64_t overwritten; /* the program changed a return address */
    uint64_t unknown;     /* the walk ended early, reported it, and gave no wrong frame */
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
    bool may_not_know; /* code without any rules: the walk may end there, and report it */
    bool lies;         /* a test of the test: falsify the walk's answer inside of a switch */
    /* Called at the first difference of a place: fills verdicts, copy. May be null. */
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

/* True if frame `wrong_at` of theirs equals ours. */
enum verdict compare_verdict(const struct place *place, const struct frames *theirs);

/* Read the lines "frame PC SP" after the line `head` of gdb's output. False: there are none. */
bool compare_read_frames(const char *text, const char *head, struct frames *ret_frames);

/* Append one line per explained place: image and vaddr. */
void compare_list(const struct compare *compare, const char *path);

/* Print figures and places. Returns the number of unexplained places; *ret_explained: explained
 * ones with a wrong pc. */
unsigned compare_report(struct compare *compare, unsigned *ret_explained);

#endif
