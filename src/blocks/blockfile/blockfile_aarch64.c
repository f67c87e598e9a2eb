// SPDX-License-Identifier: Apache-2.0
/* What code of aarch64 stores on its stack, as far as it follows from the code alone: addresses
 * (adrp, adr, add), numbers, what constants in memory hold, and where the stack's parts are.
 * Everything else makes a register unknown. Source: Arm ARM DDI 0487, C4.1. Context: any thread. */
#include "blockfile_inside.h"

enum { FP = 29, SP = 31, REGS = 32, CALL_LOSES = 19, DEPTH_MAX = 4, AGAIN_MAX = 8 };

struct vector {
    struct blockfile_value low, high;
};

struct state {
    struct blockfile_slots *slots;
    const struct sonde__loaded_area *area; /* of the code at hand */
    struct blockfile_value x[REGS];        /* x[31]: sp */
    struct vector v[REGS];
    uint64_t vaddr;
    uint64_t site; /* the same; in code that was called, of that call */
    unsigned depth;
    uint64_t left; /* instructions of such code that are followed */
};

static uint64_t sign_extend(uint64_t value, unsigned bits)
{
    uint64_t sign = (uint64_t)1 << (bits - 1);
    return ((value & (((uint64_t)1 << bits) - 1)) ^ sign) - sign;
}

static const struct blockfile_value unknown = {.kind = BLOCKFILE_UNKNOWN};

static struct blockfile_value number(uint64_t value)
{
    return (struct blockfile_value){.kind = BLOCKFILE_NUMBER, .number = value};
}

/* Each register is a place of its own until something is known of it. */
static void reset(struct state *s)
{
    for (unsigned i = 0; i < REGS; i++) {
        s->x[i] = (struct blockfile_value){.kind = BLOCKFILE_UNKNOWN};
        s->v[i] = (struct vector){{0}, {0}};
    }
    s->x[SP] = (struct blockfile_value){.kind = BLOCKFILE_PLACE, .base = SP};
    s->x[FP] = (struct blockfile_value){.kind = BLOCKFILE_PLACE, .base = FP};
}

static void set(struct state *s, unsigned reg, struct blockfile_value value)
{
    if (reg != SP) {
        s->x[reg] = value;
    }
}

static void lose(struct state *s, unsigned reg)
{
    set(s, reg, (struct blockfile_value){.kind = BLOCKFILE_UNKNOWN});
}

/* xzr where 31 does not mean sp. */
static struct blockfile_value get(const struct state *s, unsigned reg)
{
    return reg == SP ? number(0) : s->x[reg];
}

/* --- data processing with an immediate --- */

static void add_immediate(struct state *s, uint32_t word)
{
    unsigned rd = word & 31, rn = word >> 5 & 31;
    uint64_t immediate = (uint64_t)(word >> 10 & 0xfff) << ((word >> 22 & 1) * 12);
    struct blockfile_value value = s->x[rn];
    if ((word >> 31) == 0 || (word >> 29 & 1) != 0 || value.kind == BLOCKFILE_UNKNOWN) {
        if ((word >> 29 & 1) == 0 || rd != SP) {
            lose(s, rd);
        }
        return;
    }
    value.number += (word >> 30 & 1) != 0 ? 0 - immediate : immediate;
    s->x[rd] = value; /* rd may be sp */
}

static void move_wide(struct state *s, uint32_t word)
{
    unsigned rd = word & 31, shift = (word >> 21 & 3) * 16, how = word >> 29 & 3;
    uint64_t part = (uint64_t)(word >> 5 & 0xffff) << shift;
    struct blockfile_value value = get(s, rd);
    if (how == 2) {
        value = number(part);
    } else if (how == 0) {
        value = number(~part);
    } else if (how == 3 && value.kind == BLOCKFILE_NUMBER) {
        value.number = (value.number & ~((uint64_t)0xffff << shift)) | part;
    } else {
        value = (struct blockfile_value){.kind = BLOCKFILE_UNKNOWN};
    }
    if ((word >> 31) == 0) {
        value.number &= UINT32_MAX;
    }
    set(s, rd, value);
}

