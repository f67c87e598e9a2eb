// SPDX-License-Identifier: Apache-2.0
/* Executes arithmetic and memory instructions of both architectures. Source: as arch_insn.h. */
#include "arch_insn.h"
#include "arch_regs.h"
#include "block_emulate.h"

static uint64_t mask_of(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

static uint64_t extend(uint64_t value, unsigned bits, bool is_signed)
{
    if (bits >= 64) {
        return value;
    }
    value &= mask_of(bits);
    return is_signed && value >> (bits - 1) & 1 ? value | ~mask_of(bits) : value;
}

static bool is_x86(const struct emulation *f)
{
    return f->memory->arch == SONDE_ARCH_X86_64;
}

static uint64_t get(const struct emulation *f, unsigned reg)
{
    if (reg >= SONDE__INSN_VECTOR_FIRST) {
        unsigned v = reg - SONDE__INSN_VECTOR_FIRST;
        return v < EMULATE_VECTORS ? f->cpu.v[v][0] : 0;
    }
    if (reg >= SONDE__INSN_HIGH) {
        return f->cpu.r[reg - SONDE__INSN_HIGH] >> 8;
    }
    return reg == SONDE__INSN_ZR ? 0 : f->cpu.r[reg];
}

/* Set a register. 32 bits clear the upper half; on x86-64 fewer bits keep the rest. */
static void set(struct emulation *f, unsigned reg, unsigned bits, uint64_t value)
{
    if (reg >= SONDE__INSN_VECTOR_FIRST) {
        unsigned v = reg - SONDE__INSN_VECTOR_FIRST;
        if (v < EMULATE_VECTORS) {
            f->cpu.v[v][0] = value & mask_of(bits);
            f->cpu.v[v][1] = 0;
        }
    } else if (reg >= SONDE__INSN_HIGH) {
        uint64_t *r = &f->cpu.r[reg - SONDE__INSN_HIGH];
        *r = (*r & ~(uint64_t)0xff00) | (value & 0xff) << 8;
    } else if (reg != SONDE__INSN_ZR) {
        uint64_t *r = &f->cpu.r[reg];
        *r = bits < 32 && is_x86(f) ? (*r & ~mask_of(bits)) | (value & mask_of(bits))
                                    : value & mask_of(bits);
    }
}

static uint64_t place(const struct emulation *f, const struct sonde__insn *insn)
{
    uint64_t address = (uint64_t)insn->offset;
    if (insn->segment != 0) {
        address += EMULATE_THREAD + 0x10000;
    }
    if (insn->base != SONDE__INSN_NO_REG) {
        address += get(f, insn->base);
    }
    if (insn->index != SONDE__INSN_NO_REG) {
        address += extend(get(f, insn->index), insn->index_bits, insn->index_signed)
                   << insn->index_shift;
    }
    return address;
}

static void write_back(struct emulation *f, const struct sonde__insn *insn, uint64_t address)
{
    if (insn->writeback == 1) {
        set(f, insn->base, 64, address);
    } else if (insn->writeback == 2) {
        set(f, insn->base, 64, address + (uint64_t)insn->offset2);
    }
}

bool emulate_operand(struct emulation *f, const struct sonde__insn *insn, unsigned kind,
                     unsigned reg, uint64_t *ret_value)
{
    switch (kind) {
    case SONDE__OPERAND_REG:
        *ret_value = get(f, reg);
        return true;
    case SONDE__OPERAND_MEM: {
        uint64_t address = place(f, insn), value[2] = {0, 0};
        if (!emulate_read(f, address, insn->bits > 64 ? 8 : insn->bits / 8u, value)) {
            return false;
        }
        write_back(f, insn, address);
        *ret_value = value[0];
        return true;
    }
    default:
        *ret_value = kind == SONDE__OPERAND_IMM ? insn->imm : 0;
        return true;
    }
}

static bool write_operand(struct emulation *f, const struct sonde__insn *insn, uint64_t value)
{
    if (insn->dst.kind == SONDE__OPERAND_REG) {
        set(f, insn->dst.reg, insn->bits, value);
        return true;
    }
    if (insn->dst.kind == SONDE__OPERAND_MEM) {
        uint64_t address = place(f, insn);
        if (!emulate_write(f, address, insn->bits / 8u, &value)) {
            return false;
        }
        write_back(f, insn, address);
    }
    return true;
}

/* --- flags --- */

bool emulate_condition(const struct emulate_cpu *cpu, unsigned cond)
{
    bool result;
    switch (cond & ~1u) {
    case SONDE__COND_OVERFLOW:
        result = cpu->o;
        break;
    case SONDE__COND_BELOW:
        result = cpu->c;
        break;
    case SONDE__COND_EQUAL:
        result = cpu->z;
        break;
    case SONDE__COND_BELOW_EQUAL:
        result = cpu->c || cpu->z;
        break;
    case SONDE__COND_NEGATIVE:
        result = cpu->n;
        break;
    case SONDE__COND_LESS:
        result = cpu->n != cpu->o;
        break;
    case SONDE__COND_LESS_EQUAL:
        result = cpu->z || cpu->n != cpu->o;
        break;
    default: /* always; helpers never test parity */
        return true;
    }
    return result != ((cond & 1) != 0);
}

static void flags_of(struct emulation *f, unsigned bits, uint64_t result)
{
    f->cpu.n = result >> (bits - 1) & 1;
    f->cpu.z = (result & mask_of(bits)) == 0;
}

static void flags_of_sum(struct emulation *f, const struct sonde__insn *insn, bool is_sub,
                         uint64_t a, uint64_t b, uint64_t result)
{
    unsigned bits = insn->bits;
    uint64_t mask = mask_of(bits),
             signs = is_sub ? (a ^ b) & (a ^ result) : ~(a ^ b) & (a ^ result);
    bool carry = is_sub ? (a & mask) < (b & mask) : (result & mask) < (a & mask);
    flags_of(f, bits, result);
    f->cpu.o = signs >> (bits - 1) & 1;
    if (!insn->keeps_carry) {
        /* c is the borrow: aarch64's carry of an addition is stored inverted, as its conditions are
         */
        f->cpu.c = !is_sub && !is_x86(f) ? !carry : carry;
    }
}

/* --- operations --- */

static uint64_t shifted(const struct sonde__insn *insn, uint64_t value, unsigned how, unsigned by)
{
    unsigned bits = insn->bits;
    by %= bits;
    value &= mask_of(bits);
    switch (how) {
    case SONDE__SHIFT_LEFT:
        return value << by;
    case SONDE__SHIFT_RIGHT:
        return value >> by;
    case SONDE__SHIFT_RIGHT_SIGNED:
        return (uint64_t)((int64_t)extend(value, bits, true) >> by);
    case SONDE__SHIFT_ROTATE:
        return by == 0 ? value : value >> by | value << (bits - by);
    default:
        return extend(value, insn->extend_bits, insn->extend_signed) << by;
    }
}

static uint64_t calculate(const struct sonde__insn *insn, unsigned op, uint64_t a, uint64_t b,
                          uint64_t c)
{
    unsigned bits = insn->bits;
    uint64_t mask = mask_of(bits);
    switch (op) {
    case SONDE__INSN_ADD:
        return a + b;
    case SONDE__INSN_SUB:
        return a - b;
    case SONDE__INSN_AND:
        return a & b;
    case SONDE__INSN_OR:
        return a | b;
    case SONDE__INSN_XOR:
        return a ^ b;
    case SONDE__INSN_AND_NOT:
        return a & ~b;
    case SONDE__INSN_OR_NOT:
        return a | ~b;
    case SONDE__INSN_XOR_NOT:
        return a ^ ~b;
    case SONDE__INSN_SHL:
        return shifted(insn, a, SONDE__SHIFT_LEFT, (unsigned)(b & 63));
    case SONDE__INSN_SHR:
        return shifted(insn, a, SONDE__SHIFT_RIGHT, (unsigned)(b & 63));
    case SONDE__INSN_SAR:
        return shifted(insn, a, SONDE__SHIFT_RIGHT_SIGNED, (unsigned)(b & 63));
    case SONDE__INSN_ROR:
        return shifted(insn, a, SONDE__SHIFT_ROTATE, (unsigned)(b & 63));
    case SONDE__INSN_MUL:
        return a * b;
    case SONDE__INSN_MUL_ADD:
        return c + a * b;
    case SONDE__INSN_MUL_SUB:
        return c - a * b;
    case SONDE__INSN_DIVIDE:
        return (b & mask) == 0 ? 0 : (a & mask) / (b & mask);
    case SONDE__INSN_DIVIDE_SIGNED: {
        int64_t x = (int64_t)extend(a, bits, true), y = (int64_t)extend(b, bits, true);
        return y == 0 ? 0 : y == -1 ? 0 - (uint64_t)x : (uint64_t)(x / y);
    }
    default:
        return b; /* MOVE: an atomic swap */
    }
}

static bool arithmetic(struct emulation *f, const struct sonde__insn *insn)
{
    uint64_t a, b, c = insn->c != SONDE__INSN_NO_REG ? get(f, insn->c) : 0, result;
    if (!emulate_operand(f, insn, insn->a.kind, insn->a.reg, &a) ||
        !emulate_operand(f, insn, insn->b.kind, insn->b.reg, &b)) {
        return false;
    }
    if (insn->shift_by != 0 || insn->shift == SONDE__SHIFT_EXTEND) {
        b = shifted(insn, b, insn->shift, insn->shift_by);
    }
    result = calculate(insn, insn->op, a, b, c);
    if (insn->sets_flags) {
        if (insn->op == SONDE__INSN_ADD || insn->op == SONDE__INSN_SUB) {
            flags_of_sum(f, insn, insn->op == SONDE__INSN_SUB, a, b, result);
        } else {
            flags_of(f, insn->bits, result);
            f->cpu.o = false;
            f->cpu.c = !is_x86(f); /* cleared, that is */
        }
    }
    return write_operand(f, insn, result);
}

/* ubfm, sbfm, bfm: Arm ARM C6.2. variant: 0 signed, 1 inserted, 2 unsigned. */
static bool bitfield(struct emulation *f, const struct sonde__insn *insn)
{
    unsigned bits = insn->bits, from = insn->bit_low, last = insn->bit_high, width, at;
    uint64_t value = get(f, insn->a.reg) & mask_of(bits), field, mask;
    if (last >= from) {
        width = last - from + 1;
        field = value >> from & mask_of(width);
        at = 0;
    } else {
        width = last + 1;
        field = value & mask_of(width);
        at = bits - from;
    }
    mask = mask_of(width) << at;
    if (insn->variant == 1) {
        field = (get(f, insn->dst.reg) & ~mask) | (field << at & mask);
    } else {
        field = extend(field, width, insn->variant == 0) << at;
    }
    return write_operand(f, insn, field);
}

static bool move(struct emulation *f, const struct sonde__insn *insn)
{
    uint64_t value[2] = {0, 0};
    uint64_t address = 0;
    if (insn->a.kind == SONDE__OPERAND_MEM) {
        unsigned bits = insn->op == SONDE__INSN_MOVE_SIGNED ? insn->from_bits : insn->bits;
        address = place(f, insn);
        if (!emulate_read(f, address, bits / 8u, value)) {
            return false;
        }
        write_back(f, insn, address);
    } else if (insn->a.kind == SONDE__OPERAND_REG) {
        value[0] = get(f, insn->a.reg);
        if (insn->a.reg >= SONDE__INSN_VECTOR_FIRST) {
            value[1] = f->cpu.v[insn->a.reg - SONDE__INSN_VECTOR_FIRST][1];
        }
    } else {
        value[0] = insn->imm;
    }
    if (insn->op == SONDE__INSN_MOVE_SIGNED) {
        value[0] = extend(value[0], insn->from_bits, insn->variant == 0);
    }
    if (insn->bits <= 64) {
        return write_operand(f, insn, value[0]);
    }
    if (insn->dst.kind == SONDE__OPERAND_MEM) {
        address = place(f, insn);
        if (!emulate_write(f, address, 16, value)) {
            return false;
        }
        write_back(f, insn, address);
        return true;
    }
    set(f, insn->dst.reg, 64, value[0]);
    f->cpu.v[insn->dst.reg - SONDE__INSN_VECTOR_FIRST][1] = value[1];
    return true;
}

static bool pair(struct emulation *f, const struct sonde__insn *insn)
{
    uint64_t address = place(f, insn);
    unsigned bytes = insn->bits / 8u;
    uint8_t regs[2] = {insn->a.reg, insn->c};
    for (unsigned i = 0; i < 2; i++) {
        unsigned reg = regs[i];
        uint64_t value[2] = {0, 0};
        bool is_vector = reg >= SONDE__INSN_VECTOR_FIRST;
        if (insn->op == SONDE__INSN_STORE_PAIR) {
            value[0] = get(f, reg);
            value[1] = is_vector ? f->cpu.v[reg - SONDE__INSN_VECTOR_FIRST][1] : 0;
            if (!emulate_write(f, address + (uint64_t)i * bytes, bytes, value)) {
                return false;
            }
            continue;
        }
        if (!emulate_read(f, address + (uint64_t)i * bytes, bytes, value)) {
            return false;
        }
        set(f, reg, 64, insn->variant ? extend(value[0], insn->bits, true) : value[0]);
        if (is_vector) {
            f->cpu.v[reg - SONDE__INSN_VECTOR_FIRST][1] = value[1];
        }
    }
    write_back(f, insn, address);
    return true;
}

static bool fetch(struct emulation *f, const struct sonde__insn *insn)
{
    uint64_t address = place(f, insn), old, operand = get(f, insn->a.reg), result;
    if (!emulate_read(f, address, insn->bits / 8u, &old)) {
        return false;
    }
    result = calculate(insn, insn->variant, old, operand, 0);
    if (insn->sets_flags) {
        flags_of_sum(f, insn, false, old, operand, result);
    }
    set(f, insn->dst.reg, insn->bits, old);
    return emulate_write(f, address, insn->bits / 8u, &result);
}

static bool compare_swap(struct emulation *f, const struct sonde__insn *insn)
{
    uint64_t address = place(f, insn), old, new_value = get(f, insn->b.reg);
    uint64_t expected = get(f, insn->a.reg) & mask_of(insn->bits);
    if (!emulate_read(f, address, insn->bits / 8u, &old)) {
        return false;
    }
    if (insn->sets_flags) {
        flags_of_sum(f, insn, true, expected, old, expected - old);
    }
    if (expected == old && !emulate_write(f, address, insn->bits / 8u, &new_value)) {
        return false;
    }
    if (expected != old || !is_x86(f)) {
        set(f, insn->dst.reg, insn->bits, old);
    }
    return true;
}

static bool exchange(struct emulation *f, const struct sonde__insn *insn)
{
    uint64_t a = get(f, insn->a.reg), b;
    if (!emulate_operand(f, insn, insn->dst.kind, insn->dst.reg, &b) ||
        !write_operand(f, insn, a)) {
        return false;
    }
    set(f, insn->a.reg, insn->bits, b);
    return true;
}

static bool push_pop(struct emulation *f, const struct sonde__insn *insn)
{
    uint64_t value, *sp = &f->cpu.r[4];
    if (insn->op == SONDE__INSN_PUSH) {
        if (!emulate_operand(f, insn, insn->a.kind, insn->a.reg, &value)) {
            return false;
        }
        *sp -= 8;
        return emulate_write(f, *sp, 8, &value);
    }
    if (insn->op == SONDE__INSN_LEAVE) {
        *sp = f->cpu.r[5];
    }
    if (!emulate_read(f, *sp, 8, &value)) {
        return false;
    }
    *sp += 8;
    f->cpu.r[insn->op == SONDE__INSN_LEAVE ? 5 : insn->dst.reg] = value;
    return true;
}

static bool select_one(struct emulation *f, const struct sonde__insn *insn)
{
    uint64_t a, b;
    if (!emulate_operand(f, insn, insn->a.kind, insn->a.reg, &a) ||
        !emulate_operand(f, insn, insn->b.kind, insn->b.reg, &b)) {
        return false;
    }
    b = insn->variant & 2 ? ~b : b;
    b += insn->variant & 1;
    return write_operand(f, insn, emulate_condition(&f->cpu, insn->cond) ? a : b);
}

static bool compare_if(struct emulation *f, const struct sonde__insn *insn)
{
    uint64_t a, b;
    if (!emulate_condition(&f->cpu, insn->cond)) {
        f->cpu.n = insn->flags >> 3 & 1;
        f->cpu.z = insn->flags >> 2 & 1;
        f->cpu.c = (insn->flags >> 1 & 1) == 0;
        f->cpu.o = insn->flags & 1;
        return true;
    }
    if (!emulate_operand(f, insn, insn->a.kind, insn->a.reg, &a) ||
        !emulate_operand(f, insn, insn->b.kind, insn->b.reg, &b)) {
        return false;
    }
    flags_of_sum(f, insn, insn->variant == 0, a, b, insn->variant == 0 ? a - b : a + b);
    return true;
}

bool emulate_execute(struct emulation *f, const struct sonde__insn *insn)
{
    uint64_t value;
    switch (insn->op) {
    case SONDE__INSN_NOTHING:
        return true;
    case SONDE__INSN_MOVE:
    case SONDE__INSN_MOVE_SIGNED:
        return move(f, insn);
    case SONDE__INSN_ADDRESS:
        return write_operand(f, insn, place(f, insn));
    case SONDE__INSN_INSERT:
        if (insn->dst.reg >= SONDE__INSN_VECTOR_FIRST) {
            unsigned v = insn->dst.reg - SONDE__INSN_VECTOR_FIRST;
            return emulate_operand(f, insn, insn->a.kind, insn->a.reg,
                                   &f->cpu.v[v][insn->bit_low / 64]);
        }
        value = get(f, insn->dst.reg) & ~((uint64_t)0xffff << insn->bit_low);
        return write_operand(f, insn, value | insn->imm);
    case SONDE__INSN_BITFIELD:
        return bitfield(f, insn);
    case SONDE__INSN_SELECT:
        return select_one(f, insn);
    case SONDE__INSN_SET:
        return write_operand(f, insn, emulate_condition(&f->cpu, insn->cond));
    case SONDE__INSN_COMPARE_IF:
        return compare_if(f, insn);
    case SONDE__INSN_EXCHANGE:
        return exchange(f, insn);
    case SONDE__INSN_FETCH:
        return fetch(f, insn);
    case SONDE__INSN_COMPARE_SWAP:
        return compare_swap(f, insn);
    case SONDE__INSN_STORE_EXCLUSIVE:
        value = get(f, insn->a.reg);
        if (!emulate_write(f, place(f, insn), insn->bits / 8u, &value)) {
            return false;
        }
        set(f, insn->dst.reg, 32, 0);
        return true;
    case SONDE__INSN_LOAD_PAIR:
    case SONDE__INSN_STORE_PAIR:
        return pair(f, insn);
    case SONDE__INSN_PUSH:
    case SONDE__INSN_POP:
    case SONDE__INSN_LEAVE:
        return push_pop(f, insn);
    case SONDE__INSN_SYSTEM:
        return write_operand(f, insn, EMULATE_THREAD + 0x10000);
    case SONDE__INSN_VECTOR:
        if (insn->dst.kind == SONDE__OPERAND_REG) {
            set(f, insn->dst.reg, 64, EMULATE_UNKNOWN);
        }
        return true;
    case SONDE__INSN_STOP:
        return emulate_fail(f, "the helper ends in a trap");
    default:
        return arithmetic(f, insn);
    }
}
