// SPDX-License-Identifier: Apache-2.0
/* What code of x86-64 stores on its stack, as far as it follows from the code alone: addresses
 * (lea), numbers, what constants in memory hold, and where the stack's parts are. Everything else
 * makes a register unknown. Where a stretch begins is seldom where an instruction does: decoding
 * falls into step after a few, and until then nothing is known. Source: Intel SDM volume 2.
 * Context: any thread. */
#include <string.h>

#include "arch_x86_insn.h"
#include "blockfile_inside.h"

enum { RSP = 4, RBP = 5, REGS = 16 };

struct vector {
    struct blockfile_value low, high;
};

struct state {
    struct blockfile_slots *slots;
    struct blockfile_value r[REGS];
    struct vector x[REGS];
    struct blockfile_value pushed; /* the last one */
    uint64_t vaddr;
};

/* An instruction in its parts: prefixes, opcode (0x0fXX: of two bytes), operands. */
struct parts {
    const uint8_t *code;
    unsigned length, at;
    bool wide, operand16, repeat, repeat_not;
    unsigned opcode;
    bool has_modrm, is_memory;
    unsigned reg, rm; /* rm: of a register operand */
    struct blockfile_value where;
    int64_t displacement;
    uint64_t next; /* vaddr of the next instruction */
};

static struct blockfile_value number(uint64_t value)
{
    return (struct blockfile_value){.kind = BLOCKFILE_NUMBER, .number = value};
}

static const struct blockfile_value unknown = {.kind = BLOCKFILE_UNKNOWN};

static void reset(struct state *s)
{
    memset(s->r, 0, sizeof s->r);
    memset(s->x, 0, sizeof s->x);
    s->pushed = unknown;
    s->r[RSP] = (struct blockfile_value){.kind = BLOCKFILE_PLACE, .base = RSP};
    s->r[RBP] = (struct blockfile_value){.kind = BLOCKFILE_PLACE, .base = RBP};
}

static int64_t signed_at(const struct parts *p, unsigned at, unsigned size)
{
    uint64_t value = 0;
    uint64_t sign = (uint64_t)1 << (size * 8 - 1);
    if (at + size > p->length) {
        return 0;
    }
    for (unsigned i = size; i > 0; i--) {
        value = value << 8 | p->code[at + i - 1];
    }
    return (int64_t)((value ^ sign) - sign);
}

static bool takes_modrm(unsigned opcode)
{
    switch (opcode) {
    case 0x0f10:
    case 0x0f11:
    case 0x0f28:
    case 0x0f29:
    case 0x0f6c:
    case 0x0f6e:
    case 0x0f6f:
    case 0x0f7e:
    case 0x0f7f:
    case 0x0fd6:
    case 0x0f16:
    case 0x0f57:
    case 0x0fef:
        return true;
    default:
        break;
    }
    return (opcode < 0x40 && (opcode & 7) < 4) || (opcode >= 0x80 && opcode <= 0x8f) ||
           opcode == 0xc7 || opcode == 0xc6 || opcode == 0xc0 || opcode == 0xc1 ||
           (opcode >= 0xd0 && opcode <= 0xd3) || opcode == 0xf6 || opcode == 0xf7 ||
           opcode == 0xfe || opcode == 0x63 || opcode == 0x69 || opcode == 0x6b ||
           (opcode > 0xff); /* of two bytes: nearly all */
}

/* ModRM, SIB and displacement. `at` is behind them then. */
static void read_operand(const struct state *s, struct parts *p, unsigned rex)
{
    unsigned modrm = p->code[p->at++], mod = modrm >> 6, size;
    bool by_next = false, index = false;
    unsigned base = (modrm & 7) | (rex & 1) << 3;
    p->has_modrm = true;
    p->reg = (modrm >> 3 & 7) | (rex >> 2 & 1) << 3;
    p->rm = base;
    if (mod == 3) {
        return;
    }
    p->is_memory = true;
    size = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    if ((modrm & 7) == 4 && p->at < p->length) {
        unsigned sib = p->code[p->at++];
        base = (sib & 7) | (rex & 1) << 3;
        index = ((sib >> 3 & 7) | (rex >> 1 & 1) << 3) != 4;
        if ((sib & 7) == 5 && mod == 0) {
            index = true; /* no base: an address of 32 bits */
            size = 4;
        }
    } else if ((modrm & 7) == 5 && mod == 0) {
        by_next = true;
        size = 4;
    }
    p->displacement = size != 0 ? signed_at(p, p->at, size) : 0;
    p->at += size;
    p->where = by_next ? number(p->next) : index ? unknown : s->r[base];
}