/* A bit mask (orr rd, xzr, #mask is how some constants are made): DecodeBitMasks. */
static bool bit_mask(uint32_t word, uint64_t *ret_mask)
{
    unsigned n = word >> 22 & 1, immr = word >> 16 & 63, imms = word >> 10 & 63;
    unsigned combined = n << 6 | (~imms & 63);
    unsigned length = combined != 0 ? 31 - (unsigned)__builtin_clz(combined) : 0;
    unsigned size = 1u << length, ones, turn;
    uint64_t mask, whole = 0;
    if (length == 0) {
        return false;
    }
    ones = (imms & (size - 1)) + 1;
    turn = immr & (size - 1);
    if (ones >= size + 1 || ones == size) {
        return false;
    }
    mask = ((uint64_t)1 << ones) - 1;
    if (turn != 0) {
        mask = mask >> turn | mask << (size - turn);
    }
    if (size < 64) {
        mask &= ((uint64_t)1 << size) - 1;
    }
    for (unsigned i = 0; i < 64; i += size) {
        whole |= mask << i;
    }
    *ret_mask = (word >> 31) != 0 ? whole : whole & UINT32_MAX;
    return true;
}

static void immediate(struct state *s, uint32_t word)
{
    unsigned rd = word & 31;
    uint64_t far = (word >> 29 & 3) | (word >> 5 & 0x7ffff) << 2;
    uint64_t mask;
    switch (word >> 23 & 7) {
    case 0:
    case 1:
        far = sign_extend(far, 21);
        set(s, rd,
            number((word >> 31) != 0 ? (s->vaddr & ~(uint64_t)4095) + (far << 12)
                                     : s->vaddr + far));
        break;
    case 2:
        add_immediate(s, word);
        break;
    case 4:
        if ((word >> 29 & 3) == 1 && (word >> 5 & 31) == 31 && bit_mask(word, &mask)) {
            set(s, rd, number(mask));
        } else {
            lose(s, rd);
        }
        break;
    case 5:
        move_wide(s, word);
        break;
    default:
        lose(s, rd);
    }
}

/* --- registers --- */

static void registers(struct state *s, uint32_t word)
{
    if ((word & 0x7fe0ffe0) == 0x2a0003e0) { /* mov rd, rm */
        struct blockfile_value value = get(s, word >> 16 & 31);
        if ((word >> 31) == 0 && value.kind == BLOCKFILE_NUMBER) {
            value.number &= UINT32_MAX;
        }
        set(s, word & 31, value);
        return;
    }
    lose(s, word & 31);
}

static void vectors(struct state *s, uint32_t word)
{
    struct vector *to = &s->v[word & 31];
    struct blockfile_value from = get(s, word >> 5 & 31);
    if ((word & 0xfffffc00) == 0x9e670000) { /* fmov dd, xn */
        *to = (struct vector){from, number(0)};
    } else if ((word & 0xfffffc00) == 0x4e081c00) { /* mov vd.d[0], xn */
        to->low = from;
    } else if ((word & 0xfffffc00) == 0x4e181c00) { /* mov vd.d[1], xn */
        to->high = from;
    } else if ((word & 0xfffffc00) == 0x4e080c00) { /* dup vd.2d, xn */
        *to = (struct vector){from, from};
    } else if ((word & 0xbfffffe0) == 0x2f00e400) { /* movi vd, #0 */
        *to = (struct vector){number(0), number(0)};
    } else if ((word & 0x9f3ffc00) == 0x1e260000) { /* fmov to a general register */
        lose(s, word & 31);
    } else {
        *to = (struct vector){{0}, {0}};
    }
}

/* --- memory --- */

static void store_vector(struct state *s, const struct blockfile_value *where, int64_t offset,
                         const struct vector *value, unsigned size)
{
    blockfile_store(s->slots, where, offset, &value->low, size < 8 ? size : 8, s->site);
    if (size == 16) {
        blockfile_store(s->slots, where, offset + 8, &value->high, 8, s->site);
    }
}

static void pair(struct state *s, uint32_t word)
{
    unsigned rt = word & 31, rn = word >> 5 & 31, rt2 = word >> 10 & 31, opc = word >> 30;
    bool vector = (word >> 26 & 1) != 0, is_load = (word >> 22 & 1) != 0;
    unsigned how = word >> 23 & 3; /* 1: post-index, 2: offset, 3: pre-index */
    unsigned size = vector ? 4u << opc : opc == 2 ? 8 : 4;
    int64_t offset = (int64_t)sign_extend(word >> 15 & 0x7f, 7) * (int64_t)size;
    struct blockfile_value where = s->x[rn];
    int64_t at = how == 1 ? 0 : offset;
    if (is_load) {
        if (vector) {
            s->v[rt] = s->v[rt2] = (struct vector){{0}, {0}};
        } else {
            set(s, rt, blockfile_load(s->slots, &where, at, size));
            set(s, rt2, blockfile_load(s->slots, &where, at + (int64_t)size, size));
        }
    } else if (vector && opc < 3) {
        for (int64_t i = 0; i < 2 * (int64_t)size; i += 8) {
            blockfile_forget(s->slots, &where, at + i);
        }
        store_vector(s, &where, at, &s->v[rt], size);
        store_vector(s, &where, at + (int64_t)size, &s->v[rt2], size);
    } else if (!vector) {
        struct blockfile_value a = get(s, rt), b = get(s, rt2);
        blockfile_forget(s->slots, &where, at);
        blockfile_forget(s->slots, &where, at + (int64_t)size);
        blockfile_store(s->slots, &where, at, &a, size, s->site);
        blockfile_store(s->slots, &where, at + (int64_t)size, &b, size, s->site);
    }
    if (how == 1 || how == 3) {
        where.number += (uint64_t)offset;
        s->x[rn] = where;
    }
}

