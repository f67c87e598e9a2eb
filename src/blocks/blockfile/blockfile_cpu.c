// SPDX-License-Identifier: Apache-2.0
#include "blockfile_cpu.h"

#include "arch_regs.h"

struct frame_regs {
    uint8_t sp, fp;
    uint32_t preserved;         /* bit mask of general registers that a call preserves */
    uint32_t preserved_vectors; /* lower halves of vector registers */
};

/* System V psABI for x86-64, figure 3.4; AAPCS64 §6.1. */
static const struct frame_regs regs_x86_64 = {4, 5, 0xf038, 0};
static const struct frame_regs regs_aarch64 = {SONDE__INSN_SP, 29, 0xfff80000, 0xff00};

static const struct frame_regs *frame_regs(const struct blockfile_cpu *cpu)
{
    return cpu->slots->loaded->arch == SONDE_ARCH_X86_64 ? &regs_x86_64 : &regs_aarch64;
}

static const struct blockfile_value unknown = {.kind = BLOCKFILE_UNKNOWN};

static struct blockfile_value number(uint64_t value)
{
    return (struct blockfile_value){.kind = BLOCKFILE_NUMBER, .number = value};
}

static bool is_vector(unsigned reg)
{
    return reg >= SONDE__INSN_VECTOR_FIRST;
}

static void set_place(struct blockfile_cpu *cpu, uint8_t reg)
{
    cpu->r[reg] = (struct blockfile_value){.kind = BLOCKFILE_PLACE, .base = reg};
}

static void reset_frame(struct blockfile_cpu *cpu)
{
    set_place(cpu, frame_regs(cpu)->sp);
    set_place(cpu, frame_regs(cpu)->fp);
}

void blockfile_cpu_reset(struct blockfile_cpu *cpu)
{
    for (unsigned i = 0; i < BLOCKFILE_REGS; i++) {
        cpu->r[i] = unknown;
    }
    for (unsigned i = 0; i < BLOCKFILE_VECTORS; i++) {
        cpu->v[i] = (struct blockfile_vector){unknown, unknown};
    }
    cpu->r[SONDE__INSN_ZR] = number(0);
    reset_frame(cpu);
}

void blockfile_cpu_call(struct blockfile_cpu *cpu)
{
    const struct frame_regs *regs = frame_regs(cpu);
    blockfile_settle(cpu->slots);
    for (unsigned i = 0; i < 32; i++) {
        cpu->r[i].kind = (regs->preserved >> i & 1) != 0 ? cpu->r[i].kind : BLOCKFILE_UNKNOWN;
        cpu->v[i].low.kind =
            (regs->preserved_vectors >> i & 1) != 0 ? cpu->v[i].low.kind : BLOCKFILE_UNKNOWN;
        cpu->v[i].high.kind = BLOCKFILE_UNKNOWN;
    }
}

/* --- operands --- */

/* Set a register. 32 bits clear the upper half; with fewer bits the register becomes unknown. */
static void set(struct blockfile_cpu *cpu, unsigned reg, struct blockfile_value value,
                unsigned bits)
{
    if (bits == 32 && value.kind == BLOCKFILE_NUMBER) {
        value.number &= UINT32_MAX;
    } else if (bits < 64) {
        value = unknown;
    }
    if (reg >= SONDE__INSN_HIGH) {
        cpu->r[reg - SONDE__INSN_HIGH] = unknown;
    } else if (reg != SONDE__INSN_ZR) {
        cpu->r[reg] = value;
    }
}

void blockfile_cpu_lose(struct blockfile_cpu *cpu, unsigned reg)
{
    if (is_vector(reg)) {
        cpu->v[reg - SONDE__INSN_VECTOR_FIRST] = (struct blockfile_vector){unknown, unknown};
    } else {
        set(cpu, reg, unknown, 64);
    }
}

static struct blockfile_vector get(const struct blockfile_cpu *cpu, unsigned reg)
{
    if (is_vector(reg)) {
        return cpu->v[reg - SONDE__INSN_VECTOR_FIRST];
    }
    return (struct blockfile_vector){reg < BLOCKFILE_REGS ? cpu->r[reg] : unknown, number(0)};
}

static struct blockfile_value place_of(const struct blockfile_cpu *cpu,
                                       const struct sonde__insn *insn)
{
    struct blockfile_value place = insn->segment != 0 || insn->index != SONDE__INSN_NO_REG ? unknown
                                   : insn->base != SONDE__INSN_NO_REG ? cpu->r[insn->base]
                                                                      : number(0);
    place.number += (uint64_t)insn->offset;
    return place;
}