/* Prefixes and opcode. False: of a form that is not looked at (VEX, three bytes). */
static bool read_parts(const struct state *s, const uint8_t *code, unsigned length, struct parts *p)
{
    unsigned rex = 0;
    *p = (struct parts){.code = code, .length = length, .next = s->vaddr + length};
    for (; p->at < length; p->at++) {
        unsigned byte = code[p->at];
        p->operand16 = p->operand16 || byte == 0x66;
        p->repeat = p->repeat || byte == 0xf3;
        p->repeat_not = p->repeat_not || byte == 0xf2;
        if (byte != 0x66 && byte != 0xf3 && byte != 0xf2 && byte != 0x2e && byte != 0x3e &&
            byte != 0x64 && byte != 0x65) {
            break;
        }
    }
    if (p->at < length && (code[p->at] & 0xf0) == 0x40) {
        rex = code[p->at++];
    }
    if (p->at >= length || code[p->at] == 0xc4 || code[p->at] == 0xc5 || code[p->at] == 0x62) {
        return false;
    }
    p->wide = (rex >> 3 & 1) != 0;
    p->opcode = code[p->at++];
    if (p->opcode == 0x0f) {
        if (p->at >= length || code[p->at] == 0x38 || code[p->at] == 0x3a) {
            return false;
        }
        p->opcode = 0x0f00 | code[p->at++];
    }
    p->reg = (p->opcode & 7) | (rex & 1) << 3;
    if (takes_modrm(p->opcode) && p->at < length) {
        read_operand(s, p, rex);
    }
    return true;
}

static void lose_all(struct state *s)
{
    static const uint8_t kept[] = {3, RSP, RBP, 12, 13, 14, 15};
    struct blockfile_value keep[REGS];
    memcpy(keep, s->r, sizeof keep);
    memset(s->r, 0, sizeof s->r);
    memset(s->x, 0, sizeof s->x);
    for (unsigned i = 0; i < sizeof kept; i++) {
        s->r[kept[i]] = keep[kept[i]];
    }
}

static struct blockfile_value load(const struct state *s, const struct parts *p, int64_t more)
{
    return blockfile_load(s->slots, &p->where, p->displacement + more,
                          p->wide || more != 0 || p->opcode > 0xff ? 8 : 4);
}

static void store(struct state *s, const struct parts *p, const struct blockfile_value *value,
                  unsigned size, int64_t more)
{
    blockfile_store(s->slots, &p->where, p->displacement + more, value, size, s->vaddr);
}

/* --- vectors --- */

static void load_vector(struct state *s, const struct parts *p, unsigned size)
{
    struct vector *to = &s->x[p->reg];
    if (!p->is_memory) {
        struct vector from = s->x[p->rm];
        to->low = from.low;
        if (size == 16) {
            to->high = from.high;
        }
        return;
    }
    to->low = size >= 8 ? load(s, p, 0) : unknown;
    to->high = size == 16 ? load(s, p, 8) : number(0);
}

static void store_vector(struct state *s, const struct parts *p, unsigned size)
{
    const struct vector *from = &s->x[p->reg];
    if (!p->is_memory) {
        s->x[p->rm] = *from;
        return;
    }
    store(s, p, &from->low, size < 8 ? 4 : 8, 0);
    if (size == 16) {
        store(s, p, &from->high, 8, 8);
    }
}

