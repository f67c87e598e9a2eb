// SPDX-License-Identifier: Apache-2.0
#include "compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image_cfi.h"
#include "test.h"
#include "unwind_step.h"

enum {
    HELD_INSTANTS = 1500, /* no switch of stacks takes longer than that */
    IN_PLACE_EVERY = 32,
};

void compare_start(struct compare *compare, struct space *space, struct shadow *shadow)
{
    bool lies = compare->lies;
    bool may_not_know = compare->may_not_know;
    memset(compare, 0, sizeof *compare);
    compare->lies = lies;
    compare->may_not_know = may_not_know;
    compare->space = space;
    compare->shadow = shadow;
    compare->held = malloc(COMPARE_HELD_MAX * sizeof *compare->held);
    CHECK(compare->held != NULL);
}

void compare_done(struct compare *compare)
{
    free(compare->held);
}

static struct sonde__walk walk_of(struct compare *compare, const struct sonde__regs *regs,
                                  bool plain)
{
    struct space *space = compare->space;
    struct sonde__walk walk = {.images = &space->images.set,
                               .regs = *regs,
                               .memory = {.read = space_door, .ctx = space},
                               .first_exact = true};
    if (plain && space->bytes != space->buffer) {
        walk.memory.plain_start = space->start;
        walk.memory.plain_end = space->end;
    }
    return walk;
}

static void put(struct frames *frames, const struct sonde__frame *frame)
{
    if (frames->count < COMPARE_FRAMES_MAX) {
        frames->at[frames->count++] = (struct shadow_frame){
            frame->pc, frame->sp, frame->fp_known ? frame->fp : 0, frame->exact};
    }
}

/* Walk step by step. False: a row needs registers that are not given. */
static bool step_all(const struct sonde__walk *walk, struct sonde__regs *regs,
                     struct frames *ret_frames)
{
    struct sonde__walker walker;
    struct sonde__reader reader;
    enum sonde__step step = SONDE__STEP_ON;
    sonde__reader_init(&reader, &walk->memory);
    ret_frames->count = 0;
    CHECK(sonde__walker_start(&walker, walk, &reader, regs));
    while (step == SONDE__STEP_ON && ret_frames->count < COMPARE_FRAMES_MAX) {
        put(ret_frames, &walker.frame);
        if (regs == NULL) {
            step = sonde__walker_step(&walker);
        } else {
            step = sonde__walker_step_full(&walker);
        }
    }
    ret_frames->end = walker.end;
    return step != SONDE__STEP_OTHER;
}

static void walk_by_steps(const struct sonde__walk *walk, struct frames *ret_frames)
{
    struct sonde__regs regs;
    if (!step_all(walk, NULL, ret_frames)) {
        (void)step_all(walk, &regs, ret_frames);
    }
}

/* True if the walk's pcs equal those of the steps. */
static bool agrees(const struct sonde__walk *walk, const struct frames *steps)
{
    static uint64_t pcs[COMPARE_FRAMES_MAX];
    static uint8_t how[COMPARE_FRAMES_MAX];
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, COMPARE_FRAMES_MAX, 0);
    sonde__unwind_walk(walk, &stack);
    if (stack.count != steps->count) {
        return false;
    }
    for (unsigned i = 0; i < stack.count; i++) {
        bool exact = (how[i] & SONDE_HOW_EXACT) != 0;
        if (pcs[i] != steps->at[i].pc || exact != steps->at[i].exact) {
            return false;
        }
    }
    return true;
}

static bool is_same(const struct shadow_frame *a, const struct shadow_frame *b)
{
    return a->pc == b->pc && a->sp == b->sp && a->exact == b->exact;
}

/* The first frame (from 1) that differs from the shadow, or 0. */
static unsigned first_wrong(const struct compare *compare, const struct frames *ours)
{
    for (unsigned i = 1;; i++) {
        const struct shadow_frame *truth = shadow_at(compare->shadow, i - 1);
        const struct shadow_frame *frame = i < ours->count ? &ours->at[i] : NULL;
        if (truth == NULL && frame == NULL) {
            return 0;
        }
        if (truth == NULL || frame == NULL || !is_same(truth, frame)) {
            return i == COMPARE_FRAMES_MAX ? 0 : i;
        }
    }
}