static unsigned access_bytes(uint32_t word, bool vector)
{
    unsigned size = word >> 30;
    return vector && size == 0 && (word >> 23 & 1) != 0 ? 16 : 1u << size;
}

static void take_load(struct state *s, uint32_t word, const struct blockfile_value *where,
                      int64_t offset, unsigned bytes)
{
    unsigned rt = word & 31;
    if ((word >> 26 & 1) != 0) {
        s->v[rt] = (struct vector){{0}, {0}};
        if (bytes >= 8) {
            s->v[rt].low = blockfile_load(s->slots, where, offset, 8);
            s->v[rt].high =
                bytes == 16 ? blockfile_load(s->slots, where, offset + 8, 8) : number(0);
        }
    } else if (bytes >= 4 && (word >> 22 & 3) == 1) {
        set(s, rt, blockfile_load(s->slots, where, offset, bytes));
    } else {
        lose(s, rt);
    }
}

/* ldr, str and their kin with one register; what else there is loads, at the worst. */
static void single(struct state *s, uint32_t word)
{
    bool vector = (word >> 26 & 1) != 0;
    unsigned bytes = access_bytes(word, vector), rn = word >> 5 & 31, how = word >> 10 & 3;
    bool is_load = vector ? (word >> 22 & 1) != 0 : (word >> 22 & 3) != 0;
    bool is_unsigned = (word >> 24 & 1) != 0;
    struct blockfile_value where = s->x[rn];
    int64_t offset = is_unsigned ? (int64_t)(word >> 10 & 0xfff) * (int64_t)bytes
                                 : (int64_t)sign_extend(word >> 12 & 0x1ff, 9);
    bool by_register = !is_unsigned && (word >> 21 & 1) != 0;
    if (is_load) {
        if (by_register) {
            where.kind = BLOCKFILE_UNKNOWN;
        }
        take_load(s, word, &where, !is_unsigned && how == 1 ? 0 : offset, bytes);
    } else if (!by_register && bytes >= 4) {
        struct blockfile_value value = get(s, word & 31);
        int64_t at = !is_unsigned && how == 1 ? 0 : offset;
        if (vector) {
            store_vector(s, &where, at, &s->v[word & 31], bytes);
        } else {
            blockfile_store(s->slots, &where, at, &value, bytes, s->site);
        }
    }
    if (!is_unsigned && !by_register && (how == 1 || how == 3) && rn < REGS) {
        s->x[rn].number += (uint64_t)offset;
    }
}

static void memory(struct state *s, uint32_t word)
{
    if ((word & 0x3a000000) == 0x28000000) {
        pair(s, word);
    } else if ((word & 0x3a000000) == 0x38000000) {
        single(s, word);
    } else if ((word & 0x3b000000) == 0x18000000) { /* ldr from a literal */
        struct blockfile_value where =
            number(s->vaddr + (sign_extend(word >> 5 & 0x7ffff, 19) << 2));
        unsigned opc = word >> 30;
        if ((word >> 26 & 1) != 0) {
            take_load(s, word, &where, 0, 4u << opc);
        } else {
            set(s, word & 31, opc < 2 ? blockfile_load(s->slots, &where, 0, 4u << opc) : unknown);
        }
    } else {
        lose(s, word & 31);
        lose(s, word >> 10 & 31);
        lose(s, word >> 16 & 31);
    }
}

/* --- calls --- */

static void call(struct state *s)
{
    blockfile_settle(s->slots);
    for (unsigned i = 0; i < CALL_LOSES; i++) {
        lose(s, i);
    }
    for (unsigned i = 0; i < REGS; i++) { /* of d8 to d15 the lower halves are kept */
        s->v[i] = (struct vector){i >= 8 && i < 16 ? s->v[i].low : unknown, unknown};
    }
}

static uint32_t word_at(const struct state *s, uint64_t vaddr)
{
    return blockfile_word(s->area->bytes + (vaddr - s->area->vaddr));
}

static void step(struct state *s, uint64_t vaddr);

