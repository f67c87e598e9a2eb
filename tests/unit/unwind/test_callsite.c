// SPDX-License-Identifier: Apache-2.0
/* The caller by the call that entered the function, where call frame information lacks or lies. */
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

/* Assembler at 0x100 that pushes rbx and rbp and says nothing of it, called from 0x24b. */
static void open_silent_pushes(void)
{
    sim_open(&sim, SONDE__ARCH_X86_64);
    SIM_FDE(&sim, 0x100, 0);
    SIM_FDE(&sim, 0x200, 0x0c, 6, 16, 0x86, 2);
    add_root();
    memcpy(sim.code + 0x100, "\x53\x55", 2);
    sim_call(&sim, 0x250, 0x100);
    sim_start(&sim, 0x110, 0x100);
    sim_set(&sim, SONDE__X86_64_RBP, 5); /* it counts with it */
    sim_poke(&sim, 0x100, STACK(0x200)); /* the caller's rbp */
    sim_poke(&sim, 0x108, 0x78);
    sim_poke(&sim, 0x110, CODE(0x250));
    sim_poke(&sim, 0x208, CODE(0xf10));
}

TEST(the_call_corrects_a_rule_that_leads_nowhere)
{
    open_silent_pushes();
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x110, 0x250, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_INFERRED);
    CHECK_EQ(sim.how[2], SONDE_FOUND_INFERRED);
    /* rbp is popped, rbx is not */
    sim_start(&sim, 0x120, 0x108);
    sim_set(&sim, SONDE__X86_64_RBP, STACK(0x200));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x120, 0x250, 0xf10);
    /* a call of another function proves nothing */
    sim_call(&sim, 0x250, 0x180);
    sim_set(&sim, SONDE__X86_64_RBP, 5);
    sim_walk(&sim, 16, 0);
    CHECK_EQ(sim.result.count, 2);
    CHECK_EQ(sim.result.end, SONDE_END_NO_RULE);
}

/* A rule that leads to code is not doubted, and only of the innermost frame is anything known of
 * the words next to sp. */
TEST(a_rule_that_leads_to_code_is_believed)
{
    open_silent_pushes();
    sim_poke(&sim, 0x100, CODE(0xf20));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x110, 0xf20);
    open_silent_pushes();
    sim.return_address = true;
    sim_walk(&sim, 16, 0);
    CHECK_EQ(sim.result.count, 2);
    CHECK_EQ(sim.result.end, SONDE_END_NO_RULE);
}

/* clone: its record ends in front of the system call. */
TEST(the_call_leads_out_of_code_without_a_record)
{
    sim_open(&sim, SONDE__ARCH_X86_64);
    sim_fde(&sim, 0x100, 0x10, (const uint8_t[]){0}, 1);
    SIM_FDE(&sim, 0x200, 0x0c, 6, 16, 0x86, 2);
    add_root();
    sim_call(&sim, 0x250, 0x100);
    sim_start(&sim, 0x112, 0x108);
    sim_set(&sim, SONDE__X86_64_RBP, STACK(0x200));
    sim_poke(&sim, 0x108, CODE(0x250));
    sim_poke(&sim, 0x208, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x112, 0x250, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_INFERRED);
    sim.code[0x118] = 0xc3; /* the function ends */
    sim_start(&sim, 0x180, 0x108);
    sim_set(&sim, SONDE__X86_64_RBP, 5);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 0x180);
}

TEST(an_indirect_call_leads_out_of_code_without_a_record)
{
    sim_open(&sim, SONDE__ARCH_X86_64);
    SIM_FDE(&sim, 0x200, 0x0e, 16);
    add_root();
    memcpy(sim.code + 0x24b, "\x90\x90\x90\xff\xd0", 5); /* call *%rax */
    sim_start(&sim, 0x110, 0x100);
    sim_set(&sim, SONDE__X86_64_RBP, 5);
    sim_poke(&sim, 0x100, CODE(0x250)); /* not where the ABI has a return address */
    sim_poke(&sim, 0x108, CODE(0x250));
    sim_poke(&sim, 0x118, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x110, 0x250, 0xf10);
    sim_poke(&sim, 0x118, 0x1234); /* leads nowhere */
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 0x110);
}
