// SPDX-License-Identifier: Apache-2.0
#include "arch_shape.h"

#include "arch_flow.h"
#include "arch_regs.h"
#include "base_bytes.h"
#include "base_hash.h"

/* Instructions hashed from the place on, and before it. Decoding x86-64 from any byte synchronizes
 * after two or three instructions, so the last ones before the place are the real ones. */
enum { AFTER_MAX = 12, BEFORE_MAX = 4 };

uint64_t sonde__arch_shape_of_bytes(const void *bytes, size_t size)
{
    uint64_t hash = sonde__base_hash_bytes(SONDE__HASH_EMPTY, bytes, size);
    return hash != 0 ? hash : 1;
}

/* Bytes of an instruction without a 4-byte displacement or immediate: instructions of up to four
 * bytes have none; of longer ones only prefix and opcode count. */
static unsigned opcode_bytes(unsigned length)
{
    return length <= 4 ? length : length == 5 ? 1 : 2;
}

static uint64_t add_x86(uint64_t hash, const uint8_t *code, unsigned length)
{
    hash = sonde__base_hash_byte(hash, (uint8_t)length);
    return sonde__base_hash_bytes(hash, code, opcode_bytes(length));
}

static uint32_t aarch64_mask(uint32_t word)
{
    if ((word & 0x7c000000) == 0x14000000) { /* b, bl */
        return 0xfc000000;
    }
    if ((word & 0x1f000000) == 0x10000000) { /* adr, adrp */
        return 0x9f00001f;
    }
    if ((word & 0x3b000000) == 0x18000000) { /* ldr of a literal */
        return 0xff00001f;
    }
    if ((word & 0x1f800000) == 0x12800000) { /* movz, movn, movk */
        return 0xffe0001f;
    }
    return UINT32_MAX;
}

static uint64_t add_aarch64(uint64_t hash, const uint8_t *code)
{
    uint32_t word = sonde__base_le32(code);
    word &= aarch64_mask(word);
    for (unsigned i = 0; i < 4; i++) {
        hash = sonde__base_hash_byte(hash, (uint8_t)(word >> 8 * i));
    }
    return hash;
}

static uint64_t add(unsigned arch, uint64_t hash, const uint8_t *code, unsigned length)
{
    return arch == SONDE_ARCH_X86_64 ? add_x86(hash, code, length) : add_aarch64(hash, code);
}

/* Hash the last instructions before code + end, decoded from `at` on. False: decoding did not end
 * there. */
static bool add_before(unsigned arch, const uint8_t *code, size_t at, size_t end, uint64_t *hash)
{
    size_t places[BEFORE_MAX];
    unsigned count = 0;
    struct sonde__flow flow;
    while (at < end) {
        places[count++ % BEFORE_MAX] = at;
        if (!sonde__arch_flow(arch, 0, code + at, end - at, &flow)) {
            return false;
        }
        at += flow.length;
    }
    for (unsigned i = count > BEFORE_MAX ? count - BEFORE_MAX : 0; i < count; i++) {
        size_t from = places[i % BEFORE_MAX];
        size_t to = i + 1 < count ? places[(i + 1) % BEFORE_MAX] : end;
        *hash = add(arch, *hash, code + from, (unsigned)(to - from));
    }
    return true;
}

uint64_t sonde__arch_shape(unsigned arch, const uint8_t *code, size_t before, size_t size)
{
    uint64_t hash = SONDE__HASH_EMPTY;
    size_t at = arch == SONDE_ARCH_X86_64 ? 0 : before % 4;
    unsigned count = 0;
    struct sonde__flow flow = {.kind = SONDE__FLOW_ON};
    while (at < before && !add_before(arch, code, at, before, &hash)) {
        at++;
    }
    for (at = before; count < AFTER_MAX && sonde__arch_flow(arch, 0, code + at, size - at, &flow);
         count++) {
        hash = add(arch, hash, code + at, flow.length);
        at += flow.length;
        if (flow.kind == SONDE__FLOW_JUMP || flow.kind == SONDE__FLOW_JUMP_SLOT ||
            flow.kind == SONDE__FLOW_JUMP_INDIRECT || flow.kind == SONDE__FLOW_JUMP_TABLE ||
            flow.kind == SONDE__FLOW_RETURN || flow.kind == SONDE__FLOW_STOP) {
            count++;
            break; /* other code may follow */
        }
    }
    return count == 0 ? 0 : hash != 0 ? hash : 1;
}