/* Code that is called and runs in one line is followed as if it stood here. False: it is not. */
static bool follow_outlined(struct state *s, uint64_t target)
{
    const struct sonde__loaded_area *area = s->area;
    struct blockfile_value stack = s->x[SP];
    uint64_t last, here = s->vaddr, next;
    uint32_t word;
    bool is_call;
    if (s->depth == DEPTH_MAX || !blockfile_outlined(s->slots->loaded, target, &last) ||
        (last - target) / 4 >= s->left) {
        return false;
    }
    s->left -= (last - target) / 4 + 1;
    s->area = sonde__loaded_area_at(s->slots->loaded, target);
    s->depth++;
    for (uint64_t vaddr = target; vaddr < last; vaddr += 4) {
        step(s, vaddr);
    }
    word = word_at(s, last);
    if (blockfile_branch(word, last, &is_call, &next)) {
        if (!follow_outlined(s, next)) {
            call(s);
        }
    } else if ((word & 0x00600000) != 0x00400000) { /* no return */
        call(s);
    }
    if (s->x[SP].base == stack.base && (int64_t)(s->x[SP].number - stack.number) < 0) {
        stack = s->x[SP]; /* a prologue was moved out */
    }
    blockfile_forget_below(s->slots, &stack);
    s->depth--;
    s->area = area;
    s->vaddr = here;
    return true;
}

/* What stands behind the jump comes from elsewhere. */
static void follow_jump(struct state *s, uint64_t target)
{
    uint64_t last;
    if (blockfile_outlined(s->slots->loaded, target, &last)) {
        struct state before = *s;
        (void)follow_outlined(s, target);
        before.left = s->left;
        *s = before;
    }
}

static void branch(struct state *s, uint32_t word)
{
    uint64_t target;
    bool is_call;
    if (blockfile_branch(word, s->vaddr, &is_call, &target)) {
        if (is_call) {
            if (!follow_outlined(s, target)) {
                call(s);
            }
        } else if (s->depth == 0) {
            follow_jump(s, target);
        }
    } else if ((word & 0xfffff000) == 0xd63f0000 || (word & 0xfeff0000) == 0xd63f0000) {
        call(s);
    }
}

static void step(struct state *s, uint64_t vaddr)
{
    uint32_t word = word_at(s, vaddr);
    s->vaddr = vaddr;
    s->site = s->depth == 0 ? vaddr : s->site;
    switch (word >> 25 & 15) {
    case 8:
    case 9:
        immediate(s, word);
        break;
    case 10:
    case 11:
        branch(s, word);
        break;
    case 4:
    case 6:
    case 12:
    case 14:
        memory(s, word);
        break;
    case 5:
    case 13:
        registers(s, word);
        break;
    case 7:
    case 15:
        vectors(s, word);
        break;
    default:
        break;
    }
    if (s->x[FP].kind == BLOCKFILE_UNKNOWN) { /* wherever it stands, it stays there a while */
        s->x[FP] = (struct blockfile_value){.kind = BLOCKFILE_PLACE, .base = FP};
    }
}

/* Behind a return or a jump: a symbol, or what a function begins with. */
static bool begins_function(const struct state *s, uint64_t vaddr)
{
    uint32_t before, word;
    if (vaddr - s->area->vaddr < 4) {
        return false;
    }
    before = word_at(s, vaddr - 4);
    word = word_at(s, vaddr);
    if ((before & 0xfc000000) != 0x14000000 && (before & 0xfffff000) != 0xd65f0000 &&
        (before & 0xfefff000) != 0xd61f0000) {
        return false;
    }
    return (word & 0xff8003ff) == 0xd10003ff || /* sub sp, sp, #n */
           (word & 0xffc003e0) == 0xa98003e0 || /* stp ..., [sp, #n]! */
           (word & 0xffc003e0) == 0x6d8003e0 || /* the same of d registers */
           word == 0xd503237f ||                /* pacibsp */
           sonde__loaded_symbol_at(s->slots->loaded, vaddr) != NULL;
}

void blockfile_follow_aarch64(struct blockfile_slots *slots, const struct sonde__loaded_area *area,
                              uint64_t begin, uint64_t end)
{
    struct state s = {.slots = slots, .area = area, .left = (end - begin) / 4 * AGAIN_MAX};
    reset(&s);
    for (uint64_t vaddr = (begin + 3) & ~(uint64_t)3; vaddr + 4 <= end; vaddr += 4) {
        if (begins_function(&s, vaddr)) {
            blockfile_begin_function(slots);
            reset(&s);
        }
        step(&s, vaddr);
    }
    blockfile_settle(slots);
}
