// SPDX-License-Identifier: Apache-2.0
#include "unwind_expression.h"

/* DW_OP_*: DWARF 5 §7.7.1. */
enum {
    OP_ADDR = 0x03,
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_DUP = 0x12,
    OP_DROP = 0x13,
    OP_OVER = 0x14,
    OP_PICK = 0x15,
    OP_SWAP = 0x16,
    OP_ROT = 0x17,
    OP_ABS = 0x19,
    OP_AND = 0x1a,
    OP_DIV = 0x1b,
    OP_MINUS = 0x1c,
    OP_MOD = 0x1d,
    OP_MUL = 0x1e,
    OP_NEG = 0x1f,
    OP_NOT = 0x20,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_SHR = 0x25,
    OP_SHRA = 0x26,
    OP_XOR = 0x27,
    OP_BRA = 0x28,
    OP_EQ = 0x29,
    OP_GE = 0x2a,
    OP_GT = 0x2b,
    OP_LE = 0x2c,
    OP_LT = 0x2d,
    OP_NE = 0x2e,
    OP_SKIP = 0x2f,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_BREGX = 0x92,
    OP_DEREF_SIZE = 0x94,
    OP_NOP = 0x96,
};

/* Real CFI needs four entries and twelve steps. A backward branch is legal and may loop. */
#define STACK_MAX 32
#define STEPS_MAX 1024

struct machine {
    struct sonde__bytes code;
    const struct sonde__regs *regs;
    struct sonde__reader *reader;
    uint64_t stack[STACK_MAX];
    unsigned depth;
    enum sonde__expression_end end; /* OK while it runs */
};

static void fail(struct machine *m, enum sonde__expression_end end)
{
    if (m->end == SONDE__EXPRESSION_OK) {
        m->end = end;
    }
}

static void push(struct machine *m, uint64_t value)
{
    if (m->depth == STACK_MAX) {
        fail(m, SONDE__EXPRESSION_MALFORMED);
        return;
    }
    m->stack[m->depth++] = value;
}

static uint64_t pop(struct machine *m)
{
    if (m->depth == 0) {
        fail(m, SONDE__EXPRESSION_MALFORMED);
        return 0;
    }
    return m->stack[--m->depth];
}

/* The entry `index` below the top. */
static uint64_t pick(struct machine *m, unsigned index)
{
    if (index >= m->depth) {
        fail(m, SONDE__EXPRESSION_MALFORMED);
        return 0;
    }
    return m->stack[m->depth - 1 - index];
}

static void push_register(struct machine *m, uint64_t reg, int64_t offset)
{
    if (reg >= SONDE__REG_COUNT) {
        fail(m, SONDE__EXPRESSION_MALFORMED);
    } else if (!sonde__regs_known(m->regs, (unsigned)reg)) {
        fail(m, SONDE__EXPRESSION_UNKNOWN);
    } else {
        push(m, m->regs->r[reg] + (uint64_t)offset);
    }
}

static void load(struct machine *m, unsigned size)
{
    uint64_t address = pop(m);
    uint64_t value = 0;
    bool good = false;
    if (m->end != SONDE__EXPRESSION_OK) {
        return;
    }
    if (size == sizeof value) {
        good = sonde__reader_word(m->reader, address, &value);
    } else if (size > 0 && size < sizeof value) {
        good = sonde__reader_slow(m->reader, address, &value, size);
    } else {
        fail(m, SONDE__EXPRESSION_MALFORMED);
        return;
    }
    if (!good) {
        m->stack[0] = address;
        fail(m, SONDE__EXPRESSION_UNREADABLE);
        return;
    }
    push(m, value);
}

static void jump(struct machine *m, bool taken)
{
    int64_t distance = (int16_t)sonde__base_bytes_u16(&m->code);
    if (taken && !m->code.failed) {
        int64_t target = (int64_t)sonde__base_bytes_offset(&m->code) + distance;
        (void)sonde__base_bytes_seek(&m->code, target < 0 ? UINT64_MAX : (uint64_t)target);
    }
}

/* DW_OP_const1u .. const8s: even operations are unsigned, sizes double every second one. */
static uint64_t read_constant(struct machine *m, uint8_t op)
{
    unsigned size = 1u << ((op - OP_CONST1U) / 2);
    uint64_t value = sonde__base_bytes_uint(&m->code, size);
    switch (op) {
    case OP_CONST1U + 1:
        return (uint64_t)(int8_t)value;
    case OP_CONST1U + 3:
        return (uint64_t)(int16_t)value;
    case OP_CONST1U + 5:
        return (uint64_t)(int32_t)value;
    default:
        break;
    }
    return value;
}

/* Pushes 1 or 0. */
static void compare(struct machine *m, uint8_t op, int64_t a, int64_t b)
{
    switch (op) {
    case OP_EQ:
        push(m, a == b);
        break;
    case OP_GE:
        push(m, a >= b);
        break;
    case OP_GT:
        push(m, a > b);
        break;
    case OP_LE:
        push(m, a <= b);
        break;
    case OP_LT:
        push(m, a < b);
        break;
    case OP_NE:
        push(m, a != b);
        break;
    default:
        fail(m, SONDE__EXPRESSION_MALFORMED);
        break;
    }
}

