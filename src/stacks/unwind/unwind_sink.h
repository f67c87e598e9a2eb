// SPDX-License-Identifier: Apache-2.0
/* Stores the frames of a walk: the innermost in the front of the caller's arrays, later ones in a
 * ring behind them, so that the outermost remain at the end. Context: handler. */
#ifndef SONDE_UNWIND_SINK_H
#define SONDE_UNWIND_SINK_H

#include "unwind_step.h"

struct sonde__sink {
    struct sonde_stack *stack;
    uint64_t *fps; /* frame pointers, parallel to the stack; or null */
    uint32_t skip; /* frames still to leave out */
    uint32_t inner;
    uint32_t outer;
    uint32_t ring_at; /* next slot of the ring */
    uint64_t kept;    /* frames written, including overwritten ones */
    uint32_t last;    /* slot of the last frame; UINT32_MAX: left out */
    bool inferred;
};

static inline void sonde__sink_forget_async(struct sonde_stack *stack)
{
    stack->async_met = stack->async_cut = 0;
    stack->async_count = 0;
    stack->async_at = SONDE_NO_FRAME;
    stack->task_id = 0;
}

static inline struct sonde__sink sonde__sink_open(struct sonde_stack *stack, uint64_t *fps,
                                                  uint32_t skip)
{
    uint32_t outer = stack->outer < stack->capacity ? stack->outer : 0;
    sonde__sink_forget_async(stack);
    return (struct sonde__sink){
        .stack = stack, .fps = fps, .skip = skip, .inner = stack->capacity - outer, .outer = outer};
}

/* Take a slot for a frame. False: none is left, and there is no ring. */
static inline bool sonde__sink_take_slot(struct sonde__sink *sink)
{
    sink->last = UINT32_MAX;
    if (sink->skip > 0) {
        sink->skip--;
        return true;
    }
    if (sink->kept < sink->inner) {
        sink->last = (uint32_t)sink->kept;
    } else if (sink->outer == 0) {
        return false;
    } else {
        sink->last = sink->inner + sink->ring_at;
        sink->ring_at = sink->ring_at + 1 == sink->outer ? 0 : sink->ring_at + 1;
    }
    sink->kept++;
    return true;
}

static inline bool sonde__sink_put(struct sonde__sink *sink, const struct sonde__frame *frame)
{
    if (!sonde__sink_take_slot(sink)) {
        return false;
    }
    if (sink->last != UINT32_MAX) {
        uint8_t found = sink->inferred ? SONDE_FOUND_INFERRED : frame->found;
        sink->stack->pcs[sink->last] = frame->pc;
        sink->stack->how[sink->last] = (uint8_t)(found | (frame->exact ? SONDE_HOW_EXACT : 0));
        if (sink->fps != NULL) {
            sink->fps[sink->last] = frame->fp_known ? frame->fp : 0;
        }
    }
    return true;
}

/* how[0, count) = found. The last words overlap, which avoids a loop over the rest. */
static inline void sonde__how_fill(uint8_t *how, uint64_t count, uint8_t found)
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

/* Add `count` frames, whose pcs are already written in the front, as found by `found` (the
 * first) and by call frame information (the others). */
static inline void sonde__sink_add(struct sonde__sink *sink, uint64_t count, uint8_t found)
{
    uint8_t *how = sink->stack->how + sink->kept;
    sonde__how_fill(how, count, sink->inferred ? SONDE_FOUND_INFERRED : SONDE_FOUND_CFI);
    if (!sink->inferred) {
        how[0] = found;
    }
    sink->kept += count;
    sink->last = (uint32_t)(sink->kept - 1);
}

/* Put the ring in order, and set what was lost. */
void sonde__sink_close(struct sonde__sink *sink);

#endif
