// SPDX-License-Identifier: Apache-2.0
#include "arch_x86_form.h"

#include "base_mem.h"

/* What follows an opcode. M: a ModRM byte; then the immediate: B 1 byte, Z 4 bytes (2 for operands
 * of 16 bits), W 2 bytes, V as many as the operand has, J a displacement of 4 bytes, O an address
 * of 8 bytes, E 3 bytes. G: by the ModRM's middle bits. X: no instruction. */
enum { N, M, B, MB, Z, MZ, W, V, J, O, E, GB, GZ, X, P };

/* P: a prefix or an escape, seen before the table is asked. */
static const uint8_t map_one[256] = {
    /* 0        1  2  3  4  5  6  7  8  9  a  b  c  d  e  f */
    /* 0 */ M,  M,  M, M,  B, Z, X,  X,  M, M,  M, M,  B, Z, X, P,
    /* 1 */ M,  M,  M, M,  B, Z, X,  X,  M, M,  M, M,  B, Z, X, X,
    /* 2 */ M,  M,  M, M,  B, Z, P,  X,  M, M,  M, M,  B, Z, P, X,
    /* 3 */ M,  M,  M, M,  B, Z, P,  X,  M, M,  M, M,  B, Z, P, X,
    /* 4 */ P,  P,  P, P,  P, P, P,  P,  P, P,  P, P,  P, P, P, P,
    /* 5 */ N,  N,  N, N,  N, N, N,  N,  N, N,  N, N,  N, N, N, N,
    /* 6 */ X,  X,  P, M,  P, P, P,  P,  Z, MZ, B, MB, N, N, N, N,
    /* 7 */ B,  B,  B, B,  B, B, B,  B,  B, B,  B, B,  B, B, B, B,
    /* 8 */ MB, MZ, X, MB, M, M, M,  M,  M, M,  M, M,  M, M, M, M,
    /* 9 */ N,  N,  N, N,  N, N, N,  N,  N, N,  X, N,  N, N, N, N,
    /* a */ O,  O,  O, O,  N, N, N,  N,  B, Z,  N, N,  N, N, N, N,
    /* b */ B,  B,  B, B,  B, B, B,  B,  V, V,  V, V,  V, V, V, V,
    /* c */ MB, MB, W, N,  P, P, MB, MZ, E, N,  W, N,  N, B, X, N,
    /* d */ M,  M,  M, M,  X, X, X,  N,  M, M,  M, M,  M, M, M, M,
    /* e */ B,  B,  B, B,  B, B, B,  B,  J, J,  X, B,  N, N, N, N,
    /* f */ P,  N,  P, P,  N, N, GB, GZ, N, N,  N, N,  N, N, M, M,
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

/* A little-endian number, with its sign. */
static int64_t little(struct cursor *c, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) {
        value |= (uint64_t)next(c) << (8 * i);
    }
    unsigned unused = 64 - 8 * bytes;
    return (int64_t)(value << unused) >> unused;
}

/* Prefixes in any order, then REX. Returns the byte after them. */
static uint8_t read_prefixes(struct cursor *c, struct sonde__x86_form *f)
{
    for (;;) {
        uint8_t byte = next(c);
        switch (byte) {
        case 0x66:
            f->is_16 = true;
            continue;
        case 0x67:
            f->is_address_32 = true;
            continue;
        case 0xf2:
            f->is_repeat_f2 = true;
            continue;
        case 0xf3:
            f->is_repeat_f3 = true;
            continue;
        case 0x64:
        case 0x65:
            f->segment = byte;
            continue;
        case 0x26: /* segments that 64-bit mode ignores, or a hint for a branch */
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0xf0:
            continue;
        default:
            break;
        }
        if ((byte & 0xf0) == 0x40) {
            f->rex = byte;
            byte = next(c);
        }
        return byte;
    }
}

/* VEX and EVEX: of their bits only the map is needed. */
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

static void read_modrm(struct cursor *c, const uint8_t *code, struct sonde__x86_form *f)
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

/* How many bytes of an immediate follow. */
static unsigned immediate_bytes(const struct sonde__x86_form *f, unsigned operands)
{
    bool is_wide = sonde__x86_is_wide(f), is_test = sonde__x86_group(f) < 2;
    unsigned z = f->is_16 && !is_wide ? 2 : 4;
    switch (operands) {
    case B:
    case MB:
        return 1;
    case GB:
        return is_test ? 1 : 0;
    case GZ:
        return is_test ? z : 0;
    case Z:
    case MZ:
        return z;
    case V:
        return is_wide ? 8 : z;
    case W:
        return 2;
    case E:
        return 3;
    case J: /* the 0x66 prefix does not shorten it (Intel SDM, CALL; padding before calls) */
        return 4;
    case O:
        return 8;
    default:
        return 0;
    }
}

bool sonde__arch_x86_form(const uint8_t *code, size_t size, struct sonde__x86_form *ret_form)
{
    struct cursor c = {
        code, code + (size < SONDE__X86_INSN_BYTES_MAX ? size : SONDE__X86_INSN_BYTES_MAX), false};
    struct sonde__x86_form f;
    unsigned operands, immediate;
    sonde__base_mem_set(&f, 0, sizeof f);
    if (!read_opcode(&c, &f) || c.cut) {
        return false;
    }
    operands = operands_of(&f);
    if (operands == X || operands == P) {
        return false;
    }
    if (operands == M || operands == MB || operands == MZ || operands == GB || operands == GZ) {
        read_modrm(&c, code, &f);
    }
    immediate = immediate_bytes(&f, operands);
    f.immediate = immediate == 0 ? 0 : little(&c, immediate);
    f.length = (uint8_t)(c.at - code);
    if (c.cut) {
        return false;
    }
    *ret_form = f;
    return true;
}
