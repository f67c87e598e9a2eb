// SPDX-License-Identifier: Apache-2.0
#include "arch_x86_form.h"

/* What follows an opcode. M: a ModRM byte; then the immediate: B 1 byte, Z 4 bytes (2 for 16-bit
 * operands), W 2 bytes, V the operand's size, J a displacement of 4 bytes, O an address of 8 bytes,
 * E 3 bytes. G: depends on ModRM's middle bits. X: invalid. P: REX or an escape, handled before the
 * table look-up. L: a legacy prefix. */
enum { N, M, B, MB, Z, MZ, W, V, J, O, E, GB, GZ, X, P, L };

static const uint8_t map_one[256] = {
    /* 0        1  2  3  4  5  6  7  8  9  a  b  c  d  e  f */
    /* 0 */ M,  M,  M, M,  B, Z, X,  X,  M, M,  M, M,  B, Z, X, P,
    /* 1 */ M,  M,  M, M,  B, Z, X,  X,  M, M,  M, M,  B, Z, X, X,
    /* 2 */ M,  M,  M, M,  B, Z, L,  X,  M, M,  M, M,  B, Z, L, X,
    /* 3 */ M,  M,  M, M,  B, Z, L,  X,  M, M,  M, M,  B, Z, L, X,
    /* 4 */ P,  P,  P, P,  P, P, P,  P,  P, P,  P, P,  P, P, P, P,
    /* 5 */ N,  N,  N, N,  N, N, N,  N,  N, N,  N, N,  N, N, N, N,
    /* 6 */ X,  X,  P, M,  L, L, L,  L,  Z, MZ, B, MB, N, N, N, N,
    /* 7 */ B,  B,  B, B,  B, B, B,  B,  B, B,  B, B,  B, B, B, B,
    /* 8 */ MB, MZ, X, MB, M, M, M,  M,  M, M,  M, M,  M, M, M, M,
    /* 9 */ N,  N,  N, N,  N, N, N,  N,  N, N,  X, N,  N, N, N, N,
    /* a */ O,  O,  O, O,  N, N, N,  N,  B, Z,  N, N,  N, N, N, N,
    /* b */ B,  B,  B, B,  B, B, B,  B,  V, V,  V, V,  V, V, V, V,
    /* c */ MB, MB, W, N,  P, P, MB, MZ, E, N,  W, N,  N, B, X, N,
    /* d */ M,  M,  M, M,  X, X, X,  N,  M, M,  M, M,  M, M, M, M,
    /* e */ B,  B,  B, B,  B, B, B,  B,  J, J,  X, B,  N, N, N, N,
    /* f */ L,  N,  L, L,  N, N, GB, GZ, N, N,  N, N,  N, N, M, M,
};

static const uint8_t map_0f[256] = {
    /* 0 */ M,  M,  M,  M,  X,  N,  N,  N, N, N, X,  N, X,  M, N, MB,
    /* 1 */ M,  M,  M,  M,  M,  M,  M,  M, M, M, M,  M, M,  M, M, M,
    /* 2 */ M,  M,  M,  M,  X,  X,  X,  X, M, M, M,  M, M,  M, M, M,
    /* 3 */ N,  N,  N,  N,  N,  N,  X,  N, P, X, P,  X, X,  X, X, X,
    /* 4 */ M,  M,  M,  M,  M,  M,  M,  M, M, M, M,  M, M,  M, M, M,
    /* 5 */ M,  M,  M,  M,  M,  M,  M,  M, M, M, M,  M, M,  M, M, M,
    /* 6 */ M,  M,  M,  M,  M,  M,  M,  M, M, M, M,  M, M,  M, M, M,
    /* 7 */ MB, MB, MB, MB, M,  M,  M,  N, M, M, M,  M, M,  M, M, M,
    /* 8 */ J,  J,  J,  J,  J,  J,  J,  J, J, J, J,  J, J,  J, J, J,
    /* 9 */ M,  M,  M,  M,  M,  M,  M,  M, M, M, M,  M, M,  M, M, M,
    /* a */ N,  N,  N,  M,  MB, M,  X,  X, N, N, N,  M, MB, M, M, M,
    /* b */ M,  M,  M,  M,  M,  M,  M,  M, M, M, MB, M, M,  M, M, M,
    /* c */ M,  M,  MB, M,  MB, MB, MB, M, N, N, N,  N, N,  N, N, N,
    /* d */ M,  M,  M,  M,  M,  M,  M,  M, M, M, M,  M, M,  M, M, M,
    /* e */ M,  M,  M,  M,  M,  M,  M,  M, M, M, M,  M, M,  M, M, M,
    /* f */ M,  M,  M,  M,  M,  M,  M,  M, M, M, M,  M, M,  M, M, M,
};

struct cursor {
    const uint8_t *at, *end;
    bool cut;
};

static uint8_t next(struct cursor *c)
{
    if (c->at >= c->end) {
        c->cut = true;
        return 0;
    }
    return *c->at++;
}

static inline uint64_t little_u32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* A signed little-endian number of 1, 2, 3, 4 or 8 bytes. */
static inline int64_t little(struct cursor *c, unsigned bytes)
{
    const uint8_t *at = c->at;
    if ((size_t)(c->end - at) < bytes) {
        c->cut = true;
        return 0;
    }
    c->at += bytes;
    switch (bytes) {
    case 1:
        return (int8_t)at[0];
    case 4:
        return (int32_t)little_u32(at);
    case 8:
        return (int64_t)(little_u32(at) | little_u32(at + 4) << 32);
    default:
        return bytes == 2 ? (int16_t)(at[0] | at[1] << 8)
                          : at[0] | at[1] << 8 | (int8_t)at[2] * 65536;
    }
}

