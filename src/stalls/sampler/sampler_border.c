// SPDX-License-Identifier: Apache-2.0
#include "sampler_border.h"

#include "base_math.h"

/* One of so many ticks may be on the wrong side of a border. */
#define WRONG_PART 4u

/* The inner frames of a stack that the other one does not share. */
struct inner {
    const struct sonde_stack *stack;
    uint32_t count;
};

/* Outer frames are return addresses, which may be just behind their function. */
static uint64_t pc_at(const struct sonde_stack *stack, uint32_t i)
{
    return stack->pcs[i] - (i > 0);
}

static bool has_frame(const struct inner *inner, uint64_t start, uint64_t end)
{
    bool found = false;
    for (uint32_t i = 0; i < inner->count && !found; i++) {
        uint64_t pc = pc_at(inner->stack, i);
        found = pc >= start && pc < end;
    }
    return found;
}

/* Add the functions that only `inner` has. The outer ones say most. */
static void add_functions(struct sonde__sampler_border *b, const struct inner *inner,
                          const struct inner *other, int8_t place, sonde__sampler_bounds *bounds,
                          const void *ctx)
{
    uint32_t room = b->function_count + SONDE__SAMPLER_BORDER_FUNCTIONS / 2;
    for (uint32_t i = inner->count; i > 0 && b->function_count < room; i--) {
        struct sonde__sampler_border_function f = {.place = place};
        if (bounds(ctx, pc_at(inner->stack, i - 1), &f.start, &f.end) &&
            !has_frame(other, f.start, f.end)) {
            b->functions[b->function_count++] = f;
        }
    }
}

void sonde__sampler_border_begin(struct sonde__sampler_border *border,
                                 const struct sonde_stack *from, const struct sonde_stack *to,
                                 sonde__sampler_bounds *bounds, const void *ctx)
{
    struct inner a = {from, from->count}, b = {to, to->count};
    while (a.count > 0 && b.count > 0 && from->pcs[a.count - 1] == to->pcs[b.count - 1]) {
        a.count--;
        b.count--;
    }
    border->function_count = border->count = border->off_count = 0;
    add_functions(border, &a, &b, -1, bounds, ctx);
    add_functions(border, &b, &a, 1, bounds, ctx);
}

/* 0: in both places, in neither, or not known. */
static int8_t place_of(const struct sonde__sampler_border *b, uint64_t pc)
{
    int8_t place = 0;
    for (uint32_t i = 0; i < b->function_count && place == 0; i++) {
        const struct sonde__sampler_border_function *f = &b->functions[i];
        place = pc >= f->start && pc < f->end ? f->place : 0;
    }
    return place;
}

int sonde__sampler_border_tick(void *ctx, const struct sonde__host_tick *tick)
{
    struct sonde__sampler_border *b = ctx;
    if (b->function_count == 0 || b->count == SONDE__SAMPLER_TICKS_MAX) {
        return 1;
    }
    int8_t place = place_of(b, tick->pc);
    for (uint32_t i = 0; i < tick->count && place == 0; i++) {
        place = place_of(b, tick->words[i] - 1);
    }
    if (place != 0) {
        b->times_ns[b->count] = tick->time_ns;
        b->places[b->count++] = place;
    }
    return 0;
}

void sonde__sampler_border_off(void *ctx, uint64_t from_ns, uint64_t to_ns)
{
    struct sonde__sampler_border *b = ctx;
    if (b->off_count < SONDE__SAMPLER_OFFS_MAX && to_ns > from_ns) {
        b->offs[b->off_count].from_ns = from_ns;
        b->offs[b->off_count++].to_ns = to_ns;
    }
}

/* Get the last tick in the first place and the first one in the second place; 0, UINT64_MAX: none.
 * False: the ticks contradict each other. */
static bool find_ticks(const struct sonde__sampler_border *b, uint64_t *ret_left_ns,
                       uint64_t *ret_came_ns)
{
    uint32_t wrong = 0, least, at = 0, left = UINT32_MAX, came = UINT32_MAX;
    for (uint32_t i = 0; i < b->count; i++) {
        wrong += b->places[i] < 0; /* if all belonged to the second place */
    }
    least = wrong;
    for (uint32_t i = 0; i < b->count; i++) {
        wrong = b->places[i] < 0 ? wrong - 1 : wrong + 1;
        at = wrong < least ? i + 1 : at;
        least = wrong < least ? wrong : least;
    }
    for (uint32_t i = 0; i < b->count; i++) {
        left = i < at && b->places[i] < 0 ? i : left;
        came = i >= at && b->places[i] > 0 && came == UINT32_MAX ? i : came;
    }
    *ret_left_ns = left != UINT32_MAX ? b->times_ns[left] : 0;
    *ret_came_ns = came != UINT32_MAX ? b->times_ns[came] : UINT64_MAX;
    return least * WRONG_PART <= b->count;
}

/* How long the thread had no processor between two moments. */
static uint64_t off_between(const struct sonde__sampler_border *b, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < b->off_count; i++) {
        sum += sonde__base_minus(sonde__base_min(b->offs[i].to_ns, to_ns),
                                 sonde__base_max(b->offs[i].from_ns, from_ns));
    }
    return sum;
}

/* When the thread had run for ran_ns since from_ns. */
static uint64_t after_running(const struct sonde__sampler_border *b, uint64_t from_ns,
                              uint64_t ran_ns)
{
    for (uint32_t i = 0; i < b->off_count; i++) {
        uint64_t part_ns = sonde__base_minus(b->offs[i].from_ns, from_ns);
        if (b->offs[i].to_ns > from_ns && part_ns <= ran_ns) {
            ran_ns -= part_ns;
            from_ns = b->offs[i].to_ns;
        }
    }
    return from_ns + ran_ns;
}

bool sonde__sampler_border_find(const struct sonde__sampler_border *b, uint64_t from_ns,
                                uint64_t to_ns, uint64_t *ret_left_ns, uint64_t *ret_came_ns)
{
    uint64_t left_ns, came_ns;
    if (b->function_count == 0 || !find_ticks(b, &left_ns, &came_ns)) {
        return false;
    }
    uint64_t first_ns = sonde__base_max(left_ns, from_ns);
    uint64_t last_ns = sonde__base_min(came_ns, to_ns);
    uint64_t off_ns = off_between(b, first_ns, last_ns);
    uint64_t ran_ns = sonde__base_minus(last_ns, first_ns) - off_ns;
    if (off_ns > 0 && ran_ns <= SONDE__SAMPLER_NEAR_NS) {
        left_ns = came_ns = after_running(b, first_ns, ran_ns / 2);
    } else if (b->count == 0) {
        return false;
    }
    *ret_left_ns = left_ns;
    *ret_came_ns = came_ns;
    return true;
}