/* False: another instruction. */
static bool take_vector(struct state *s, const struct parts *p)
{
    unsigned scalar = p->repeat_not ? 8 : p->repeat ? 4 : 16;
    switch (p->opcode) {
    case 0x0f10:
        load_vector(s, p, scalar);
        return true;
    case 0x0f11:
        store_vector(s, p, scalar);
        return true;
    case 0x0f28:
    case 0x0f6f:
        load_vector(s, p, 16);
        return true;
    case 0x0f29:
    case 0x0f7f:
        store_vector(s, p, 16);
        return true;
    case 0x0fd6:
        store_vector(s, p, 8);
        return true;
    case 0x0f6e: /* movd, movq from a register or memory */
        s->x[p->reg].low = !p->wide ? unknown : p->is_memory ? load(s, p, 0) : s->r[p->rm];
        s->x[p->reg].high = number(0);
        return true;
    case 0x0f7e:
        if (p->repeat) {
            load_vector(s, p, 8);
            s->x[p->reg].high = number(0);
        } else if (p->is_memory) {
            store(s, p, &s->x[p->reg].low, p->wide ? 8 : 4, 0);
        } else {
            s->r[p->rm] = unknown;
        }
        return true;
    case 0x0f6c: /* punpcklqdq */
        s->x[p->reg].high = p->is_memory ? load(s, p, 0) : s->x[p->rm].low;
        return true;
    case 0x0f16: /* movlhps, movhps */
        s->x[p->reg].high = p->is_memory ? load(s, p, 0) : s->x[p->rm].low;
        return true;
    case 0x0f57:
    case 0x0fef:
        s->x[p->reg] = !p->is_memory && p->rm == p->reg ? (struct vector){number(0), number(0)}
                                                        : (struct vector){unknown, unknown};
        return true;
    default:
        return false;
    }
}

/* --- general registers --- */

static void set(struct state *s, unsigned reg, struct blockfile_value value, bool wide)
{
    if (!wide && value.kind == BLOCKFILE_NUMBER) {
        value.number &= UINT32_MAX;
    } else if (!wide) {
        value = unknown;
    }
    s->r[reg] = value;
}

/* The field of a register that is a part of the opcode instead. */
static bool is_group(unsigned opcode)
{
    return (opcode >= 0x80 && opcode <= 0x83) || opcode == 0xc0 || opcode == 0xc1 ||
           opcode == 0xc6 || opcode == 0xc7 || (opcode >= 0xd0 && opcode <= 0xd3) ||
           opcode == 0xf6 || opcode == 0xf7 || opcode == 0xfe || opcode == 0xff;
}

/* Nothing is known any more of what the instruction may have written. The registers of the stack
 * stay: what moves them is told by the other decoder. */
static void lose(struct state *s, unsigned reg)
{
    if (reg != RSP && reg != RBP) {
        s->r[reg] = unknown;
    }
}

static void lose_operands(struct state *s, const struct parts *p)
{
    if (!p->has_modrm) {
        if (p->opcode >= 0xb0 && p->opcode <= 0xbf) {
            lose(s, p->reg);
        }
        return;
    }
    if (!is_group(p->opcode)) {
        lose(s, p->reg);
    }
    if (!p->is_memory) {
        lose(s, p->rm);
    }
    if (p->opcode > 0xff) {
        s->x[p->reg] = (struct vector){unknown, unknown};
    }
}

/* An address that the next instruction's place is part of, or the stack's. */
static void take_lea(struct state *s, const struct parts *p)
{
    struct blockfile_value value = p->where;
    value.number += (uint64_t)p->displacement;
    set(s, p->reg, p->is_memory ? value : unknown, p->wide);
}

static void take_move(struct state *s, const struct parts *p)
{
    unsigned size = p->wide ? 8 : 4;
    struct blockfile_value value;
    switch (p->opcode) {
    case 0x89:
        value = s->r[p->reg];
        if (!p->is_memory) {
            set(s, p->rm, value, p->wide);
            return;
        }
        if (!p->wide && value.kind == BLOCKFILE_NUMBER) {
            value.number &= UINT32_MAX;
        }
        store(s, p, &value, size, 0);
        return;
    case 0x8b:
        value = p->is_memory ? load(s, p, 0) : s->r[p->rm];
        set(s, p->reg, value, p->wide);
        return;
    default: /* 0xc7: a number */
        value = number((uint64_t)signed_at(p, p->at, p->operand16 ? 2 : 4));
        if (!p->wide) {
            value.number &= UINT32_MAX;
        }
        if (p->is_memory) {
            store(s, p, &value, size, 0);
        } else {
            set(s, p->rm, value, true);
        }
    }
}

static void take_push(struct state *s, const struct blockfile_value *value)
{
    s->r[RSP].number -= 8;
    s->pushed = *value;
    blockfile_store(s->slots, &s->r[RSP], 0, value, 8, s->vaddr);
}