/* DW_OP_div is signed, DW_OP_mod is not. */
static void divide(struct machine *m, uint8_t op, uint64_t a, uint64_t b)
{
    if (b == 0) {
        fail(m, SONDE__EXPRESSION_MALFORMED);
    } else if (op == OP_MOD) {
        push(m, a % b);
    } else {
        push(m, b == UINT64_MAX ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b)); /* MIN / -1 traps */
    }
}

/* Operations on the two topmost entries; a is the lower. */
static void run_binary(struct machine *m, uint8_t op)
{
    uint64_t b = pop(m);
    uint64_t a = pop(m);
    switch (op) {
    case OP_AND:
        push(m, a & b);
        break;
    case OP_DIV:
    case OP_MOD:
        divide(m, op, a, b);
        break;
    case OP_MINUS:
        push(m, a - b);
        break;
    case OP_MUL:
        push(m, a * b);
        break;
    case OP_OR:
        push(m, a | b);
        break;
    case OP_PLUS:
        push(m, a + b);
        break;
    case OP_SHL:
        push(m, b < 64 ? a << b : 0);
        break;
    case OP_SHR:
        push(m, b < 64 ? a >> b : 0);
        break;
    case OP_SHRA:
        push(m, (uint64_t)((int64_t)a >> (b < 64 ? b : 63)));
        break;
    case OP_XOR:
        push(m, a ^ b);
        break;
    default:
        compare(m, op, (int64_t)a, (int64_t)b);
        break;
    }
}

static void rotate(struct machine *m)
{
    uint64_t first = pop(m);
    uint64_t second = pop(m);
    uint64_t third = pop(m);
    push(m, first);
    push(m, third);
    push(m, second);
}

static void run_stack_op(struct machine *m, uint8_t op)
{
    uint64_t top = 0;
    switch (op) {
    case OP_DUP:
        push(m, pick(m, 0));
        break;
    case OP_DROP:
        (void)pop(m);
        break;
    case OP_OVER:
        push(m, pick(m, 1));
        break;
    case OP_PICK:
        push(m, pick(m, sonde__base_bytes_u8(&m->code)));
        break;
    case OP_SWAP:
        top = pop(m);
        uint64_t second = pop(m);
        push(m, top);
        push(m, second);
        break;
    case OP_ROT:
        rotate(m);
        break;
    case OP_ABS:
        top = pop(m);
        push(m, (int64_t)top < 0 ? 0 - top : top);
        break;
    case OP_NEG:
        push(m, 0 - pop(m));
        break;
    case OP_NOT:
        push(m, ~pop(m));
        break;
    default:
        run_binary(m, op);
        break;
    }
}

static void run_op(struct machine *m, uint8_t op)
{
    struct sonde__bytes *c = &m->code;
    if (op >= OP_LIT0 && op <= OP_LIT31) {
        push(m, (uint64_t)op - OP_LIT0);
        return;
    }
    if (op >= OP_BREG0 && op <= OP_BREG31) {
        push_register(m, (uint64_t)op - OP_BREG0, sonde__base_bytes_sleb(c));
        return;
    }
    if (op >= OP_CONST1U && op <= OP_CONST8S) {
        push(m, read_constant(m, op));
        return;
    }
    switch (op) {
    case OP_ADDR:
        push(m, sonde__base_bytes_u64(c));
        break;
    case OP_DEREF:
        load(m, 8);
        break;
    case OP_DEREF_SIZE:
        load(m, sonde__base_bytes_u8(c));
        break;
    case OP_CONSTU:
        push(m, sonde__base_bytes_uleb(c));
        break;
    case OP_CONSTS:
        push(m, (uint64_t)sonde__base_bytes_sleb(c));
        break;
    case OP_PLUS_UCONST:
        push(m, pop(m) + sonde__base_bytes_uleb(c));
        break;
    case OP_BREGX: {
        uint64_t reg = sonde__base_bytes_uleb(c);
        push_register(m, reg, sonde__base_bytes_sleb(c));
        break;
    }
    case OP_BRA:
        jump(m, pop(m) != 0);
        break;
    case OP_SKIP:
        jump(m, true);
        break;
    case OP_NOP:
        break;
    default:
        run_stack_op(m, op);
        break;
    }
}

enum sonde__expression_end sonde__expression_run(struct sonde__bytes block,
                                                 const struct sonde__regs *regs,
                                                 struct sonde__reader *reader,
                                                 const uint64_t *initial, uint64_t *ret_value)
{
    struct machine m = {.code = block, .regs = regs, .reader = reader};
    if (initial != NULL) {
        push(&m, *initial);
    }
    for (unsigned step = 0; m.code.at < m.code.end; step++) {
        run_op(&m, sonde__base_bytes_u8(&m.code));
        if (m.code.failed || step == STEPS_MAX) {
            fail(&m, SONDE__EXPRESSION_MALFORMED);
        }
        if (m.end != SONDE__EXPRESSION_OK) {
            *ret_value = m.stack[0];
            return m.end;
        }
    }
    *ret_value = pop(&m);
    return m.code.failed ? SONDE__EXPRESSION_MALFORMED : m.end;
}
