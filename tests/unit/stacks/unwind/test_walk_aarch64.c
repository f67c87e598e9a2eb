// SPDX-License-Identifier: Apache-2.0
/* The walk over made-up stacks of aarch64: what is particular to its link register. */
#include <string.h>

#include "sim.h"
#include "test.h"

#define CODE(offset_)  (SIM_CODE + (uint64_t)(offset_))
#define STACK(offset_) (SIM_STACK + (uint64_t)(offset_))

static struct sim sim;

TEST(leaf_and_signed_return_address)
{
    sim_open(&sim, SONDE_ARCH_AARCH64);
    SIM_FDE(&sim, 0);                                       /* a leaf: lr, no stack */
    SIM_FDE(&sim, 0x100, 0x2d, 0x0e, 32, 0x9d, 4, 0x9e, 3); /* x29 at -32, x30 at -24 */
    SIM_FDE(&sim, 0xf00, 0x07, 30);
    sim_start(&sim, 0x10, 0x100);
    sim_set(&sim, SONDE__AARCH64_LR, CODE(0x110));
    sim_set(&sim, SONDE__AARCH64_FP, STACK(0x100));
    sim_poke(&sim, 0x108, CODE(0xf10) | (uint64_t)0x2b << 48);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0x110, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_LR);
    CHECK_EQ(sim.how[2], SONDE_FOUND_CFI);
    /* a leaf cannot call */
    sim_poke(&sim, 0x108, CODE(0x20));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_PROGRESS, 0x10, 0x110, 0x20);
    /* and without lr nobody knows its caller */
    sim.regs.known &= ~((uint64_t)1 << SONDE__AARCH64_LR);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_REGISTERS, 0x10);
}

TEST(signal_trampoline)
{
    sim_open(&sim, SONDE_ARCH_AARCH64);
    SIM_FDE(&sim, 0);
    SIM_FDE(&sim, 0xf00, 0x07, 30);
    memcpy(sim.code + 0x800, "\x68\x11\x80\xd2\x01\x00\x00\xd4", 8);
    sim_start(&sim, 0x10, 0x100);
    sim_set(&sim, SONDE__AARCH64_LR, CODE(0x800));
    sim_set(&sim, SONDE__AARCH64_FP, 0);
    uint32_t regs = 0x100 + 312;
    sim_poke(&sim, regs + 30 * 8, CODE(0xf10)); /* lr of the interrupted leaf */
    sim_poke(&sim, regs + 31 * 8, STACK(0x600));
    sim_poke(&sim, regs + 32 * 8, CODE(0x20));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0x800, 0x20, 0xf10);
    CHECK((sim.how[1] & SONDE_HOW_SIGNAL) != 0);
    CHECK((sim.how[2] & SONDE_HOW_EXACT) != 0);
}

/* lr of a caller died with the call: a row that says it is still there does not make it so. */
TEST(caller_cannot_have_its_return_address_in_lr)
{
    sim_open(&sim, SONDE_ARCH_AARCH64);
    SIM_FDE(&sim, 0);
    SIM_FDE(&sim, 0x100, 0x0e, 16); /* takes stack, saves nothing */
    SIM_FDE(&sim, 0xf00, 0x07, 30);
    sim_start(&sim, 0x10, 0x100);
    sim_set(&sim, SONDE__AARCH64_LR, CODE(0x110));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_PROGRESS, 0x10, 0x110);
}

/* A blocked thread that is read passively shows sp and pc. Whatever needs lr or x29 ends there: on
 * this architecture nothing on the stack proves what they were. */
