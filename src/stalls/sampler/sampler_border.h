// SPDX-License-Identifier: Apache-2.0
/* When a running thread left the place of one sample for that of the next.
 *
 * Between two samples the scheduler tells nothing, because the thread ran on, but ticks of its CPU
 * time tell in which function it was (sonde__host_tick). A function that only one of the two stacks
 * has, below their common callers, shows which of the two places a tick belongs to; if the
 * innermost function is in neither or both, a return address on the stack does. Some ticks may be
 * wrong: old return addresses, functions that both places call. So the border is where fewest ticks
 * are on the wrong side, and with too many of them there is none. A tick costs a hundredth of a
 * sample.
 *
 * A thread that could run, and has no processor, stays where it is, though time passes: between two
 * ticks only its own running time decides. Context: any thread. */
#ifndef SONDE_SAMPLER_BORDER_H
#define SONDE_SAMPLER_BORDER_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/stack.h>

#include "host_perf.h"

/* Ticks are this far apart. */
#define SONDE__SAMPLER_TICK_NS 2000000u
/* Where processors are short, a thread runs for some 3 ms, and then lacks one for as long as a
 * phase of its stall takes. All of that time belongs to one place, and only a tick right before it
 * shows which. With ticks 2 ms apart, a border is near such a pause two times out of three; with
 * these, one time out of six. */
#define SONDE__SAMPLER_CROWDED_TICK_NS 500000u
/* The running time in which a border may be: from one tick to the next, which may be late. */
#define SONDE__SAMPLER_NEAR_NS ((uint64_t)2 * SONDE__SAMPLER_TICK_NS)
/* As many ticks as fit between two samples (SONDE__DECIDE_SAMPLE_LAST_NS); later ones are ignored.
 */
#define SONDE__SAMPLER_TICKS_MAX 512u

/* Times without a processor between two samples; later ones are ignored. Among 30 threads there are
 * some ten between the rarest samples. */
#define SONDE__SAMPLER_OFFS_MAX 32u

/* Functions that only one of the stacks has; further inner ones are ignored. */
#define SONDE__SAMPLER_BORDER_FUNCTIONS 64u

/* Find start and end of the function at `pc`. False: not known. */
typedef bool sonde__sampler_bounds(const void *ctx, uint64_t pc, uint64_t *ret_start,
                                   uint64_t *ret_end);

struct sonde__sampler_border {
    struct sonde__sampler_border_function {
        uint64_t start, end;
        int8_t place; /* -1: of the first sample, 1: of the second one */
    } functions[SONDE__SAMPLER_BORDER_FUNCTIONS];
    uint32_t function_count;
    uint64_t times_ns[SONDE__SAMPLER_TICKS_MAX]; /* of ticks whose place is known */
    int8_t places[SONDE__SAMPLER_TICKS_MAX];
    uint32_t count;
    struct {
        uint64_t from_ns, to_ns;
    } offs[SONDE__SAMPLER_OFFS_MAX];
    uint32_t off_count;
};

/* from, to: stacks of the samples. */
void sonde__sampler_border_begin(struct sonde__sampler_border *border,
                                 const struct sonde_stack *from, const struct sonde_stack *to,
                                 sonde__sampler_bounds *bounds, const void *ctx);
/* ctx: a struct sonde__sampler_border. Ticks come in the order of time. */
int sonde__sampler_border_tick(void *ctx, const struct sonde__host_tick *tick);
/* Times without a processor come in the same order. */
void sonde__sampler_border_off(void *ctx, uint64_t from_ns, uint64_t to_ns);
/* The samples were taken at from_ns and to_ns. Get the last tick in the first place and the first
 * one in the second place; or twice the moment of the border, if the thread hardly ran between the
 * two. False: not known. */
bool sonde__sampler_border_find(const struct sonde__sampler_border *border, uint64_t from_ns,
                                uint64_t to_ns, uint64_t *ret_left_ns, uint64_t *ret_came_ns);

#endif