/* Segments that 64-bit mode ignores, branch hints and lock have no effect here. */
static void note_prefix(uint8_t byte, struct sonde__x86_form *f)
{
    f->is_16 |= byte == 0x66;
    f->is_address_32 |= byte == 0x67;
    f->is_repeat_f2 |= byte == 0xf2;
    f->is_repeat_f3 |= byte == 0xf3;
    f->segment = byte == 0x64 || byte == 0x65 ? byte : f->segment;
}

/* Prefixes in any order, then REX. Returns the byte after them. */
static uint8_t read_prefixes(struct cursor *c, struct sonde__x86_form *f)
{
    uint8_t byte = next(c);
    while (map_one[byte] == L) {
        note_prefix(byte, f);
        byte = next(c);
    }
    if ((byte & 0xf0) == 0x40) {
        f->rex = byte;
        byte = next(c);
    }
    return byte;
}

/* VEX and EVEX: only the map is needed. */
static bool read_vex(struct cursor *c, uint8_t first, struct sonde__x86_form *f)
{
    uint8_t byte = next(c);
    f->is_vex = true;
    f->map = first == 0xc5 ? 1 : byte & (first == 0x62 ? 7 : 31);
    for (int more = first == 0xc5 ? 0 : first == 0xc4 ? 1 : 2; more > 0; more--) {
        (void)next(c);
    }
    f->opcode = next(c);
    return f->map >= 1 && f->map <= 6 && f->map != 4;
}

/* Prefixes and the opcode. False: an unknown map. */
static bool read_opcode(struct cursor *c, struct sonde__x86_form *f)
{
    uint8_t byte = read_prefixes(c, f);
    if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
        return read_vex(c, byte, f);
    }
    if (byte == 0x0f) {
        f->map = 1;
        byte = next(c);
        if (byte == 0x38 || byte == 0x3a) {
            f->map = byte == 0x38 ? 2 : 3;
            byte = next(c);
        }
    }
    f->opcode = byte;
    return true;
}

static inline void read_modrm(struct cursor *c, const uint8_t *code, struct sonde__x86_form *f)
{
    unsigned mod, rm;
    f->modrm = next(c);
    mod = f->modrm >> 6;
    rm = f->modrm & 7;
    if (mod == 3) {
        return;
    }
    if (rm == 4) {
        f->sib = next(c);
    }
    if (mod == 1) {
        f->displacement = (int32_t)little(c, 1);
    } else if (mod == 2 || (mod == 0 && (rm == 5 || (rm == 4 && (f->sib & 7) == 5)))) {
        f->relative_at = mod == 0 && rm == 5 ? (uint8_t)(c->at - code) : 0;
        f->displacement = (int32_t)little(c, 4);
    }
}

static unsigned operands_of(const struct sonde__x86_form *f)
{
    if (f->map == 2 || f->map == 5 || f->map == 6) {
        return M;
    }
    if (f->map == 3) {
        return MB;
    }
    if (f->map == 1) {
        unsigned operands = map_0f[f->opcode];
        return f->is_vex && operands != N && operands != MB ? M : operands;
    }
    return map_one[f->opcode];
}

/* Size of the immediate that follows. */
static unsigned immediate_bytes(const struct sonde__x86_form *f, unsigned operands)
{
    /* J: the 0x66 prefix does not shorten it (Intel SDM, CALL; padding before calls) */
    static const uint8_t fixed[] = {[B] = 1, [MB] = 1, [W] = 2, [E] = 3, [J] = 4, [O] = 8, [L] = 0};
    bool is_wide = sonde__x86_is_wide(f), is_test = sonde__x86_group(f) < 2;
    unsigned z = f->is_16 && !is_wide ? 2 : 4;
    switch (operands) {
    case GB:
        return is_test ? 1 : 0;
    case GZ:
        return is_test ? z : 0;
    case Z:
    case MZ:
        return z;
    case V:
        return is_wide ? 8 : z;
    default:
        return fixed[operands];
    }
}

#define BIT(operands) (1u << (operands))

bool sonde__arch_x86_form(const uint8_t *code, size_t size, struct sonde__x86_form *ret_form)
{
    const unsigned with_modrm = BIT(M) | BIT(MB) | BIT(MZ) | BIT(GB) | BIT(GZ);
    const unsigned invalid = BIT(X) | BIT(P) | BIT(L), short_one = BIT(N) | BIT(M);
    struct cursor c = {
        code, code + (size < SONDE__X86_INSN_BYTES_MAX ? size : SONDE__X86_INSN_BYTES_MAX), false};
    *ret_form = (struct sonde__x86_form){0};
    if (!read_opcode(&c, ret_form) || c.cut) {
        return false;
    }
    unsigned operands = operands_of(ret_form);
    if ((BIT(operands) & invalid) != 0) {
        return false;
    }
    if ((BIT(operands) & with_modrm) != 0) {
        read_modrm(&c, code, ret_form);
    }
    unsigned bytes = (BIT(operands) & short_one) != 0 ? 0 : immediate_bytes(ret_form, operands);
    if (bytes != 0) {
        ret_form->immediate = little(&c, bytes);
    }
    ret_form->length = (uint8_t)(c.at - code);
    return !c.cut;
}
