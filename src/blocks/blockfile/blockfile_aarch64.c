// SPDX-License-Identifier: Apache-2.0
/* Follows stores of aarch64 code to its stack, outlined code included. Source: Arm ARM DDI 0487,
 * C4.1. Context: any thread. */
#include "arch_regs.h"
#include "blockfile_cpu.h"

enum { DEPTH_MAX = 4, AGAIN_MAX = 8 };

struct state {
    struct blockfile_cpu cpu;
    const struct sonde__loaded_area *area; /* of the current code */
    uint64_t vaddr;
    unsigned depth; /* of outlined calls; stores there have the site of the outermost call */
    uint64_t left;  /* budget of instructions in outlined code */
};

static uint32_t word_at(const struct state *s, uint64_t vaddr)
{
    return sonde__base_le32(s->area->bytes + (vaddr - s->area->vaddr));
}

static void step(struct state *s, uint64_t vaddr);

/* Follow a call of outlined code as if it were inlined. False: the target is not outlined code. */
static bool follow_outlined(struct state *s, uint64_t target)
{
    const struct sonde__loaded_area *area = s->area;
    struct blockfile_value stack = s->cpu.r[SONDE__INSN_SP];
    uint64_t last, here = s->vaddr, next;
    uint32_t word;
    bool is_call;
    if (s->depth == DEPTH_MAX || !blockfile_outlined(s->cpu.slots->loaded, target, &last) ||
        (last - target) / 4 >= s->left) {
        return false;
    }
    s->left -= (last - target) / 4 + 1;
    s->area = sonde__loaded_area_at(s->cpu.slots->loaded, target);
    s->depth++;
    for (uint64_t vaddr = target; vaddr < last; vaddr += 4) {
        step(s, vaddr);
    }
    word = word_at(s, last);
    if (blockfile_branch(word, last, &is_call, &next)) {
        if (!follow_outlined(s, next)) {
            blockfile_cpu_call(&s->cpu);
        }
    } else if ((word & 0x00600000) != 0x00400000) { /* not a return */
        blockfile_cpu_call(&s->cpu);
    }
    if (s->cpu.r[SONDE__INSN_SP].base == stack.base &&
        (int64_t)(s->cpu.r[SONDE__INSN_SP].number - stack.number) < 0) {
        stack = s->cpu.r[SONDE__INSN_SP]; /* the prologue was outlined */
    }
    blockfile_forget_below(s->cpu.slots, &stack);
    s->depth--;
    s->area = area;
    s->vaddr = here;
    return true;
}

/* Follow a tail jump to outlined code, then restore the state, because the next instruction is not
 * reached from here. */
static void follow_jump(struct state *s, uint64_t target)
{
    uint64_t last;
    if (blockfile_outlined(s->cpu.slots->loaded, target, &last)) {
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
                blockfile_cpu_call(&s->cpu);
            }
        } else if (s->depth == 0) {
            follow_jump(s, target);
        }
    } else if ((word & 0xfffff000) == 0xd63f0000 || (word & 0xfeff0000) == 0xd63f0000) {
        blockfile_cpu_call(&s->cpu);
    }
}

/* For an instruction that is not decoded: all registers that it may write become unknown. */
static void lose_operands(struct blockfile_cpu *cpu, uint32_t word)
{
    static const uint8_t fields[] = {0, 10, 16}; /* of loads: both results, the status */
    bool is_load = (word >> 25 & 5) == 4;
    for (unsigned i = 0; i < (is_load ? 3 : 1); i++) {
        unsigned reg = word >> fields[i] & 31;
        blockfile_cpu_lose(cpu, SONDE__INSN_VECTOR_FIRST + reg);
        if (reg != SONDE__INSN_SP && reg != 29) {
            blockfile_cpu_lose(cpu, reg);
        }
    }
}

static void step(struct state *s, uint64_t vaddr)
{
    const uint8_t *code = s->area->bytes + (vaddr - s->area->vaddr);
    uint32_t word = sonde__base_le32(code);
    struct sonde__insn insn;
    s->vaddr = vaddr;
    if (s->depth == 0) {
        s->cpu.site = vaddr;
    }
    if ((word >> 25 & 14) == 10) {
        branch(s, word);
    } else if (sonde__arch_insn(SONDE_ARCH_AARCH64, vaddr, code, 4, &insn)) {
        blockfile_cpu_step(&s->cpu, &insn);
    } else {
        lose_operands(&s->cpu, word);
    }
}

/* Does a function begin here, after a return or jump? It needs a symbol or a typical first
 * instruction. */
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
           sonde__loaded_symbol_at(s->cpu.slots->loaded, vaddr) != NULL;
}

void blockfile_follow_aarch64(struct blockfile_slots *slots, const struct sonde__loaded_area *area,
                              uint64_t begin, uint64_t end)
{
    struct state s = {.cpu = {.slots = slots}, .area = area, .left = (end - begin) / 4 * AGAIN_MAX};
    blockfile_cpu_reset(&s.cpu);
    for (uint64_t vaddr = (begin + 3) & ~(uint64_t)3; vaddr + 4 <= end; vaddr += 4) {
        if (begins_function(&s, vaddr)) {
            blockfile_begin_function(slots);
            blockfile_cpu_reset(&s.cpu);
        }
        step(&s, vaddr);
    }
    blockfile_settle(slots);
}
