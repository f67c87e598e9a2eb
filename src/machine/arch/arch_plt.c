// SPDX-License-Identifier: Apache-2.0
#include "arch_plt.h"

#include "arch_regs.h"
#include "base_bytes.h"

/* x86-64: [endbr64] [bnd] jmp *disp32(%rip). The slots are 16 bytes; 8 in .plt.got without IBT. */
static bool next_x86_64(const uint8_t *code, size_t size, uint64_t vaddr, uint64_t slot_size,
                        size_t offset, struct sonde__plt_slot *ret_slot, size_t *ret_next)
{
    size_t slot = slot_size == 8 ? 8 : 16;
    for (; offset < size && size - offset >= 6; offset += slot) {
        size_t at = offset, end = size - offset < slot ? size : offset + slot;
        if (end - at >= 4 && sonde__base_le32(code + at) == 0xfa1e0ff3u) {
            at += 4; /* endbr64 */
        }
        if (at < end && code[at] == 0xf2) {
            at++; /* bnd */
        }
        if (end - at >= 6 && code[at] == 0xff && code[at + 1] == 0x25) {
            int32_t displacement = (int32_t)sonde__base_le32(code + at + 2);
            ret_slot->start = vaddr + offset;
            ret_slot->end = vaddr + end;
            ret_slot->cell = vaddr + at + 6 + (uint64_t)(int64_t)displacement;
            *ret_next = end;
            return true;
        }
    }
    return false;
}

#define AARCH64_BTI_C 0xd503245fu
#define AARCH64_NOP   0xd503201fu
/* stp x16, x30, [sp, #-16]!: the header's first instruction */
#define AARCH64_PUSH_LINK 0xa9bf7bf0u
#define AARCH64_IP0       16u
#define AARCH64_IP1       17u

uint64_t sonde__arch_aarch64_cell(uint32_t adrp, uint32_t ldr, uint64_t pc, unsigned base,
                                  unsigned to)
{
    uint64_t page;
    if ((adrp & 0x9f00001fu) != (0x90000000u | base) ||
        (ldr & 0xffc003ffu) != (0xf9400000u | base << 5 | to)) {
        return 0;
    }
    page = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
    page = (page ^ 0x100000u) - 0x100000u; /* sign of 21 bits */
    return (pc & ~(uint64_t)0xfff) + (page << 12) + ((ldr >> 10 & 0xfff) << 3);
}

static uint64_t stub_cell(uint32_t adrp, uint32_t ldr, uint64_t pc)
{
    return sonde__arch_aarch64_cell(adrp, ldr, pc, AARCH64_IP0, AARCH64_IP1);
}

/* aarch64: [bti c] adrp x16; ldr x17; add x16; [autia1716] br x17 [nop]: 16 or 24 bytes. The PLT
 * header has the same pair of instructions, after a push of x16 and x30. */
static bool next_aarch64(const uint8_t *code, size_t size, uint64_t vaddr, size_t offset,
                         struct sonde__plt_slot *ret_slot, size_t *ret_next)
{
    for (; offset < size && size - offset >= 16; offset += 4) {
        size_t start = offset, at = offset + 12, limit;
        uint64_t cell = stub_cell(sonde__base_le32(code + offset),
                                  sonde__base_le32(code + offset + 4), vaddr + offset);
        if (cell == 0) {
            continue;
        }
        if (start >= 4 && sonde__base_le32(code + start - 4) == AARCH64_PUSH_LINK) {
            continue; /* the header */
        }
        if (start >= 4 && sonde__base_le32(code + start - 4) == AARCH64_BTI_C) {
            start -= 4;
        }
        /* up to and including the branch and the padding of a 24-byte slot */
        limit = size - at < 12 ? size - at : 12;
        for (limit += at; limit - at >= 4; at += 4) {
            if (sonde__base_le32(code + at) == 0xd61f0220u) { /* br x17 */
                at += 4;
                break;
            }
        }
        while (at - start < 24 && limit >= at + 4 && sonde__base_le32(code + at) == AARCH64_NOP) {
            at += 4;
        }
        ret_slot->start = vaddr + start;
        ret_slot->end = vaddr + at;
        ret_slot->cell = cell;
        *ret_next = at;
        return true;
    }
    return false;
}

enum sonde__stub_place sonde__arch_aarch64_stub_place(const uint8_t code[SONDE__STUB_BYTES])
{
    uint32_t words[SONDE__STUB_BYTES / 4];
    const unsigned here = SONDE__STUB_BEFORE / 4;
    for (unsigned i = 0; i < SONDE__STUB_BYTES / 4; i++) {
        words[i] = sonde__base_le32(code + (size_t)i * 4);
    }
    for (unsigned at = 1; at <= here + 2; at++) { /* of the adrp */
        const uint32_t *w = words + at;
        unsigned branch = w[3] == 0xd61f0220u ? 3 : 4; /* autia1716 may stand before br x17 */
        bool is_stub = stub_cell(w[0], w[1], 0x1000000) != 0 &&
                       (w[2] & 0xff8003ffu) == 0x91000210u && w[branch] == 0xd61f0220u;
        if (!is_stub || here > at + branch) {
            continue;
        }
        bool is_header = w[-1] == AARCH64_PUSH_LINK;
        if (here >= at) {
            return is_header ? SONDE__STUB_PUSHED : SONDE__STUB_CALLED;
        }
        unsigned start = at - (is_header ? 1 : 0);
        start -= start > 0 && words[start - 1] == AARCH64_BTI_C ? 1 : 0;
        return here >= start ? SONDE__STUB_CALLED : SONDE__STUB_NONE;
    }
    return SONDE__STUB_NONE;
}

bool sonde__arch_plt_next(unsigned arch, const uint8_t *code, size_t size, uint64_t vaddr,
                          uint64_t slot_size, size_t offset, struct sonde__plt_slot *ret_slot,
                          size_t *ret_next)
{
    return arch == SONDE_ARCH_X86_64
               ? next_x86_64(code, size, vaddr, slot_size, offset, ret_slot, ret_next)
               : next_aarch64(code, size, vaddr, offset, ret_slot, ret_next);
}