static struct blockfile_vector load(const struct blockfile_cpu *cpu,
                                    const struct blockfile_value *place, unsigned bits)
{
    struct blockfile_vector value = {unknown, number(0)};
    if (bits >= 32) {
        value.low = blockfile_load(cpu->slots, place, 0, bits == 32 ? 4 : 8);
    }
    if (bits == 128) {
        value.high = blockfile_load(cpu->slots, place, 8, 8);
    }
    return value;
}

static void store(const struct blockfile_cpu *cpu, const struct blockfile_value *place,
                  struct blockfile_vector value, unsigned bits)
{
    if (bits < 32) {
        value.low = unknown;
    } else if (bits == 32 && value.low.kind == BLOCKFILE_NUMBER) {
        value.low.number &= UINT32_MAX;
    }
    blockfile_store(cpu->slots, place, 0, &value.low, bits == 32 ? 4 : 8, cpu->site);
    if (bits == 128) {
        blockfile_store(cpu->slots, place, 8, &value.high, 8, cpu->site);
    }
}

static struct blockfile_vector read_operand(const struct blockfile_cpu *cpu,
                                            const struct sonde__insn *insn,
                                            struct sonde__insn_value operand)
{
    struct blockfile_value place;
    switch (operand.kind) {
    case SONDE__OPERAND_REG:
        return get(cpu, operand.reg);
    case SONDE__OPERAND_MEM:
        place = place_of(cpu, insn);
        return load(cpu, &place, insn->bits);
    default:
        return (struct blockfile_vector){number(insn->imm), number(0)};
    }
}

static void write_result(struct blockfile_cpu *cpu, const struct sonde__insn *insn,
                         struct blockfile_vector value)
{
    if (insn->dst.kind == SONDE__OPERAND_MEM) {
        struct blockfile_value place = place_of(cpu, insn);
        store(cpu, &place, value, insn->bits);
    } else if (insn->dst.kind == SONDE__OPERAND_REG && !is_vector(insn->dst.reg)) {
        set(cpu, insn->dst.reg, value.low, insn->bits);
    } else if (insn->dst.kind == SONDE__OPERAND_REG) {
        struct blockfile_vector *v = &cpu->v[insn->dst.reg - SONDE__INSN_VECTOR_FIRST];
        v->low = insn->bits >= 64 ? value.low : unknown;
        v->high = insn->bits == 128 ? value.high : number(0);
    }
}

/* --- instructions --- */

static void pair(struct blockfile_cpu *cpu, const struct sonde__insn *insn)
{
    struct blockfile_value first = place_of(cpu, insn), second = first;
    unsigned bytes = insn->bits / 8u;
    second.number += bytes;
    if (insn->op == SONDE__INSN_LOAD_PAIR) {
        struct sonde__insn one = {.bits = insn->bits, .dst = insn->a};
        struct blockfile_vector a = load(cpu, &first, insn->bits);
        struct blockfile_vector b = load(cpu, &second, insn->bits);
        write_result(cpu, &one, a);
        one.dst.reg = insn->c;
        write_result(cpu, &one, b);
        return;
    }
    for (int64_t i = 0; i < 2 * (int64_t)bytes; i += bytes < 8 ? bytes : 8) {
        blockfile_forget(cpu->slots, &first, i);
    }
    store(cpu, &first, get(cpu, insn->a.reg), insn->bits);
    store(cpu, &second, get(cpu, insn->c), insn->bits);
}

/* Compute `a` op the number `b`. */
static struct blockfile_value combine(unsigned op, struct blockfile_value a, uint64_t b)
{
    switch (op) {
    case SONDE__INSN_ADD:
        a.number += b;
        return a;
    case SONDE__INSN_SUB:
        a.number -= b;
        return a;
    case SONDE__INSN_AND:
        a.number &= b;
        return a.kind == BLOCKFILE_NUMBER ? a : unknown;
    case SONDE__INSN_OR:
        a.number |= b;
        return a.kind == BLOCKFILE_NUMBER ? a : unknown;
    default:
        return unknown;
    }
}

static void arithmetic(struct blockfile_cpu *cpu, const struct sonde__insn *insn)
{
    struct blockfile_value a = read_operand(cpu, insn, insn->a).low;
    struct blockfile_value b = read_operand(cpu, insn, insn->b).low;
    struct blockfile_vector result = {unknown, unknown};
    bool is_same = insn->a.kind == SONDE__OPERAND_REG && insn->b.kind == SONDE__OPERAND_REG &&
                   insn->a.reg == insn->b.reg;
    bool is_zero = a.kind == BLOCKFILE_NUMBER && a.number == 0;
    if (insn->shift_by != 0 || insn->shift == SONDE__SHIFT_EXTEND) {
        b = unknown;
    }
    if ((insn->op == SONDE__INSN_XOR || insn->op == SONDE__INSN_SUB) && is_same) {
        result.low = number(0);
    } else if (insn->op == SONDE__INSN_AND && b.kind == BLOCKFILE_NUMBER && b.number == 0) {
        result.low = b; /* common way to clear a register */
    } else if (insn->op == SONDE__INSN_OR && is_zero) {
        result.low = b; /* how aarch64 copies a register */
    } else if (a.kind != BLOCKFILE_UNKNOWN && b.kind == BLOCKFILE_NUMBER) {
        result.low = combine(insn->op, a, b.number);
    }
    write_result(cpu, insn, result);
}

