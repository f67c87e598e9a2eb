// SPDX-License-Identifier: Apache-2.0
/* Addresses in instructions of aarch64 (Arm ARM DDI 0487, C4.1 and the pages of ADR, ADRP, B, LDR).
 * Context: any thread. */
#include "loaded_inside.h"

enum { PAGE = 4096 };

static bool fits(int64_t value, unsigned bits)
{
    int64_t limit = (int64_t)1 << (bits - 1);
    return value >= -limit && value < limit;
}

static uint32_t with_field(uint32_t word, int64_t value, unsigned from, unsigned bits)
{
    uint32_t mask = ((uint32_t)1 << bits) - 1;
    return (word & ~(mask << from)) | ((uint32_t)value & mask) << from;
}

/* adr and adrp: the two lowest bits have their own field. */
static uint32_t with_adr(uint32_t word, int64_t value)
{
    return with_field(with_field(word, value, 29, 2), value >> 2, 5, 19);
}

/* The log2 of an offset's scale: 2^n bytes for loads and stores with an unsigned offset, else 0. */
static unsigned scale_of(uint32_t word)
{
    unsigned size = word >> 30;
    if ((word & 0x3b000000) != 0x39000000) {
        return 0;
    }
    /* a vector register of 16 bytes: size 0, and the higher bit of opc */
    return size == 0 && (word & 0x04800000) == 0x04800000 ? 4 : size;
}

void loaded_patch_aarch64(enum loaded_patch patch, uint8_t *at, uint64_t vaddr, uint64_t target)
{
    uint32_t word = sonde__base_le32(at);
    int64_t far = (int64_t)(target - vaddr);
    int64_t pages =
        (int64_t)((target & ~(uint64_t)(PAGE - 1)) - (vaddr & ~(uint64_t)(PAGE - 1))) / PAGE;
    switch (patch) {
    case LOADED_PATCH_BRANCH26:
        word = fits(far / 4, 26) ? with_field(word, far / 4, 0, 26) : word;
        break;
    case LOADED_PATCH_BRANCH19:
        word = fits(far / 4, 19) ? with_field(word, far / 4, 5, 19) : word;
        break;
    case LOADED_PATCH_BRANCH14:
        word = fits(far / 4, 14) ? with_field(word, far / 4, 5, 14) : word;
        break;
    case LOADED_PATCH_PAGE:
        word = fits(pages, 21) ? with_adr(word, pages) : word;
        break;
    case LOADED_PATCH_NEAR:
        word = fits(far, 21) ? with_adr(word, far) : word;
        break;
    case LOADED_PATCH_PAGE_OFFSET:
        word = with_field(word, (int64_t)((target & (PAGE - 1)) >> scale_of(word)), 10, 12);
        break;
    default:
        break;
    }
    sonde__base_put_le(at, word, 4);
}