static void take(struct state *s, const struct parts *p)
{
    if (take_vector(s, p)) {
        return;
    }
    if (p->opcode >= 0xb8 && p->opcode <= 0xbf) {
        set(s, p->reg,
            p->wide ? number((uint64_t)signed_at(p, p->at, 8))
                    : number((uint64_t)signed_at(p, p->at, 4) & UINT32_MAX),
            true);
    } else if (p->opcode == 0x8d) {
        take_lea(s, p);
    } else if ((p->opcode == 0x89 || p->opcode == 0x8b || p->opcode == 0xc7) && !p->operand16) {
        take_move(s, p);
    } else if (p->opcode == 0x83 && (p->reg & 7) == 4 && p->is_memory && !p->operand16 &&
               signed_at(p, p->at, 1) == 0) { /* and with 0: the shortest way to clear */
        struct blockfile_value zero = number(0);
        store(s, p, &zero, p->wide ? 8 : 4, 0);
    } else if ((p->opcode == 0x31 || p->opcode == 0x33) && !p->is_memory && p->rm == p->reg) {
        s->r[p->reg] = number(0);
    } else if (p->opcode != 0x85 && p->opcode != 0x84 && p->opcode != 0x39 && p->opcode != 0x3b &&
               p->opcode != 0x0f1f && (p->opcode & ~15u) != 0x0f80) {
        lose_operands(s, p);
    }
}

/* What moves rsp is told by the other decoder. True: that was all. */
static bool take_stack(struct state *s, const struct sonde__x86_insn *insn, const struct parts *p)
{
    struct blockfile_value value = unknown;
    switch (insn->kind) {
    case SONDE__X86_PUSH:
        if (p->opcode == 0x6a || p->opcode == 0x68) {
            value = number((uint64_t)signed_at(p, p->at, p->opcode == 0x6a ? 1 : 4));
        } else if (insn->reg < REGS) {
            value = s->r[insn->reg];
        }
        take_push(s, &value);
        return true;
    case SONDE__X86_POP:
        if (insn->reg < REGS) {
            s->r[insn->reg] = s->pushed;
        }
        s->pushed = unknown;
        s->r[RSP].number += 8;
        return true;
    case SONDE__X86_SP_ADD:
        s->r[RSP].number += (uint64_t)(int64_t)insn->value;
        return true;
    case SONDE__X86_FP_FROM_SP:
        s->r[RBP] = s->r[RSP];
        s->r[RBP].number += (uint64_t)(int64_t)insn->value;
        return true;
    case SONDE__X86_SP_FROM_FP:
        s->r[RSP] = s->r[RBP];
        s->r[RSP].number += (uint64_t)(int64_t)insn->value;
        return true;
    case SONDE__X86_LEAVE:
    case SONDE__X86_SP_LOST:
    case SONDE__X86_RETURN:
        s->r[RSP] = (struct blockfile_value){.kind = BLOCKFILE_PLACE, .base = RSP};
        s->r[RBP] = (struct blockfile_value){.kind = BLOCKFILE_PLACE, .base = RBP};
        return true;
    case SONDE__X86_CALL:
    case SONDE__X86_CALL_INDIRECT:
    case SONDE__X86_SYSCALL:
        blockfile_settle(s->slots);
        lose_all(s);
        return true;
    default:
        return insn->kind != SONDE__X86_OTHER;
    }
}

void blockfile_follow_x86_64(struct blockfile_slots *slots, const struct sonde__loaded_area *area,
                             uint64_t begin, uint64_t end)
{
    struct state s = {.slots = slots};
    reset(&s);
    for (uint64_t vaddr = begin; vaddr < end;) {
        const uint8_t *code = area->bytes + (vaddr - area->vaddr);
        uint64_t left = area->size - (vaddr - area->vaddr);
        struct sonde__x86_insn insn;
        struct parts parts;
        if (!sonde__arch_x86_insn(
                code, left < SONDE__X86_INSN_BYTES_MAX ? (size_t)left : SONDE__X86_INSN_BYTES_MAX,
                &insn)) {
            vaddr++;
            reset(&s);
            continue;
        }
        s.vaddr = vaddr;
        if (!read_parts(&s, code, insn.length, &parts)) {
            memset(s.x, 0, sizeof s.x);
        } else if (!take_stack(&s, &insn, &parts)) {
            take(&s, &parts);
        }
        if (s.r[RBP].kind == BLOCKFILE_UNKNOWN) { /* wherever it stands, it stays there a while */
            s.r[RBP] = (struct blockfile_value){.kind = BLOCKFILE_PLACE, .base = RBP};
        }
        vaddr += insn.length;
    }
    blockfile_settle(slots);
}
