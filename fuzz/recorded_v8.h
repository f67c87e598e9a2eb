// SPDX-License-Identifier: Apache-2.0
/* Memory of a V8, recorded while a stack was read, for tests and fuzzing: recorded_memory.h. Two
 * pieces at addresses that no program has: what the binary states, and the native stack. */
#ifndef SONDE_RECORDED_V8_H
#define SONDE_RECORDED_V8_H

#include "recorded_memory.h"

enum { RECORDED_STATED = 1, RECORDED_STACK = 0x1000, RECORDED_FRAMES = 64, RECORDED_FRAME = 24 };

struct recorded_v8 {
    struct recorded_memory memory;
    struct v8_stated stated;
    struct sonde_stack stack;
    uint64_t pcs[RECORDED_FRAMES], fps[RECORDED_FRAMES];
    uint8_t how[RECORDED_FRAMES];
};

/* False: the file has no stack. */
static inline bool recorded_v8_open(const uint8_t *data, size_t size, struct recorded_v8 *ret)
{
    uint8_t bytes[4];
    memset(ret, 0, sizeof *ret);
    if (!recorded_open(data, size, &ret->memory)) {
        return false;
    }
    for (uint32_t i = 0; i < V8_VALUES; i++) {
        uint64_t at = RECORDED_STATED + 4u * (uint64_t)i;
        if (recorded_copy(&ret->memory, at, bytes, 4) == 4) {
            ret->stated.values[i] = (int32_t)sonde__base_le32(bytes);
            ret->stated.has[i] = ret->stated.values[i] != INT32_MIN;
        }
    }
    sonde_stack_init(&ret->stack, ret->pcs, ret->how, RECORDED_FRAMES, 0);
    for (uint32_t i = 0; i < RECORDED_FRAMES; i++) {
        uint8_t frame[RECORDED_FRAME];
        uint64_t at = RECORDED_STACK + (uint64_t)i * RECORDED_FRAME;
        if (recorded_copy(&ret->memory, at, frame, sizeof frame) != sizeof frame) {
            break;
        }
        ret->pcs[i] = sonde__base_le64(frame);
        ret->fps[i] = sonde__base_le64(frame + 8);
        ret->how[i] = frame[16];
        ret->stack.count = ret->stack.lost_at = i + 1;
    }
    return ret->stack.count != 0;
}

#endif