static void describe(const struct compare *compare, struct place *place)
{
    const struct frames *ours = &place->ours;
    unsigned at = place->wrong_at;
    const struct shadow_frame *truth = shadow_at(compare->shadow, at - 1);
    const struct sonde__image *image = sonde__image_find(&compare->space->images.set, place->pc);
    snprintf(place->image, sizeof place->image, "%s", image != NULL ? image->path : "?");
    place->vaddr = image != NULL ? place->pc - image->bias : place->pc;
    int used = snprintf(place->what, sizeof place->what, "frame %u: ", at);
    if (place->walks_differ) {
        snprintf(place->what + used, sizeof place->what - (size_t)used, "our walks do not agree");
        return;
    }
    if (at < ours->count) {
        used += snprintf(place->what + used, sizeof place->what - (size_t)used,
                         "%#" PRIx64 " sp %#" PRIx64 "%s", ours->at[at].pc, ours->at[at].sp,
                         ours->at[at].exact ? " exact" : "");
    } else {
        used += snprintf(place->what + used, sizeof place->what - (size_t)used, "none (end %u)",
                         ours->end);
    }
    if (truth != NULL) {
        snprintf(place->what + used, sizeof place->what - (size_t)used,
                 ", really %#" PRIx64 " sp %#" PRIx64 "%s", truth->pc, truth->sp,
                 truth->exact ? " exact" : "");
    } else {
        snprintf(place->what + used, sizeof place->what - (size_t)used, ", really none");
    }
}

static struct place *place_of(struct compare *compare, uint64_t pc, bool walks_differ,
                              bool *ret_new)
{
    *ret_new = false;
    for (unsigned i = 0; i < compare->place_count; i++) {
        if (compare->places[i].pc == pc && compare->places[i].walks_differ == walks_differ) {
            return &compare->places[i];
        }
    }
    if (compare->place_count == COMPARE_PLACES_MAX) {
        FAIL("wrong at more than %d places", COMPARE_PLACES_MAX);
    }
    *ret_new = true;
    struct place *place = &compare->places[compare->place_count++];
    memset(place, 0, sizeof *place);
    place->pc = pc;
    place->walks_differ = walks_differ;
    return place;
}

static void settle(struct held *held)
{
    held->place->count++;
}

static void release_old(struct compare *compare)
{
    unsigned old = 0;
    while (old < compare->held_count &&
           (compare->instants - compare->held[old].instant > HELD_INSTANTS)) {
        settle(&compare->held[old++]);
    }
    if (old == 0 && compare->held_count == COMPARE_HELD_MAX) {
        settle(&compare->held[0]);
        old = 1;
    }
    if (old > 0) { /* rare */
        compare->held_count -= old;
        memmove(compare->held, compare->held + old, compare->held_count * sizeof *compare->held);
    }
}

/* True if frame `at` holds another return address than its call stored, and the walk gave that
 * one. */
static bool is_overwritten(const struct compare *compare, const struct frames *ours, unsigned at)
{
    const struct shadow_frame *truth = shadow_at(compare->shadow, at - 1);
    uint64_t word = 0;
    return compare->shadow->pushes_return && truth != NULL && !truth->exact && at < ours->count &&
           ours->at[at].sp == truth->sp && ours->at[at].pc != truth->pc &&
           space_door(compare->space, truth->sp - 8, &word, sizeof word) && word == ours->at[at].pc;
}

/* True if only the sp of frame `at` is wrong. */
static bool is_sp_only(const struct compare *compare, const struct frames *ours, unsigned at)
{
    const struct shadow_stack *now = compare->shadow->now;
    const struct shadow_frame *truth = shadow_at(compare->shadow, at - 1);
    if (ours->count != now->count + 1 || truth == NULL || truth->pc != ours->at[at].pc) {
        return false;
    }
    for (unsigned i = at + 1; i < ours->count; i++) {
        if (!is_same(&ours->at[i], shadow_at(compare->shadow, i - 1))) {
            return false;
        }
    }
    return true;
}

static void settle_claim(struct compare *compare, unsigned index, bool is_right)
{
    struct claim *claim = &compare->claims[index];
    for (unsigned i = 0; i < claim->place_count; i++) {
        if (is_right) {
            compare->moved += claim->at[i].count;
        } else {
            claim->at[i].place->count += claim->at[i].count;
            claim->at[i].place->cfa_count += claim->at[i].count;
        }
    }
    *claim = compare->claims[--compare->claim_count];
}