static void insert(struct blockfile_cpu *cpu, const struct sonde__insn *insn)
{
    if (is_vector(insn->dst.reg)) {
        struct blockfile_vector *v = &cpu->v[insn->dst.reg - SONDE__INSN_VECTOR_FIRST];
        *(insn->bit_low == 0 ? &v->low : &v->high) = read_operand(cpu, insn, insn->a).low;
    } else {
        struct blockfile_value value = get(cpu, insn->dst.reg).low;
        value.number = (value.number & ~((uint64_t)0xffff << insn->bit_low)) | insn->imm;
        set(cpu, insn->dst.reg, value.kind == BLOCKFILE_NUMBER ? value : unknown, insn->bits);
    }
}

static void push_pop(struct blockfile_cpu *cpu, const struct sonde__insn *insn)
{
    struct blockfile_value *sp = &cpu->r[frame_regs(cpu)->sp];
    if (insn->op == SONDE__INSN_PUSH) {
        struct blockfile_vector value = read_operand(cpu, insn, insn->a);
        sp->number -= 8;
        store(cpu, sp, value, 64);
    } else {
        struct blockfile_value value = load(cpu, sp, 64).low;
        sp->number += 8;
        set(cpu, insn->dst.reg, value, 64);
    }
}

/* For an instruction whose result is not computed: what it writes becomes unknown. */
static void lose_results(struct blockfile_cpu *cpu, const struct sonde__insn *insn)
{
    bool is_atomic = insn->op == SONDE__INSN_FETCH || insn->op == SONDE__INSN_COMPARE_SWAP ||
                     insn->op == SONDE__INSN_STORE_EXCLUSIVE;
    if (insn->dst.kind == SONDE__OPERAND_REG) {
        blockfile_cpu_lose(cpu, insn->dst.reg);
    }
    if (insn->dst.kind == SONDE__OPERAND_MEM || is_atomic) {
        struct blockfile_value place = place_of(cpu, insn);
        blockfile_forget(cpu->slots, &place, 0);
    }
    if (insn->op == SONDE__INSN_EXCHANGE) {
        blockfile_cpu_lose(cpu, insn->a.reg);
    }
}

static void execute(struct blockfile_cpu *cpu, const struct sonde__insn *insn)
{
    struct blockfile_value place;
    switch (insn->op) {
    case SONDE__INSN_NOTHING:
    case SONDE__INSN_JUMP:
    case SONDE__INSN_BRANCH:
    case SONDE__INSN_BRANCH_ZERO:
    case SONDE__INSN_BRANCH_BIT:
        break;
    case SONDE__INSN_MOVE:
        write_result(cpu, insn, read_operand(cpu, insn, insn->a));
        break;
    case SONDE__INSN_ADDRESS:
        place = place_of(cpu, insn);
        set(cpu, insn->dst.reg, place, insn->bits);
        break;
    case SONDE__INSN_ADD:
    case SONDE__INSN_SUB:
    case SONDE__INSN_AND:
    case SONDE__INSN_OR:
    case SONDE__INSN_XOR:
        arithmetic(cpu, insn);
        break;
    case SONDE__INSN_INSERT:
        insert(cpu, insn);
        break;
    case SONDE__INSN_LOAD_PAIR:
    case SONDE__INSN_STORE_PAIR:
        pair(cpu, insn);
        break;
    case SONDE__INSN_PUSH:
    case SONDE__INSN_POP:
        push_pop(cpu, insn);
        break;
    case SONDE__INSN_LEAVE:
    case SONDE__INSN_RETURN:
        reset_frame(cpu);
        break;
    case SONDE__INSN_CALL:
    case SONDE__INSN_STOP:
        blockfile_cpu_call(cpu);
        break;
    default:
        lose_results(cpu, insn);
    }
}

void blockfile_cpu_step(struct blockfile_cpu *cpu, const struct sonde__insn *insn)
{
    const struct frame_regs *regs = frame_regs(cpu);
    execute(cpu, insn);
    if (insn->writeback != 0) {
        cpu->r[insn->base].number += (uint64_t)insn->offset2;
    }
    if (cpu->r[regs->sp].kind == BLOCKFILE_UNKNOWN) {
        reset_frame(cpu);
    } else if (cpu->r[regs->fp].kind ==
               BLOCKFILE_UNKNOWN) { /* any other value is taken for a new frame */
        set_place(cpu, regs->fp);
    }
}
