// SPDX-License-Identifier: Apache-2.0
/* Rows of code that leaves: switches of stacks, vfork, functions that realign their stack. */
#include <string.h>

#include "sim.h"
#include "test.h"

#define CODE(offset_)  (SIM_CODE + (uint64_t)(offset_))
#define STACK(offset_) (SIM_STACK + (uint64_t)(offset_))

static struct sim sim;

/* The outermost function of x86-64 at 0xf00: its return address is undefined. */
static void add_root(void)
{
    SIM_FDE(&sim, 0xf00, 0x07, 16);
}

/* setcontext, longjmp: described as called by their target, whose sp they have at the end. */
TEST(a_switch_of_stacks_is_called_by_its_target)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    /* CFA rdx; rsp at CFA+160, return address at CFA+168 */
    SIM_FDE(&sim, 0, 0x0c, 1, 0, 0x11, 7, 0x6c, 0x11, 16, 0x6b);
    SIM_FDE(&sim, 0x100, 0x0c, 1, 0, 0x11, 7, 0x6c, 0x11, 16, 0x6b);
    add_root();
    sim_start(&sim, 0x10, 0x100);
    sim_set(&sim, 1, STACK(0x400));
    sim_poke(&sim, 0x400 + 168, CODE(0xf10));
    sim_poke(&sim, 0x400 + 160, STACK(0x100)); /* it has it already */
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0xf10);
    sim_poke(&sim, 0x400 + 160, STACK(0x80)); /* another stack */
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0xf10);
    sim_poke(&sim, 0x400 + 168, CODE(0x110)); /* whose caller it is not, for it was called */
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_PROGRESS, 0x10, 0x110);
}

/* vfork pops its return address. */
TEST(a_return_address_in_a_register_takes_no_stack)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0, 0x0e, 0, 0x09, 16, 5); /* CFA rsp, return address in rdi */
    SIM_FDE(&sim, 0x100, 0x0e, 16);
    add_root();
    sim_start(&sim, 0x10, 0x100);
    sim_set(&sim, 5, CODE(0x110));
    sim_poke(&sim, 0x108, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0x110, 0xf10);
}

/* gcc states until the end of a function that realigns its stack that rbp is saved where rbp
 * points, even after it was popped. */
TEST(a_frame_pointer_is_not_saved_above_its_frame)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0, 0x10, 6, 2, 0x76, 0);                  /* at its ret: CFA rsp+8 */
    SIM_FDE(&sim, 0x100, 0x0c, 10, 0, 0x10, 6, 2, 0x76, 0); /* before: CFA r10 */
    SIM_FDE(&sim, 0x200, 0x0c, 6, 16, 0x86, 2);
    add_root();
    for (unsigned pc = 0x10; pc <= 0x110; pc += 0x100) {
        sim_start(&sim, pc, 0x100);
        sim_set(&sim, SONDE__X86_64_RBP, STACK(0x200)); /* the caller's */
        sim_set(&sim, 10, STACK(0x108));
        sim_poke(&sim, 0x100, CODE(0x210));
        sim_poke(&sim, 0x200, STACK(0x300)); /* its caller's */
        sim_poke(&sim, 0x208, CODE(0xf10));
        sim_poke(&sim, 0x308, CODE(0x220));
        sim_walk(&sim, 16, 0);
        SIM_EXPECT(&sim, SONDE_END_ROOT, pc, 0x210, 0xf10);
    }
}

/* Control goes to f at 0x200: to its first instruction, or to a landing pad at 0x240, whose row
 * differs from that of the call before. */
static void open_target(uint64_t pc)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0, 0x00);                               /* about to return there */
    SIM_FDE(&sim, 0x200, 0x41, 0x0e, 16, 0x7f, 0x0e, 32); /* 0x201: CFA rsp+16; 0x240: rsp+32 */
    add_root();
    sim_poke(&sim, 0x100, pc);
    sim_start(&sim, 0x10, 0x100);
}

TEST(where_control_goes_is_no_return_address)
{
    open_target(CODE(0x240));
    sim_poke(&sim, 0x120, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0x240, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_CFI | SONDE_HOW_EXACT);
    /* a coroutine's function has no record of the byte before it */
    open_target(CODE(0x200));
    sim_poke(&sim, 0x108, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0x200, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_CFI | SONDE_HOW_EXACT);
}

TEST(where_a_call_ends_is_a_return_address)
{
    open_target(CODE(0x240));
    sim_call(&sim, 0x240, 0); /* by a function that does not come back */
    sim_poke(&sim, 0x110, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0x240, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_CFI);
}

/* glibc's __start_context: a coroutine "returns" to its first instruction, and there the stack
 * holds no return address. */
TEST(the_start_of_a_coroutine_stays_the_root)
{
    open_target(CODE(0x200));
    sim_poke(&sim, 0x108, STACK(0x800));
    memcpy(sim.code + 0x200, "\x48\x89\xdc", 3); /* mov %rbx,%rsp: of glibc's __start_context */
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0x200);
    CHECK_EQ(sim.how[1], SONDE_FOUND_CFI);
    sim.code[0x200] = 0x90; /* any function: a return address that was overwritten */
    sim_walk(&sim, 16, 0);
    CHECK(sim.result.end != SONDE_END_ROOT);
}

/* swapcontext of aarch64 puts the address at which it will be resumed in lr. */
TEST(aarch64_own_address_in_lr_is_no_caller)
{
    sim_open(&sim, SONDE_ARCH_AARCH64);
    SIM_FDE(&sim, 0);
    SIM_FDE(&sim, 0xf00, 0x07, 30);
    sim_start(&sim, 0x10, 0x100);
    sim_set(&sim, SONDE__AARCH64_LR, CODE(0x80));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_REGISTERS, 0x10);
    memcpy(sim.code + 0x7c, "\xe1\xff\xff\x97", 4); /* bl 0: it calls itself */
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_PROGRESS, 0x10, 0x80);
    sim_set(&sim, SONDE__AARCH64_LR, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0xf10);
}

/* longjmp's record gives the return address as the buffer has it: disguised. */
TEST(aarch64_a_disguised_address_is_no_caller)
{
    sim_open(&sim, SONDE_ARCH_AARCH64);
    SIM_FDE(&sim, 0, 0x0e, 16, 0x9e, 1);
    SIM_FDE(&sim, 0xf00, 0x07, 30);
    sim_start(&sim, 0x10, 0x100);
    sim_poke(&sim, 0x108, 0x1d6fc55237caf582);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 0x10);
    sim_poke(&sim, 0x108, 0); /* a zeroed frame */
    sim_walk(&sim, 16, 0);
    CHECK_EQ(sim.result.end, SONDE_END_NO_CODE);
    CHECK_EQ(sim.result.end_at, 0);
    sim_poke(&sim, 0x108, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0xf10);
}