/* Settle the claims about frames that are gone; the last of them was left for (pc, sp). */
static void settle_claims(struct compare *compare, uint64_t pc, uint64_t sp)
{
    for (unsigned i = compare->claim_count; i > 0; i--) {
        const struct claim *claim = &compare->claims[i - 1];
        unsigned count = claim->stack->count;
        if (claim->index >= count) {
            settle_claim(compare, i - 1,
                         claim->index == count && claim->pc == pc && claim->sp == sp);
        }
    }
}

/* False: no room for it. */
static bool add_claim(struct compare *compare, const struct shadow_frame *claimed, unsigned at,
                      struct place *place)
{
    const struct shadow_stack *now = compare->shadow->now;
    struct claim *claim = compare->claims;
    struct claim *end = claim + compare->claim_count;
    while (claim < end && (claim->stack != now || claim->index != now->count - at ||
                           claim->pc != claimed->pc || claim->sp != claimed->sp)) {
        claim++;
    }
    if (claim == end) {
        if (compare->claim_count == CLAIMS_MAX) {
            return false;
        }
        *claim = (struct claim){
            .stack = now, .index = now->count - at, .pc = claimed->pc, .sp = claimed->sp};
        compare->claim_count++;
    }
    unsigned i = 0;
    while (i < claim->place_count && claim->at[i].place != place) {
        i++;
    }
    if (i == CLAIM_PLACES_MAX) {
        return false;
    }
    claim->place_count += i == claim->place_count;
    claim->at[i].place = place;
    claim->at[i].count++;
    return true;
}

/* The first caller before `at` whose fp in the walk differs from its fp at the call; 0: none. */
static unsigned first_wrong_fp(const struct compare *compare, const struct frames *ours,
                               unsigned at)
{
    for (unsigned i = 1; i < at; i++) {
        const struct shadow_frame *truth = shadow_at(compare->shadow, i - 1);
        if (truth != NULL && ours->at[i].fp != truth->fp) {
            return i;
        }
    }
    return 0;
}

static void differs(struct compare *compare, const struct frames *ours, unsigned at,
                    bool walks_differ)
{
    bool is_new = false;
    if (!walks_differ && is_overwritten(compare, ours, at)) {
        compare->overwritten++;
        return;
    }
    uint64_t blamed = ours->at[at > 0 && at <= ours->count ? at - 1 : 0].pc;
    struct place *place = place_of(compare, blamed, walks_differ, &is_new);
    if (is_new) {
        place->ours = *ours;
        place->wrong_at = at;
        describe(compare, place);
        if (compare->ask != NULL && !walks_differ) {
            compare->ask(compare->ask_ctx, place);
        }
    }
    if (walks_differ) {
        place->count++;
        return;
    }
    if (compare->may_not_know && at == ours->count && ours->end != SONDE_END_ROOT) {
        place->unknown++;
        compare->unknown++;
        return;
    }
    if (is_sp_only(compare, ours, at) && add_claim(compare, &ours->at[at], at, place)) {
        return;
    }
    release_old(compare);
    compare->held[compare->held_count++] =
        (struct held){*ours, place, compare->instants, first_wrong_fp(compare, ours, at)};
}

/* True if the held walk gave the stack that the switch arrived at. */
static bool is_of_target(const struct compare *compare, const struct held *held,
                         const struct shadow_frame *arrived)
{
    static struct frames rest;
    if (held->ours.count < 2 || held->ours.at[1].pc != arrived->pc ||
        held->ours.at[1].sp != arrived->sp) {
        return false;
    }
    rest.count = held->ours.count - 1;
    rest.end = held->ours.end;
    memcpy(rest.at, held->ours.at + 1, rest.count * sizeof rest.at[0]);
    return first_wrong(compare, &rest) == 0;
}

