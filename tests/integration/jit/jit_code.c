// SPDX-License-Identifier: Apache-2.0
#include "jit_code.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint8_t *put(uint8_t *at, const char *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}
#define PUT(at_, bytes_) put(at_, bytes_, sizeof(bytes_) - 1)

static uint8_t *put_word(uint8_t *at, uint64_t value, size_t size)
{
    return put(at, (const char *)&value, size);
}

/* Bytes of a frame that keeps the stack aligned at calls; those that push two registers need as
 * much. */
static uint32_t frame_of(unsigned function)
{
    static const uint32_t bytes[] = {8, 24, 152, 40, 1032, 8, 4104};
    return bytes[function % (sizeof bytes / sizeof bytes[0])];
}

struct jit_code jit_make(void (*leaf)(void), unsigned indirect_from)
{
    struct jit_code code;
    uint8_t *memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *at = memory;
    if (memory == MAP_FAILED) {
        abort();
    }
    for (unsigned i = 0; i < JIT_FUNCTIONS; i++) {
        uint64_t next = (uint64_t)(uintptr_t)memory + (i + 1) * 256;
        at = memory + (size_t)i * 256;
        code.starts[i] = (uint64_t)(uintptr_t)at;
        if (i % 3 == 1) {
            at = PUT(at, "\x53\x55"); /* push %rbx; push %rbp, for data */
            at = PUT(at, "\xbd\x01\x00\x00\x00\xbb\x08\x00\x00\x00");
        }
        at = PUT(at, "\x48\x81\xec"); /* sub $frame,%rsp */
        at = put_word(at, frame_of(i), 4);
        if (i + 1 == JIT_FUNCTIONS || i >= indirect_from) {
            at = PUT(at, "\x48\xb8"); /* movabs $next,%rax; call *%rax */
            at = put_word(at, i + 1 == JIT_FUNCTIONS ? (uint64_t)(uintptr_t)leaf : next, 8);
            at = PUT(at, "\xff\xd0");
        } else {
            at = PUT(at, "\xe8"); /* call next */
            at = put_word(at, next - ((uint64_t)(uintptr_t)at + 4), 4);
        }
        code.returns[i] = (uint64_t)(uintptr_t)at;
        at = PUT(at, "\x48\x81\xc4");
        at = put_word(at, frame_of(i), 4);
        at = i % 3 == 1 ? PUT(at, "\x5d\x5b\xc3") : PUT(at, "\xc3");
    }
    code.starts[JIT_FUNCTIONS] = (uint64_t)(uintptr_t)at;
    at = PUT(at + 64, "\xe8");
    at = put_word(at, code.starts[JIT_FUNCTIONS - 1] - ((uint64_t)(uintptr_t)at + 4), 4);
    code.never_made = (uint64_t)(uintptr_t)at;
    mprotect(memory, 65536, PROT_READ | PROT_EXEC);
    memcpy(&code.enter, &memory, sizeof code.enter);
    return code;
}
