// SPDX-License-Identifier: Apache-2.0
#include "arch_regs.h"
#include "base_bytes.h"
#include "base_mem.h"
#include "v8.h"

bool sonde__v8_is_call(struct v8 *v8, const struct v8_frame *frame)
{
    int32_t type = sonde__v8_type(v8, v8_object_below(v8, frame, V8_FP_CONTEXT));
    return type >= v8->layout.of[V8_TYPE_CONTEXT_FIRST] &&
           type <= v8->layout.of[V8_TYPE_CONTEXT_LAST];
}

/* The interpreter loads both into their registers first (InterpreterEntryTrampoline in
 * src/builtins, of each version). */
bool sonde__v8_is_interpreter(const struct v8 *v8, uint64_t pc)
{
    enum { BYTES = 8 };
    const int32_t *of = v8->layout.of;
    int32_t array = of[V8_FP_BYTECODE], offset = of[V8_FP_OFFSET] + 4;
    uint8_t loads[BYTES] = {0x4c, 0x8b, 0x65, (uint8_t)array,   /* mov r12, [rbp + array] */
                            0x44, 0x8b, 0x4d, (uint8_t)offset}; /* mov r9d, [rbp + offset] */
    if (v8->layout.arch == SONDE_ARCH_AARCH64) { /* ldur x20, [x29, array]; ldursw x19, ... */
        sonde__base_put_le32(loads, 0xf84003b4 | ((uint32_t)array & 0x1ff) << 12);
        sonde__base_put_le32(loads + 4, 0xb88003b3 | ((uint32_t)offset & 0x1ff) << 12);
    }
    const uint8_t *code = v8->at(v8->ctx, sonde__arch_strip_pac(v8->layout.arch, pc), BYTES);
    return code != NULL && sonde__base_mem_compare(code, loads, BYTES) == 0;
}