void compare_switched(struct compare *compare, const struct shadow_frame *arrived)
{
    settle_claims(compare, arrived->pc, arrived->sp);
    for (unsigned i = 0; i < compare->held_count; i++) {
        struct held *held = &compare->held[i];
        if (compare->instants - held->instant > HELD_INSTANTS) {
            settle(held);
        } else if (is_of_target(compare, held, arrived)) {
            compare->switched++;
        } else if (held->fp_at > 0 && held->ours.at[held->fp_at].fp == arrived->fp) {
            compare->overwritten++;
        } else {
            settle(held);
        }
    }
    compare->held_count = 0;
}

void compare_end(struct compare *compare)
{
    for (unsigned i = 0; i < compare->held_count; i++) {
        settle(&compare->held[i]);
    }
    compare->held_count = 0;
    while (compare->claim_count > 0) {
        settle_claim(compare, 0, false);
    }
}

static void count_image(struct compare *compare, uint64_t pc)
{
    const struct sonde__image *image = sonde__image_find(&compare->space->images.set, pc);
    const char *path = image != NULL ? image->path : "(no image)";
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    unsigned i = 0;
    while (i < compare->image_count && strncmp(compare->images[i].name, name, 63) != 0) {
        i++;
    }
    if (i == compare->image_count) {
        CHECK(i < sizeof compare->images / sizeof compare->images[0]);
        snprintf(compare->images[i].name, sizeof compare->images[i].name, "%.63s", name);
        compare->image_count++;
    }
    compare->images[i].instructions++;
}

/* Make tables for frequent images, as the product does. */
static void heat(struct compare *compare, const struct frames *frames)
{
    uint64_t pcs[8];
    uint32_t count = 0;
    for (; count < 8 && count < frames->count; count++) {
        pcs[count] = frames->at[count].pc;
    }
    sonde__target_images_hit(&compare->space->images, pcs, count);
}

void compare_instant(struct compare *compare, const struct sonde__regs *regs)
{
    static struct frames ours;
    unsigned depth = compare->shadow->now->count;
    uint64_t sp = regs->r[sonde__arch_sp(regs->arch)];
    space_take_stack(compare->space, sp, depth > 0 ? compare->shadow->now->frames[0].sp : sp);
    struct sonde__walk walk = walk_of(compare, regs, false);
    walk_by_steps(&walk, &ours);
    unsigned at = first_wrong(compare, &ours);
    if (compare->lies && at == 1 && ours.count > 1) {
        ours.at[1].sp += 16;
    }
    settle_claims(compare, 0, 0);
    compare->instants++;
    compare->frames += depth + 1;
    compare->deepest = depth > compare->deepest ? depth : compare->deepest;
    count_image(compare, regs->pc);
    heat(compare, &ours);
    if (at != 0) {
        differs(compare, &ours, at, false);
    } else if (ours.end != SONDE_END_ROOT) {
        compare->unended++;
    }
    walk = walk_of(compare, regs, true);
    bool same = agrees(&walk, &ours);
    if (same && compare->instants % IN_PLACE_EVERY == 0) {
        walk.images = &compare->space->in_place;
        same = agrees(&walk, &ours);
    }
    if (!same) {
        differs(compare, &ours, 0, true);
    }
}

enum verdict compare_verdict(const struct place *place, const struct frames *theirs)
{
    unsigned at = place->wrong_at;
    if (at >= place->ours.count) {
        return theirs->count <= at ? SAME : ANOTHER;
    }
    return at < theirs->count && theirs->at[at].pc == place->ours.at[at].pc &&
                   theirs->at[at].sp == place->ours.at[at].sp
               ? SAME
               : ANOTHER;
}

bool compare_read_frames(const char *text, const char *head, struct frames *ret_frames)
{
    const char *line = strstr(text, head);
    ret_frames->count = 0;
    if (line == NULL) {
        return false;
    }
    for (line += strlen(head); strncmp(line, "frame ", 6) == 0; line = strchr(line, '\n') + 1) {
        unsigned long long pc = 0;
        unsigned long long sp = 0;
        CHECK_EQ(sscanf(line, "frame %llx %llx", &pc, &sp), 2);
        if (ret_frames->count < COMPARE_FRAMES_MAX) {
            ret_frames->at[ret_frames->count++] = (struct shadow_frame){.pc = pc, .sp = sp};
        }
    }
    return ret_frames->count > 0;
}

