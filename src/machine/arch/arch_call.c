// SPDX-License-Identifier: Apache-2.0
/* Does a call instruction end at this address? Checks candidate return addresses.
 *
 * x86-64 code cannot be decoded backwards, so every possible length of a call is tried; true means
 * "could be a call". Sources: Intel SDM vol. 2A §2.1 and CALL; Arm ARM (DDI 0487) C4.1,
 * "Unconditional branch". */
#include "arch_regs.h"
#include "base_bytes.h"

/* Bytes of ModRM, SIB and displacement of an operand; 0 if they do not fit. */
static unsigned operand_size(const uint8_t *p, unsigned size)
{
    unsigned mode = p[0] >> 6;
    unsigned rm = p[0] & 7u;
    unsigned length = 1;
    if (mode == 3) {
        return length;
    }
    if (rm == 4) {
        if (size < 2) {
            return 0;
        }
        length++;
        if (mode == 0 && (p[1] & 7) == 5) {
            return length + 4;
        }
    }
    if (mode == 0) {
        return rm == 5 ? length + 4 : length;
    }
    return length + (mode == 1 ? 1 : 4);
}

/* ff /2 with its operand, exactly `size` bytes, no prefixes. A prefix (REX, bnd f2, notrack 3e,
 * segment 64/65/2e) comes before these bytes and changes neither their length nor their being a
 * call, so prefixes are not checked. */
static bool is_indirect_call(const uint8_t *p, unsigned size)
{
    return size >= 2 && p[0] == 0xff && (p[1] >> 3 & 7) == 2 &&
           operand_size(p + 1, size - 1) == size - 1;
}

static bool is_x86_64_call_before(uint64_t pc, const uint8_t *code, unsigned size,
                                  uint64_t *ret_target)
{
    const uint8_t *end = code + size;
    if (size >= 5 && end[-5] == 0xe8) {
        uint32_t distance = sonde__base_le32(end - 4);
        *ret_target = pc + (uint64_t)(int64_t)(int32_t)distance;
        return true;
    }
    for (unsigned length = 2; length <= 7 && length <= size; length++) {
        if (is_indirect_call(end - length, length)) {
            *ret_target = 0;
            return true;
        }
    }
    return false;
}

static bool is_aarch64_call_before(uint64_t pc, const uint8_t *code, unsigned size,
                                   uint64_t *ret_target)
{
    if (size < 4 || (pc & 3) != 0) {
        return false;
    }
    const uint8_t *p = code + size - 4;
    uint32_t word = sonde__base_le32(p);
    if (word >> 26 == 0x25) { /* bl */
        int64_t words = (int64_t)((uint64_t)word << 38) >> 38;
        *ret_target = pc - 4 + (uint64_t)(words * 4);
        return true;
    }
    bool blr = (word & 0xfffffc1f) == 0xd63f0000;          /* blr */
    bool blr_zero_key = (word & 0xfffff81f) == 0xd63f081f; /* blraaz, blrabz */
    bool blr_with_key = (word & 0xfffff800) == 0xd73f0800; /* blraa, blrab */
    *ret_target = 0;
    return blr || blr_zero_key || blr_with_key;
}

bool sonde__arch_is_call_before(unsigned arch, uint64_t pc, const uint8_t *code, unsigned size,
                                uint64_t *ret_target)
{
    uint64_t target = 0;
    bool is_call = arch == SONDE_ARCH_X86_64 ? is_x86_64_call_before(pc, code, size, &target)
                                             : is_aarch64_call_before(pc, code, size, &target);
    if (is_call) {
        *ret_target = target;
    }
    return is_call;
}

bool sonde__arch_stub_slot(unsigned arch, uint64_t pc, const uint8_t *code, unsigned size,
                           uint64_t *ret_slot)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    unsigned at = 0;
    if (arch != SONDE_ARCH_X86_64) {
        return false; /* aarch64 stubs have three instructions; no caller needs them yet */
    }
    while (at < sizeof endbr64 && at < size && code[at] == endbr64[at]) {
        at++;
    }
    at = at == sizeof endbr64 ? at : 0;
    if (at < size && code[at] == 0xf2) { /* bnd */
        at++;
    }
    if (at + 6 > size || code[at] != 0xff || code[at + 1] != 0x25) { /* jmp *disp32(%rip) */
        return false;
    }
    const uint8_t *p = code + at + 2;
    uint32_t distance = sonde__base_le32(p);
    *ret_slot = pc + at + 6 + (uint64_t)(int64_t)(int32_t)distance;
    return true;
}
