// SPDX-License-Identifier: Apache-2.0
#include "arch_x86_insn.h"

#include "base_mem.h"

enum { RSP = 4, RBP = 5 };

/* What follows an opcode. M: a ModRM byte; then the immediate: B 1 byte, Z 4 bytes (2 with the 0x66
 * prefix), W 2 bytes, V 4 bytes or 8 with REX.W (2 with 0x66), J a displacement of 4 bytes, O an
 * address of 8 bytes, E 3 bytes. G: by the ModRM's middle bits. X: no instruction. */
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
    const uint8_t *begin, *at, *end;
    bool cut;
    bool is_16, is_wide, has_r, has_b; /* 0x66; REX.W, .R, .B */
    uint8_t map;                       /* 0: one byte, 1: 0f, 2: 0f38, 3: 0f3a */
    uint8_t opcode;
    bool is_vex;
    uint8_t modrm;
    bool has_sib;
    uint8_t sib;
    uint8_t relative_at;
    int32_t displacement;
    int32_t immediate;
};

static uint8_t next(struct cursor *c)
{
    if (c->at >= c->end) {
        c->cut = true;
        return 0;
    }
    return *c->at++;
}

static int32_t little(struct cursor *c, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) {
        value |= (uint64_t)next(c) << (8 * i);
    }
    if (bytes == 1) {
        return (int8_t)value;
    }
    return bytes == 2 ? (int16_t)value : (int32_t)value;
}

static void read_vex(struct cursor *c, uint8_t first)
{
    uint8_t byte = next(c);
    c->is_vex = true;
    c->map = 1;
    if (first == 0xc5) {
        return;
    }
    c->map = byte & (first == 0x62 ? 7 : 31);
    c->is_wide = (next(c) & 0x80) != 0;
    if (first == 0x62) {
        (void)next(c);
    }
}

/* Prefixes and the opcode. False: two prefixes that exclude each other, or an unknown map. */
static bool read_opcode(struct cursor *c)
{
    for (;;) {
        uint8_t byte = next(c);
        switch (byte) {
        case 0x66:
            c->is_16 = true;
            continue;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x64:
        case 0x65:
        case 0x67:
        case 0xf0:
        case 0xf2:
        case 0xf3:
            continue;
        default:
            break;
        }
        if ((byte & 0xf0) == 0x40) {
            c->is_wide = (byte & 8) != 0;
            c->has_r = (byte & 4) != 0;
            c->has_b = (byte & 1) != 0;
            byte = next(c);
        }
        if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
            read_vex(c, byte);
            c->opcode = next(c);
            return c->map >= 1 && c->map <= 6 && c->map != 4;
        }
        if (byte == 0x0f) {
            c->map = 1;
            byte = next(c);
            if (byte == 0x38 || byte == 0x3a) {
                c->map = byte == 0x38 ? 2 : 3;
                byte = next(c);
            }
        }
        c->opcode = byte;
        return true;
    }
}

static void read_modrm(struct cursor *c)
{
    unsigned mod, rm;
    c->modrm = next(c);
    mod = c->modrm >> 6;
    rm = c->modrm & 7;
    if (mod == 3) {
        return;
    }
    if (rm == 4) {
        c->has_sib = true;
        c->sib = next(c);
    }
    if (mod == 1) {
        c->displacement = little(c, 1);
    } else if (mod == 2 || (mod == 0 && (rm == 5 || (rm == 4 && (c->sib & 7) == 5)))) {
        c->relative_at = mod == 0 && rm == 5 ? (uint8_t)(c->at - c->begin) : 0;
        c->displacement = little(c, 4);
    }
}

static unsigned form_of(const struct cursor *c)
{
    if (c->map == 2 || c->map == 5 || c->map == 6) {
        return M;
    }
    if (c->map == 3) {
        return MB;
    }
    if (c->map == 1) {
        unsigned form = map_0f[c->opcode];
        return c->is_vex && form != N && form != MB ? M : form;
    }
    return map_one[c->opcode];
}

static bool read_operands(struct cursor *c, unsigned form)
{
    unsigned group;
    if (form == X || form == P) {
        return false;
    }
    if (form == M || form == MB || form == MZ || form == GB || form == GZ) {
        read_modrm(c);
    }
    group = c->modrm >> 3 & 7;
    switch (form) {
    case B:
    case MB:
        c->immediate = little(c, 1);
        break;
    case GB:
        c->immediate = group < 2 ? little(c, 1) : 0;
        break;
    case GZ:
        c->immediate = group >= 2 ? 0 : little(c, c->is_16 ? 2 : 4);
        break;
    case Z:
    case MZ:
        c->immediate = little(c, c->is_16 ? 2 : 4);
        break;
    case V:
        c->immediate = little(c, c->is_wide ? 8 : c->is_16 ? 2 : 4);
        break;
    case W:
        c->immediate = little(c, 2);
        break;
    case J: /* the 0x66 prefix does not shorten it (Intel SDM, CALL; padding before calls) */
        c->immediate = little(c, 4);
        break;
    case O:
        (void)little(c, 8);
        break;
    case E:
        (void)little(c, 3);
        break;
    default:
        break;
    }
    return !c->cut;
}