TEST(unknown_registers_are_marked)
{
    sim_open(&sim, SONDE_ARCH_AARCH64);
    SIM_FDE(&sim, 0);                                     /* a leaf: the caller is in lr */
    SIM_FDE(&sim, 0x100, 0x0c, 29, 16, 0x9d, 2, 0x9e, 1); /* its CFA needs x29 */
    SIM_FDE(&sim, 0x200, 0x0e, 32, 0x9d, 4, 0x9e, 3);     /* all by sp */
    SIM_FDE(&sim, 0x300, 0x0c, 29, 16, 0x9d, 2, 0x9e, 1);
    SIM_FDE(&sim, 0xf00, 0x07, 30);
    memcpy(sim.code + 0x14c, "\x2d\x00\x00\x94", 4); /* bl 0x200, back to 0x150 */
    memcpy(sim.code + 0x34c, "\x6d\xff\xff\x97", 4); /* bl 0x100 */
    memcpy(sim.code + 0x80c, "\x00\x02\x3f\xd6", 4); /* blr x16, no record */
    sim_poke(&sim, 0x100, STACK(0x140));             /* x29 of the caller */
    sim_poke(&sim, 0x108, CODE(0x150));
    sim_poke(&sim, 0x140, STACK(0x180));
    sim_poke(&sim, 0x148, CODE(0x350));
    sim_poke(&sim, 0x180, 0);
    sim_poke(&sim, 0x188, CODE(0xf10));
    sim.infer = true;
    for (uint32_t pc = 0x10; pc <= 0x810; pc += 0x100) {
        bool is_by_sp = pc == 0x210;
        if (pc >= 0x410 && pc < 0x810) {
            continue;
        }
        sim_start(&sim, pc, 0x100);
        sim_walk(&sim, 16, 0);
        if (is_by_sp) { /* and from there on x29 is known */
            SIM_EXPECT(&sim, SONDE_END_ROOT, 0x210, 0x150, 0x350, 0xf10);
            CHECK_EQ(sim.how[1], SONDE_FOUND_CFI);
        } else {
            CHECK_EQ(sim.result.count, 1);
            CHECK_EQ(sim.result.end, SONDE_END_NO_REGISTERS);
            CHECK_EQ(sim.result.end_at, CODE(pc));
        }
    }
}

static const struct sonde__image *answer(void *ctx, uint64_t pc, uint64_t *ret_start,
                                         uint64_t *ret_end)
{
    struct sim *s = ctx;
    *ret_start = SIM_CODE;
    *ret_end = SIM_CODE + sizeof s->code;
    return pc >= SIM_CODE && pc < SIM_CODE + sizeof s->code ? &s->image : NULL;
}

static uint64_t certain_pc; /* that was asked for as the pc of a frame */

static const struct sonde__image *answer_certain(void *ctx, uint64_t pc, uint64_t *ret_start,
                                                 uint64_t *ret_end)
{
    certain_pc = pc == CODE(0x240) - 1 ? pc : certain_pc;
    return answer(ctx, pc, ret_start, ret_end);
}

/* lr of code without a record may be of any call that was made: its image may be unloaded while we
 * look. Here it follows a call, leads nowhere, and is dropped. */
TEST(lr_is_looked_up_as_a_leftover)
{
    sim_open(&sim, SONDE_ARCH_AARCH64);
    SIM_FDE(&sim, 0xf00, 0x07, 30);
    memcpy(sim.code + 0x23c, "\x00\x04\x00\x94", 4); /* bl far away */
    sim_start(&sim, 0x810, 0x100);
    sim_set(&sim, SONDE__AARCH64_LR, CODE(0x240));
    sim_set(&sim, SONDE__AARCH64_FP, STACK(0x140));
    sim_poke(&sim, 0x140, 0);
    sim_poke(&sim, 0x148, CODE(0xf10));
    struct sonde__walk walk = {
        .regs = sim.regs,
        .memory = {.read = sim_read, .ctx = &sim},
        .first_exact = true,
        .find_image = answer_certain,
        .find_doubtful = answer,
        .find_ctx = &sim,
    };
    certain_pc = 0;
    sonde_stack_init(&sim.result, sim.pcs, sim.how, 16, 0);
    sonde__unwind_walk(&walk, &sim.result);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x810, 0xf10);
    CHECK_EQ(certain_pc, 0);
}