/* Print the instruction as objdump shows it. */
static void print_code(const struct place *place)
{
    char command[320];
    char line[256];
    bool shown = false;
    snprintf(command, sizeof command,
             "%s -d --start-address=%#" PRIx64 " --stop-address=%#" PRIx64 " '%s' 2>/dev/null",
             strstr(place->image, "aarch64") != NULL ? "aarch64-linux-gnu-objdump" : "objdump",
             place->vaddr, place->vaddr + 16, place->image);
    FILE *pipe = popen(command, "r");
    while (pipe != NULL && fgets(line, sizeof line, pipe) != NULL) {
        bool is_code = strchr(line, '\t') != NULL;
        if ((is_code && !shown) || (line[0] == '0' && strchr(line, '<') != NULL)) {
            printf("         %s", line);
        }
        shown = shown || is_code;
    }
    if (pipe != NULL) {
        (void)pclose(pipe);
    }
}

static bool is_explained(const struct place *place)
{
    return !place->walks_differ && place->verdicts[0] != ANOTHER && place->verdicts[1] == SAME;
}

static void print_place(const struct place *place)
{
    static const char *const words[] = {"not asked", "says the same", "says otherwise"};
    printf("       %s %s+%#" PRIx64 " (%u times): %s; libunwind %s, gdb %s\n",
           is_explained(place) ? "explained" : "WRONG", place->image, place->vaddr, place->count,
           place->what, words[place->verdicts[0]], words[place->verdicts[1]]);
    print_code(place);
}

/* True for an explained wrong pc, not for a wrong CFA alone. */
static bool is_listed(const struct place *place)
{
    return place->count > 0 && place->cfa_count != place->count && is_explained(place);
}

void compare_list(const struct compare *compare, const char *path)
{
    FILE *file = fopen(path, "a");
    CHECK(file != NULL);
    for (unsigned i = 0; i < compare->place_count; i++) {
        const struct place *place = &compare->places[i];
        if (is_listed(place)) {
            fprintf(file, "%s+%#" PRIx64 "\n", place->image, place->vaddr);
        }
    }
    CHECK_OK(fclose(file));
}

static void print_unknown(const struct compare *compare)
{
    unsigned places = 0;
    for (unsigned i = 0; i < compare->place_count; i++) {
        const struct place *place = &compare->places[i];
        if (place->unknown > 0) {
            places++;
            printf("       not known %s+%#" PRIx64 " (%u times): %s\n", place->image, place->vaddr,
                   place->unknown, place->what);
        }
    }
    if (places > 0) {
        printf("     ended early and said so, without a wrong frame: %" PRIu64
               " times at %u places\n",
               compare->unknown, places);
    }
}

static void print_figures(const struct compare *compare)
{
    printf("     %" PRIu64 " instructions, %" PRIu64 " frames, deepest %" PRIu64
           "\n     right inside a switch of stacks, as control then went %" PRIu64
           ", right of a moved return address %" PRIu64 ", a frame overwritten %" PRIu64
           ", the last frame without CFI %" PRIu64 "\n     of these",
           compare->instants, compare->frames, compare->deepest, compare->switched, compare->moved,
           compare->overwritten, compare->unended);
    for (unsigned i = 0; i < compare->image_count; i++) {
        printf("%s %s %" PRIu64, i > 0 ? "," : "", compare->images[i].name,
               compare->images[i].instructions);
    }
    printf("\n");
}

unsigned compare_report(struct compare *compare, unsigned *ret_explained)
{
    unsigned unexplained = 0;
    unsigned cfa_places = 0;
    unsigned cfa_instants = 0;
    *ret_explained = 0;
    print_figures(compare);
    print_unknown(compare);
    for (unsigned i = 0; i < compare->place_count; i++) {
        const struct place *place = &compare->places[i];
        if (place->count == 0) {
            continue;
        }
        bool cfa_only = place->cfa_count == place->count && is_explained(place);
        cfa_places += cfa_only;
        cfa_instants += cfa_only ? place->count : 0;
        *ret_explained += is_listed(place);
        unexplained += !is_explained(place);
        if (!cfa_only) {
            print_place(place);
        }
    }
    if (cfa_places > 0) {
        printf(
            "     every pc right, one CFA not, gdb and libunwind the same: %u times at %u places\n",
            cfa_instants, cfa_places);
    }
    return unexplained;
}
