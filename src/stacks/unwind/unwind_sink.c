// SPDX-License-Identifier: Apache-2.0
#include "unwind_sink.h"

static void reverse(const struct sonde__sink *sink, uint32_t first, uint32_t end)
{
    struct sonde_stack *stack = sink->stack;
    for (; first + 1 < end; first++, end--) {
        uint64_t pc = stack->pcs[first];
        uint8_t how = stack->how[first];
        stack->pcs[first] = stack->pcs[end - 1];
        stack->how[first] = stack->how[end - 1];
        stack->pcs[end - 1] = pc;
        stack->how[end - 1] = how;
        if (sink->fps != NULL) {
            uint64_t fp = sink->fps[first];
            sink->fps[first] = sink->fps[end - 1];
            sink->fps[end - 1] = fp;
        }
    }
}

void sonde__sink_close(struct sonde__sink *sink)
{
    struct sonde_stack *stack = sink->stack;
    uint64_t capacity = (uint64_t)sink->inner + sink->outer;
    if (sink->kept <= capacity) {
        stack->count = (uint32_t)sink->kept;
        stack->lost_at = stack->count;
        stack->lost_count = 0;
        return;
    }
    uint32_t end = sink->inner + sink->outer;
    uint32_t oldest = sink->inner + sink->ring_at;
    reverse(sink, sink->inner, oldest);
    reverse(sink, oldest, end);
    reverse(sink, sink->inner, end);
    stack->count = end;
    stack->lost_at = sink->inner;
    stack->lost_count = sink->kept - capacity;
}
