// SPDX-License-Identifier: Apache-2.0
/* System calls in the code of an arbitrary image. They are found and planned in bounded time, and
 * no jump overwrites the target of another instruction.
 *
 * Input: number of functions (one byte), their starts (two bytes each, in a page of code; each ends
 * at the next one), number of data words (one byte), their targets (two bytes each), the code. */
#include <stdlib.h>
#include <string.h>

#include "arch_raw_site.h"
#include "arch_regs.h"
#include "arch_x86_insn.h"
#include "fuzz.h"
#include "hook_raw_find.h"
#include "mem_heap.h"

enum { FUNCTIONS = 8, WORDS = 8, CODE = 4096, CIE = 20, FDE = 28 };

#define BASE  ((uint64_t)0x7f0000000000)
#define VADDR ((uint64_t)0x1000)

static uint8_t frames[CIE + FUNCTIONS * FDE + 8];

static void put(uint8_t *at, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

/* Records of call frame information for the functions. Addresses and sizes are absolute, in 8
 * bytes; a function ends where the next begins, or before it. */
static size_t make_frames(const uint16_t *starts, unsigned count)
{
    static const uint8_t cie[CIE] = {CIE - 4, 0,   0, 0, 0,    0,  0, 0, 1,
                                     'z',     'R', 0, 1, 0x78, 16, 1, 4};
    size_t used = CIE;
    memcpy(frames, cie, CIE);
    for (unsigned i = 0; i < count; i++) {
        put(frames + used, FDE - 4, 4);
        put(frames + used + 4, used + 4, 4);
        put(frames + used + 8, VADDR + starts[i] % CODE, 8);
        put(frames + used + 16, 1 + starts[(i + 1) % count] % CODE, 8);
        used += FDE;
    }
    put(frames + used, 0, 4);
    return used + 4;
}

/* The image as decoded by the target itself. */
struct check {
    const uint8_t *code;
    size_t size;
    uint8_t is_reached[CODE]; /* targets of something in this image */
};

static void reach(struct check *check, uint64_t vaddr)
{
    if (vaddr - VADDR < check->size) {
        check->is_reached[vaddr - VADDR] = 1;
    }
}

/* Mark the targets of the instructions of each function, decoded from its start to the next
 * function. */
static void reach_all(struct check *check, const uint16_t *starts, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        size_t at = starts[i] % CODE, end = check->size;
        for (unsigned k = 0; k < count; k++) {
            size_t other = starts[k] % CODE;
            end = other > at && other < end ? other : end;
        }
        while (at < end) {
            struct sonde__x86_insn insn;
            if (!sonde__arch_x86_insn(check->code + at, end - at, &insn)) {
                at++;
                continue;
            }
            uint64_t next = VADDR + at + insn.length;
            if (insn.kind == SONDE__X86_CALL || insn.kind == SONDE__X86_JUMP ||
                insn.kind == SONDE__X86_BRANCH) {
                reach(check, next + (uint64_t)(int64_t)insn.value);
            } else if (insn.relative_at != 0) {
                int32_t value;
                memcpy(&value, check->code + at + insn.relative_at, sizeof value);
                reach(check, next + (uint64_t)(int64_t)value);
            }
            at += insn.length;
        }
    }
}

static void check_site(const struct check *check, const struct sonde__hook_raw_site *site,
                       uint64_t *last_end)
{
    struct sonde__raw_plan plan;
    uint8_t made[SONDE__RAW_BYTES], jump[SONDE__RAW_JUMP];
    FUZZ_MUST(site->function <= site->near && site->near <= site->vaddr &&
              site->vaddr + 2 <= site->function_end);
    FUZZ_MUST(site->code == check->code + (site->near - VADDR));
    FUZZ_MUST(site->function_end <= VADDR + check->size);
    if (!site->is_decoded || sonde__arch_raw_plan(SONDE_ARCH_X86_64, site->code,
                                                  (size_t)(site->function_end - site->near),
                                                  (size_t)(site->vaddr - site->near), site->targets,
                                                  site->is_certain, &plan) != SONDE__RAW_PATCHED) {
        return;
    }
    uint64_t start = site->near + plan.start;
    FUZZ_MUST(start + plan.size <= site->function_end && plan.size >= SONDE__RAW_JUMP);
    for (unsigned i = 1; i < SONDE__RAW_JUMP; i++) {
        FUZZ_MUST(!check->is_reached[start + i - VADDR]);
    }
    if (start >= *last_end) {
        (void)sonde__arch_raw_make(&plan, site->code, (size_t)(site->vaddr - site->near),
                                   BASE + site->near, BASE + 0x10000, 0, made, jump);
        *last_end = start + plan.size;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct check check;
    uint16_t starts[FUNCTIONS];
    uint64_t words[WORDS];
    unsigned count = 0, word_count = 0;
    if (size < 2) {
        return 0;
    }
    unsigned wanted = data[0] % (FUNCTIONS + 1);
    for (data++, size--; count < wanted && size > 2; data += 2, size -= 2) {
        starts[count++] = (uint16_t)(data[0] | data[1] << 8);
    }
    wanted = data[0] % (WORDS + 1);
    memset(check.is_reached, 0, sizeof check.is_reached);
    check.size = 0;
    for (data++, size--; word_count < wanted && size > 2; data += 2, size -= 2) {
        words[word_count++] = BASE + VADDR + (unsigned)(data[0] | data[1] << 8) % CODE;
    }
    uint8_t *code = malloc(size < CODE ? size + 1 : CODE); /* reads past its end are detected */
    if (code == NULL || count == 0) {
        free(code);
        return 0;
    }
    check.size = size < CODE ? size : CODE;
    check.code = code;
    memcpy(code, data, check.size);
    for (unsigned i = 0; i < word_count; i++) {
        reach(&check, words[i] - BASE);
    }
    reach_all(&check, starts, count);
    const struct sonde__cfi cfi = {.eh_frame = frames,
                                   .eh_frame_size = make_frames(starts, count),
                                   .eh_frame_vaddr = 0x100000};
    const struct sonde__hook_raw_code codes[1] = {{code, VADDR, check.size}};
    const struct sonde__hook_raw_code datas[1] = {
        {(const uint8_t *)words, 0x200000, word_count * sizeof words[0]}};
    const struct sonde__hook_raw_image image = {.arch = SONDE_ARCH_X86_64,
                                                .base = BASE,
                                                .codes = codes,
                                                .datas = datas,
                                                .code_count = 1,
                                                .data_count = 1,
                                                .cfi = &cfi};
    struct sonde__hook_raw_site *sites = NULL;
    size_t site_count = 0;
    uint64_t last_end = 0;
    if (sonde__hook_raw_find(&image, NULL, &sites, &site_count)) {
        for (size_t i = 0; i < site_count; i++) {
            FUZZ_MUST(i == 0 || sites[i].vaddr > sites[i - 1].vaddr);
            check_site(&check, &sites[i], &last_end);
        }
        sonde__mem_free(sites);
    }
    free(code);
    return 0;
}
