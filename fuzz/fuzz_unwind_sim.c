// SPDX-License-Identifier: Apache-2.0
/* A walk in a made-up process with registers, stack and call frame records from the input. It must
 * end, keep its limits, and read only what exists.
 *
 * Input: flags, capacity, outer, skip; pc, sp and fp as offsets (u16 each); size of the stack in
 * words (u16); the words; the rest is .eh_frame. A word below 0x10000 is used as it is. The high
 * half of a larger one makes it an address in the stack or in the code. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "unwind_rules.h"
#include "unwind_walk.h"

enum {
    FLAG_AARCH64 = 1,
    FLAG_INFER = 2,
    FLAG_TABLE = 4,
    FLAG_RETURN = 8,
    FLAG_UNKNOWN = 16,
    FLAG_DEBUG_FRAME = 32,
    FLAG_PLAIN = 64, /* the stack is read by plain loads */
};

#define CODE       0x400000u
#define CODE_SIZE  0x10000u
#define STACK      0x7f0000u
#define STACK_MAX  2048
#define FRAMES_MAX 64

/* On the heap, with exactly its size, so that a sanitizer detects a load outside. */
static uint64_t *stack;
static size_t stack_words;
static uint64_t stack_base; /* its address for the walk */

/* Code is a pattern with some direct calls, indirect calls and stubs. */
static uint8_t code_at(uint64_t offset)
{
    static const uint8_t pattern[] = {0xff, 0xd0, 0xe8, 0xf4, 0xff, 0xff, 0xff, 0x90,
                                      0xff, 0x25, 0x08, 0x00, 0x00, 0x00, 0x90, 0xc3};
    return pattern[offset % sizeof pattern];
}

static bool read_sim(void *ctx, uint64_t address, void *ret_bytes, size_t size)
{
    uint8_t *to = ret_bytes;
    (void)ctx;
    if (address >= stack_base && address - stack_base <= stack_words * 8 &&
        size <= stack_words * 8 - (address - stack_base)) {
        memcpy(to, (const char *)stack + (address - stack_base), size);
        return true;
    }
    if (address >= CODE && address - CODE <= CODE_SIZE && size <= CODE_SIZE - (address - CODE)) {
        for (size_t i = 0; i < size; i++) {
            to[i] = code_at(address - CODE + i);
        }
        return true;
    }
    return false;
}

static uint32_t take(const uint8_t **data, size_t *size, unsigned bytes)
{
    uint32_t value = 0;
    for (unsigned i = 0; i<bytes && * size> 0; i++, ++*data, --*size) {
        value |= (uint32_t) * *data << (8 * i);
    }
    return value;
}

static uint64_t expand(uint32_t word)
{
    switch (word >> 16 & 3) {
    case 1:
        return CODE + (word & 0xffff);
    case 2:
        return stack_base + (word & 0xffff);
    case 3:
        return (stack_base + (word & 0xffff)) | (uint64_t)1 << 60;
    default:
        return word & 0xffff;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint64_t table[(8 << 20) / 8];
    uint64_t pcs[FRAMES_MAX];
    uint8_t how[FRAMES_MAX];
    struct sonde_stack result;
    struct sonde__image image = {.start = CODE, .end = CODE + CODE_SIZE};
    struct sonde__image_range range = {CODE, CODE + CODE_SIZE, 0};
    struct sonde__image_set set = {&image, &range, 1, 1, 1};
    uint32_t flags = take(&data, &size, 1);
    uint32_t capacity = take(&data, &size, 1) % FRAMES_MAX + 1;
    uint32_t outer = take(&data, &size, 1);
    struct sonde__walk walk = {
        .images = &set,
        .memory = {.read = read_sim},
        .skip = take(&data, &size, 1) & 3,
        .first_exact = (flags & FLAG_RETURN) == 0,
        .infer = (flags & FLAG_INFER) != 0,
    };
    unsigned arch = (flags & FLAG_AARCH64) != 0 ? SONDE_ARCH_AARCH64 : SONDE_ARCH_X86_64;
    uint32_t pc = take(&data, &size, 2);
    uint32_t sp = take(&data, &size, 2);
    uint32_t fp = take(&data, &size, 2);
    stack_words = take(&data, &size, 2) % STACK_MAX;
    stack = malloc(stack_words * 8 + 1);
    FUZZ_MUST(stack != NULL);
    stack_base = STACK;
    if ((flags & FLAG_PLAIN) != 0) {
        stack_base = (uint64_t)(uintptr_t)stack;
        walk.memory.plain_start = stack_base;
        walk.memory.plain_end = stack_base + stack_words * 8;
    }
    for (size_t i = 0; i < stack_words; i++) {
        stack[i] = expand(take(&data, &size, 3));
    }
    walk.regs.arch = (uint8_t)arch;
    for (unsigned i = 0; i < SONDE__REG_COUNT && (flags & FLAG_UNKNOWN) == 0; i++) {
        sonde__regs_set(&walk.regs, i, stack_base + i * 8);
    }
    walk.regs.pc = CODE + pc;
    sonde__regs_set(&walk.regs, sonde__arch_sp(arch), stack_base + sp);
    if ((flags & FLAG_UNKNOWN) == 0) {
        sonde__regs_set(&walk.regs, sonde__arch_fp(arch), stack_base + fp);
    }
    bool is_debug = (flags & FLAG_DEBUG_FRAME) != 0;
    *(is_debug ? &image.cfi.debug_frame : &image.cfi.eh_frame) = data;
    *(is_debug ? &image.cfi.debug_frame_size : &image.cfi.eh_frame_size) = size;
    image.cfi.eh_frame_vaddr = CODE + CODE_SIZE;
    size_t table_size = 0;
    if ((flags & FLAG_TABLE) != 0 &&
        sonde__unwind_rules_size(&image.cfi, arch, &table_size) == SONDE_OK && table_size != 0 &&
        sonde__unwind_rules_build(&image.cfi, arch, table, sizeof table, &image.rules) !=
            SONDE_OK) {
        image.rules = NULL;
    }
    sonde_stack_init(&result, pcs, how, capacity, outer);
    sonde__unwind_walk(&walk, &result);
    free(stack);
    FUZZ_MUST(result.count <= capacity);
    FUZZ_MUST(result.end != SONDE_END_NOT_READ && result.end <= SONDE_END_NO_CODE);
    FUZZ_MUST(result.lost_at <= result.count);
    FUZZ_MUST(result.lost_count == 0 || result.count == capacity);
    return 0;
}
