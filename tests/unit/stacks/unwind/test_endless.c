// SPDX-License-Identifier: Apache-2.0
/* Records that make up callers without end: the walk ends soon, and says why. */
#include "sim.h"
#include "test.h"

#define CODE(offset)  (SIM_CODE + (offset))
#define STACK(offset) (SIM_STACK + (offset))

static struct sim sim;

/* Records can say that callers are where no stack is, and as many as one likes. */
static void expect_an_early_end(void)
{
    sim_walk(&sim, 1000, 0);
    CHECK_EQ(sim.result.end, SONDE_END_NO_PROGRESS);
    CHECK(sim.result.count < 100);
}

TEST(return_addresses_from_no_place_end_the_walk)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    /* CFA rsp+16; the return address is CODE(0x20) by expression */
    SIM_FDE(&sim, 0, 0x0e, 16, 0x16, 16, 5, 0x0c, 0x20, 0, SIM_CODE >> 16, 0);
    sim_start(&sim, 0x10, 0x100);
    expect_an_early_end();
}

TEST(one_return_address_for_all_ends_the_walk)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    /* CFA rbx+16, which stays; rsp = rsp + 8 by expression */
    SIM_FDE(&sim, 0, 0x0c, 3, 16, 0x16, 7, 2, 0x77, 8);
    sim_start(&sim, 0x10, 0x100);
    sim_set(&sim, 3, STACK(0x200));
    sim_poke(&sim, 0x208, CODE(0x20));
    expect_an_early_end();
}

TEST(one_return_address_by_the_frame_pointer_ends_the_walk)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    /* CFA rsp+16; the return address at rbp+8, which stays */
    SIM_FDE(&sim, 0, 0x0e, 16, 0x10, 16, 2, 0x76, 8);
    sim_start(&sim, 0x10, 0x100);
    sim_set(&sim, SONDE__X86_64_RBP, STACK(0x200));
    sim_poke(&sim, 0x208, CODE(0x20));
    expect_an_early_end();
}

TEST(signal_frames_that_take_no_stack_end_the_walk)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    sim_cie(&sim, true);
    SIM_FDE(&sim, 0, 0x0e, 0); /* CFA rsp, and the return address below it */
    sim_start(&sim, 0x10, 0x100);
    sim_poke(&sim, 0xf8, CODE(0x10));
    expect_an_early_end();
}
