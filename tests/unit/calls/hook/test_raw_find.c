// SPDX-License-Identifier: Apache-2.0
/* System calls in code that no compiler writes. Each code's text is next to it. */
#include "hook_raw_find.h"

#include <stdlib.h>
#include <string.h>

#include "arch_raw_site.h"
#include "arch_regs.h"
#include "mem_heap.h"
#include "test.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE  ((uint64_t)0x7f0000000000)
#define VADDR ((uint64_t)0x1000)

/* One function of `size` bytes; what becomes of the call at `call_at`; `ret_count` of them in all.
 */
static enum sonde__raw_result result_of(const void *code, size_t size, size_t call_at,
                                        uint64_t word, size_t *ret_count)
{
    uint8_t frames[] = {16, 0, 0,  0, 0, 0, 0,  0, 1, 'z', 'R', 0,    1, 0x78, 16, 1, 4, 0,
                        0,  0, 24, 0, 0, 0, 24, 0, 0, 0,   0,   0x10, 0, 0,    0,  0, 0, 0,
                        0,  0, 0,  0, 0, 0, 0,  0, 0, 0,   0,   0,    0, 0,    0,  0};
    for (unsigned i = 0; i < 8; i++) {
        frames[36 + i] = (uint8_t)(size >> (8 * i));
    }
    const struct sonde__cfi cfi = {
        .eh_frame = frames, .eh_frame_size = sizeof frames, .eh_frame_vaddr = 0x100000};
    const struct sonde__hook_raw_code codes = {code, VADDR, size};
    const struct sonde__hook_raw_code datas = {(const uint8_t *)&word, 0x200000, sizeof word};
    const struct sonde__hook_raw_image image = {.arch = SONDE_ARCH_X86_64,
                                                .base = BASE,
                                                .codes = &codes,
                                                .datas = &datas,
                                                .code_count = 1,
                                                .data_count = 1,
                                                .cfi = &cfi};
    struct sonde__hook_raw_site *sites = NULL;
    struct sonde__raw_plan plan;
    enum sonde__raw_result result = SONDE__RAW_CODE;
    CHECK(sonde__hook_raw_find(&image, NULL, &sites, ret_count));
    for (size_t i = 0; i < *ret_count; i++) {
        const struct sonde__hook_raw_site *site = &sites[i];
        if (site->vaddr == VADDR + call_at && site->is_decoded) {
            result = sonde__arch_raw_plan(
                SONDE_ARCH_X86_64, site->code, (size_t)(site->function_end - site->near),
                (size_t)(site->vaddr - site->near), site->targets, site->is_certain, &plan);
        }
    }
    sonde__mem_free(sites);
    return result;
}

/* xor %eax, %eax; mov %rdi, %r10; syscall; test %rax, %rax; ret: with something that leads to the
 * second instruction, and between those behind the call, no jump has room. */
#define SHORT_CODE "\x31\xc0\x49\x89\xfa\x0f\x05\x48\x85\xc0\xc3"

TEST(places_that_data_and_operands_tell_of)
{
    size_t count;
    const size_t size = sizeof SHORT_CODE - 1;
    CHECK_EQ(result_of(SHORT_CODE, size, 5, 0, &count), SONDE__RAW_PATCHED);
    CHECK_EQ(count, 1);
    /* the jump would lie from 0 to 5: to its first byte may be led */
    CHECK_EQ(result_of(SHORT_CODE, size, 5, BASE + VADDR, &count), SONDE__RAW_PATCHED);
    CHECK_EQ(result_of(SHORT_CODE, size, 5, BASE + VADDR + 3, &count), SONDE__RAW_BRANCHES);
    /* to 2: then it lies from there to 7, over the call; to the call and behind it: nowhere */
    CHECK_EQ(result_of(SHORT_CODE, size, 5, BASE + VADDR + 2, &count), SONDE__RAW_PATCHED);
    /* an address is no vaddr */
    CHECK_EQ(result_of(SHORT_CODE, size, 5, VADDR + 3, &count), SONDE__RAW_PATCHED);
    /* lea -10(%rip), %rcx, which is byte 3 */
    static const char taken[] = "\x31\xc0\x49\x89\xfa\x0f\x05\x48\x8d\x0d\xf5\xff\xff\xff\xc3";
    CHECK_EQ(result_of(taken, sizeof taken - 1, 5, 0, &count), SONDE__RAW_BRANCHES);
}

/* je 1f; lock; 1: cmpxchg %ecx, (%rdx); syscall: into the middle of an instruction. */
TEST(a_branch_behind_a_prefix)
{
    static const char code[] = "\x74\x01\xf0\x0f\xb1\x0a\x90\x0f\x05\x48\x85\xc0\xc3";
    size_t count;
    CHECK_EQ(result_of(code, sizeof code - 1, 7, 0, &count), SONDE__RAW_BRANCHES);
    static const char none[] = "\x90\x90\xf0\x0f\xb1\x0a\x90\x0f\x05\x48\x85\xc0\xc3";
    CHECK_EQ(result_of(none, sizeof none - 1, 7, 0, &count), SONDE__RAW_PATCHED);
}

/* A function of calls only, too large for quadratic work. */
TEST(bounded)
{
    enum { SIZE = 1 << 20 };
    uint8_t *code = malloc(SIZE);
    size_t count;
    CHECK(code != NULL);
    for (size_t i = 0; i < SIZE; i += 2) {
        memcpy(code + i, "\x0f\x05", 2);
    }
    CHECK_EQ(result_of(code, SIZE, SIZE / 2, 0, &count), SONDE__RAW_FIXED);
    CHECK_EQ(count, SIZE / 2);
    memcpy(code + SIZE / 4, "\x06\x06",
           2); /* no instruction: what follows is not known to be code */
    CHECK_EQ(result_of(code, SIZE, SIZE / 2, 0, &count), SONDE__RAW_CODE);
    free(code);
}

/* Any bytes, with many calls, short branches and functions among them, under the fuzz target's
 * checks. */
TEST(any_image)
{
    uint64_t random = 88172645463325252u;
    for (unsigned i = 0; i < 4000; i++) {
        uint8_t input[200];
        for (size_t k = 0; k < sizeof input; k++) {
            static const uint8_t often[] = {0x0f, 0x05, 0x90, 0x74, 0xeb, 0xb8, 0, 1};
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            input[k] = (random & 3) != 0 ? often[random >> 8 & 7] : (uint8_t)(random >> 32);
        }
        for (size_t k = 0; k < 34; k++) {
            input[k] = k == 0 || k == 17 ? 8 : (uint8_t)((k & 1) != (k > 17) ? input[k] % 160 : 0);
        }
        CHECK_EQ(LLVMFuzzerTestOneInput(input, sizeof input), 0);
    }
}