/* Arithmetic on rsp by an immediate. */
static void classify_group(const struct cursor *c, struct sonde__x86_insn *insn)
{
    unsigned group = c->modrm >> 3 & 7;
    if (group == 7) {
        return; /* cmp */
    }
    insn->kind = group == 0 || group == 5 ? SONDE__X86_SP_ADD : SONDE__X86_SP_LOST;
    insn->value = group == 5 ? -c->immediate : c->immediate;
    if (!c->is_wide || c->immediate == INT32_MIN) {
        insn->kind = SONDE__X86_SP_LOST;
    }
}

/* lea disp(base), reg where reg is rsp or rbp. */
static void classify_lea(const struct cursor *c, unsigned reg, struct sonde__x86_insn *insn)
{
    unsigned mod = c->modrm >> 6, rm = c->modrm & 7;
    bool from_sp = mod != 3 && rm == 4 && c->sib == 0x24 && !c->has_b;
    bool from_fp = (mod == 1 || mod == 2) && rm == 5 && !c->has_b;
    insn->value = c->displacement;
    if (reg == RSP) {
        insn->kind = !c->is_wide ? SONDE__X86_SP_LOST
                     : from_sp   ? SONDE__X86_SP_ADD
                     : from_fp   ? SONDE__X86_SP_FROM_FP
                                 : SONDE__X86_SP_LOST;
    } else if (from_sp && c->is_wide) {
        insn->kind = SONDE__X86_FP_FROM_SP;
    }
}

/* mov and arithmetic between registers where one of them is rsp or rbp. */
static void classify_move(const struct cursor *c, struct sonde__x86_insn *insn)
{
    bool is_store = (c->opcode & 2) == 0; /* the operand of the middle bits goes to the other */
    bool is_mov = c->opcode == 0x89 || c->opcode == 0x8b;
    unsigned rm = (c->modrm & 7u) + (c->has_b ? 8 : 0),
             reg = (c->modrm >> 3 & 7u) + (c->has_r ? 8 : 0);
    unsigned to = is_store ? rm : reg, from = is_store ? reg : rm;
    if (c->modrm >> 6 != 3) {
        if (!is_store && to == RSP) {
            insn->kind = SONDE__X86_SP_LOST;
        }
        return;
    }
    if (to == RSP) {
        insn->kind =
            is_mov && from == RBP && c->is_wide ? SONDE__X86_SP_FROM_FP : SONDE__X86_SP_LOST;
    } else if (to == RBP && from == RSP && is_mov && c->is_wide) {
        insn->kind = SONDE__X86_FP_FROM_SP;
    }
}

/* Of opcode 0xff by the ModRM's middle bits: inc, dec, call, call far, jmp, jmp far, push. */
static void classify_ff(const struct cursor *c, bool is_rsp, struct sonde__x86_insn *insn)
{
    static const uint8_t kinds[8] = {
        SONDE__X86_OTHER,         SONDE__X86_OTHER,         SONDE__X86_CALL_INDIRECT,
        SONDE__X86_CALL_INDIRECT, SONDE__X86_JUMP_INDIRECT, SONDE__X86_JUMP_INDIRECT,
        SONDE__X86_PUSH,          SONDE__X86_OTHER,
    };
    unsigned group = c->modrm >> 3 & 7;
    insn->kind = group < 2 && is_rsp ? SONDE__X86_SP_LOST : kinds[group];
    if ((group == 2 || group == 4) && (c->modrm & 0xc7) == 5) {
        insn->reg = SONDE__X86_REG_NEXT;
        insn->value = c->displacement;
    }
}

/* Where control goes, for the opcodes that are about that. */
static unsigned control_of(uint8_t op)
{
    switch (op) {
    case 0xc2:
    case 0xc3:
    case 0xca:
    case 0xcb:
    case 0xcf:
        return SONDE__X86_RETURN;
    case 0xcc:
    case 0xf4:
        return SONDE__X86_STOP;
    case 0xe0:
    case 0xe1:
    case 0xe2:
    case 0xe3:
        return SONDE__X86_BRANCH;
    case 0xe8:
        return SONDE__X86_CALL;
    case 0xe9:
    case 0xeb:
        return SONDE__X86_JUMP;
    default:
        return op >= 0x70 && op <= 0x7f ? SONDE__X86_BRANCH : SONDE__X86_OTHER;
    }
}

static void classify_push_pop(const struct cursor *c, struct sonde__x86_insn *insn)
{
    insn->kind = c->opcode < 0x58 ? SONDE__X86_PUSH : SONDE__X86_POP;
    insn->reg = (uint8_t)((c->opcode & 7u) + (c->has_b ? 8 : 0));
    if (c->is_16 || (insn->kind == SONDE__X86_POP && insn->reg == RSP)) {
        insn->kind = SONDE__X86_SP_LOST;
    }
}

/* Opcodes of one byte that move rsp or rbp. */
static void classify_stack(const struct cursor *c, struct sonde__x86_insn *insn)
{
    uint8_t op = c->opcode;
    unsigned group = c->modrm >> 3 & 7;
    bool is_rsp = c->modrm >> 6 == 3 && (c->modrm & 7) == RSP && !c->has_b;
    bool is_lost = false;
    switch (op) {
    case 0x68:
    case 0x6a:
    case 0x9c:
        insn->kind = SONDE__X86_PUSH;
        break;
    case 0x9d:
        insn->kind = SONDE__X86_POP;
        break;
    case 0x8f:
        insn->kind = SONDE__X86_POP;
        is_lost = is_rsp;
        break;
    case 0x81:
    case 0x83:
        if (is_rsp) {
            classify_group(c, insn);
        }
        break;
    case 0x63:
    case 0x89:
    case 0x8b:
        classify_move(c, insn);
        break;
    case 0x87: /* xchg */
        is_lost = is_rsp || (group == RSP && !c->has_r);
        break;
    case 0x94:
    case 0xbc:
        is_lost = !c->has_b;
        break;
    case 0x8d:
        if ((group == RSP || group == RBP) && !c->has_r) {
            classify_lea(c, group, insn);
        }
        break;
    case 0xc7:
        is_lost = is_rsp;
        break;
    case 0xc8: /* enter */
        is_lost = true;
        break;
    case 0xc9:
        insn->kind = SONDE__X86_LEAVE;
        break;
    case 0xff:
        classify_ff(c, is_rsp, insn);
        break;
    default:
        break;
    }
    if (is_lost) {
        insn->kind = SONDE__X86_SP_LOST;
    }
}

static void classify_one(const struct cursor *c, struct sonde__x86_insn *insn)
{
    uint8_t op = c->opcode;
    bool is_arithmetic = op < 0x38 && ((op & 7) == 1 || (op & 7) == 3); /* of full registers */
    insn->kind = (uint8_t)control_of(op);
    if (insn->kind != SONDE__X86_OTHER) {
        insn->value =
            insn->kind == SONDE__X86_RETURN || insn->kind == SONDE__X86_STOP ? 0 : c->immediate;
    } else if (op >= 0x50 && op <= 0x5f) {
        classify_push_pop(c, insn);
    } else if (is_arithmetic) {
        classify_move(c, insn);
    } else {
        classify_stack(c, insn);
    }
}

static void classify_0f(const struct cursor *c, struct sonde__x86_insn *insn)
{
    uint8_t op = c->opcode;
    if (op >= 0x80 && op <= 0x8f) {
        insn->kind = SONDE__X86_BRANCH;
        insn->value = c->immediate;
    } else if (op == 0x05) {
        insn->kind = SONDE__X86_SYSCALL;
    } else if (op == 0x0b || op == 0xb9 || op == 0xff) {
        insn->kind = SONDE__X86_STOP; /* ud2, ud1, ud0 */
    } else if (op == 0xa0 || op == 0xa8) {
        insn->kind = SONDE__X86_PUSH;
    } else if (op == 0xa1 || op == 0xa9) {
        insn->kind = SONDE__X86_POP;
    } else if (op >= 0x40 && op <= 0x4f && (c->modrm >> 3 & 7) == RSP && !c->has_r) {
        insn->kind = SONDE__X86_SP_LOST; /* cmov */
    }
}

bool sonde__arch_x86_insn(const uint8_t *code, size_t size, struct sonde__x86_insn *ret_insn)
{
    struct cursor c;
    struct sonde__x86_insn insn = {.kind = SONDE__X86_OTHER, .reg = SONDE__X86_NO_REG};
    size_t room = size < SONDE__X86_INSN_BYTES_MAX ? size : SONDE__X86_INSN_BYTES_MAX;
    sonde__base_mem_set(&c, 0, sizeof c);
    c.begin = c.at = code;
    c.end = code + room;
    if (!read_opcode(&c) || c.cut || !read_operands(&c, form_of(&c))) {
        return false;
    }
    insn.length = (uint8_t)(c.at - c.begin);
    insn.relative_at = c.relative_at;
    if (!c.is_vex && c.map == 0) {
        classify_one(&c, &insn);
    } else if (!c.is_vex && c.map == 1) {
        classify_0f(&c, &insn);
    }
    *ret_insn = insn;
    return true;
}
