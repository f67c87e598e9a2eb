// SPDX-License-Identifier: Apache-2.0
/* A pc that is no code, innermost and further out; and ends that are no root. */
#include <string.h>

#include "sim.h"
#include "test.h"

#define CODE(offset_)  (SIM_CODE + (uint64_t)(offset_))
#define STACK(offset_) (SIM_STACK + (uint64_t)(offset_))

/* Small integers, a hole, a stack, a kernel's address, text. */
static const uint64_t wild[] = {0,
                                1,
                                8,
                                0xfff,
                                0x1000,
                                0xdeadbeef,
                                SIM_STACK + 0x40,
                                0x4141414141414141,
                                0xffffffff81000000,
                                UINT64_MAX};
enum { WILD = sizeof wild / sizeof wild[0] };

static struct sim sim;

/* g at 0x200 has a frame pointer and calls at 0x24e by pointer; its caller is the root. */
static void open_x86_64(uint64_t pc)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0x200, 0x0c, 6, 16, 0x86, 2);
    SIM_FDE(&sim, 0xf00, 0x07, 16);
    memcpy(sim.code + 0x24e, "\xff\xd0", 2); /* call *%rax */
    sim_start(&sim, 0, 0x100);
    sim.regs.pc = pc;
    sim_set(&sim, SONDE__X86_64_RBP, STACK(0x200));
    sim_poke(&sim, 0x100, CODE(0x250));
    sim_poke(&sim, 0x208, CODE(0xf10));
}

static void expect_pcs(enum sonde_end_reason end, const uint64_t *pcs, uint32_t count)
{
    CHECK_EQ(sim.result.end, end);
    CHECK_EQ(sim.result.count, count);
    for (uint32_t i = 0; i < count && i < sim.result.count; i++) {
        CHECK_EQ(sim.pcs[i], pcs[i]);
    }
}

TEST(a_call_to_no_code_has_a_caller)
{
    for (unsigned i = 0; i < WILD; i++) {
        open_x86_64(wild[i]);
        sim_walk(&sim, 16, 0);
        expect_pcs(SONDE_END_ROOT, (uint64_t[]){wild[i], CODE(0x250), CODE(0xf10)}, 3);
        CHECK_EQ(sim.how[0], SONDE_FOUND_REGISTERS | SONDE_HOW_EXACT);
        CHECK_EQ(sim.how[1], SONDE_FOUND_INFERRED);
    }
}

/* After a return to an overwritten address, sp points anywhere; the frame pointer is another
 * function's. */
TEST(words_without_a_call_before_them_are_no_callers)
{
    static const uint64_t words[] = {0, 0x1234, CODE(0x24f), CODE(0x251), STACK(0x208)};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        open_x86_64(0xdeadbeef);
        sim_poke(&sim, 0x100, words[i]);
        sim_walk(&sim, 16, 0);
        expect_pcs(SONDE_END_NO_CODE, (uint64_t[]){0xdeadbeef}, 1);
        CHECK_EQ(sim.result.end_at, 0xdeadbeef);
    }
}

/* The frame that a signal interrupted. */
TEST(a_call_to_no_code_under_a_signal_frame)
{
    open_x86_64(0);
    sim_cie(&sim, true);
    SIM_FDE(&sim, 0x300, 0x0c, 7, 0x20, 0x86, 3, 0x90, 4); /* pc at 0, fp at 8, CFA 32 */
    sim_start(&sim, 0x310, 0xe0);
    sim_poke(&sim, 0xe0, 0);
    sim_poke(&sim, 0xe8, STACK(0x200));
    sim_walk(&sim, 16, 0);
    expect_pcs(SONDE_END_ROOT, (uint64_t[]){CODE(0x310), 0, CODE(0x250), CODE(0xf10)}, 4);
}

TEST(a_return_address_that_is_no_code_ends_the_walk)
{
    for (unsigned i = 0; i < WILD; i++) {
        open_x86_64(CODE(0x210));
        sim_poke(&sim, 0x208, wild[i]);
        sim_poke(&sim, 0x210, CODE(0x250)); /* memory of no image */
        sim_poke(&sim, 0x100, 7);
        sim_walk(&sim, 16, 0);
        expect_pcs(SONDE_END_NO_CODE, (uint64_t[]){CODE(0x210), wild[i]}, 2);
        CHECK_EQ(sim.result.end_at, wild[i]);
    }
}

TEST(zeros_are_not_a_root)
{
    open_x86_64(CODE(0x210));
    memset(sim.stack, 0, sizeof sim.stack);
    sim_walk(&sim, 16, 0);
    expect_pcs(SONDE_END_NO_CODE, (uint64_t[]){CODE(0x210), 0}, 2);
    open_x86_64(CODE(0x810)); /* code without a record, and a frame record of zeros */
    sim_set(&sim, SONDE__X86_64_RBP, STACK(0x300));
    sim_poke(&sim, 0x100, 0);
    sim_poke(&sim, 0x208, 0);
    sim_walk(&sim, 16, 0);
    CHECK(sim.result.end != SONDE_END_ROOT);
}

static void put_words(uint32_t at, const uint32_t *words, unsigned count)
{
    memcpy(sim.code + at, words, (size_t)count * 4);
}

/* The same of aarch64; g's frame has 32 bytes. */
static void open_aarch64(uint64_t pc)
{
    sim_open(&sim, SONDE_ARCH_AARCH64);
    SIM_FDE(&sim, 0x200, 0x0e, 32, 0x9d, 4, 0x9e, 3);
    SIM_FDE(&sim, 0xf00, 0x07, 30);
    put_words(0x24c, (const uint32_t[]){0xd63f0000}, 1); /* blr x0 */
    sim_start(&sim, 0, 0x300);
    sim.regs.pc = pc;
    sim_set(&sim, SONDE__AARCH64_FP, STACK(0x400));
    sim_set(&sim, SONDE__AARCH64_LR, CODE(0x250));
    sim_poke(&sim, 0x308, CODE(0xf10));
    sim_poke(&sim, 0x408, CODE(0xf20));
}

TEST(aarch64_lr_has_the_caller)
{
    for (unsigned i = 0; i < WILD; i++) {
        open_aarch64(wild[i]);
        sim_walk(&sim, 16, 0);
        expect_pcs(SONDE_END_ROOT, (uint64_t[]){wild[i], CODE(0x250), CODE(0xf10)}, 3);
        CHECK_EQ(sim.how[1], SONDE_FOUND_LR);
        CHECK_EQ(sim.how[2], SONDE_FOUND_CFI);
        sim_set(&sim, SONDE__AARCH64_LR, CODE(0x248)); /* no call ends there */
        sim_walk(&sim, 16, 0);
        expect_pcs(SONDE_END_NO_CODE, &wild[i], 1);
        open_aarch64(CODE(0x210));
        sim.return_address = true;
        sim_poke(&sim, 0x308, wild[i] & 0xffffffffffff);
        sim_walk(&sim, 16, 0);
        CHECK_EQ(sim.result.end, SONDE_END_NO_CODE);
        CHECK_EQ(sim.result.end_at, wild[i] & 0xffffffffffff);
    }
}

/* musl's clone: the return from a thread's first function leads to the exit system call. */
TEST(the_end_of_a_thread_is_its_root)
{
    open_aarch64(CODE(0x210));
    sim_poke(&sim, 0x308, CODE(0x804));
    put_words(0x800, (const uint32_t[]){0xd63f0020, 0xd2800ba8, 0xd4000001}, 3);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x210, 0x804);
    put_words(0x804, (const uint32_t[]){0xd2800bc9}, 1); /* another register */
    sim_walk(&sim, 16, 0);
    CHECK(sim.result.end != SONDE_END_ROOT);
}

/* The memory at an address is unknown: then the walk claims nothing about it. */
static bool may_be(void *ctx, uint64_t pc)
{
    (void)ctx;
    return pc == 0x7000000;
}

TEST(possible_code_is_not_reported_as_no_code)
{
    struct sonde_stack stack;
    uint64_t pcs[8];
    uint8_t how[8];
    for (uint64_t pc = 0x7000000; pc <= 0x7000010; pc += 0x10) {
        open_x86_64(pc);
        struct sonde__walk walk = {.images = &sim.set,
                                   .regs = sim.regs,
                                   .memory = {.read = sim_read, .ctx = &sim},
                                   .first_exact = true,
                                   .may_be_code = may_be};
        sim_poke(&sim, 0x100, 0x999);
        sonde_stack_init(&stack, pcs, how, 8, 0);
        sonde__unwind_walk(&walk, &stack);
        CHECK_EQ(stack.end == SONDE_END_NO_CODE, pc != 0x7000000);
    }
}

static bool all_is_code(void *ctx, uint64_t pc, uint64_t *ret_start, uint64_t *ret_end)
{
    (void)ctx;
    *ret_start = pc & ~UINT64_C(4095);
    *ret_end = *ret_start + 4096;
    return true;
}

/* The maps say that x86-64's page of old system calls is code. None of it runs. */
TEST(the_vsyscall_page_is_no_code)
{
    struct sonde_stack stack;
    uint64_t pcs[8];
    uint8_t how[8];
    for (uint64_t pc = 0xffffffffff600000; pc < 0xffffffffff601000; pc += 0x100) {
        open_x86_64(pc);
        struct sonde__walk walk = {.images = &sim.set,
                                   .regs = sim.regs,
                                   .memory = {.read = sim_read, .ctx = &sim},
                                   .first_exact = true,
                                   .find_code = all_is_code};
        sonde_stack_init(&stack, pcs, how, 8, 0);
        sonde__unwind_walk(&walk, &stack);
        CHECK_EQ(stack.count, 3);
        CHECK_EQ(pcs[1], CODE(0x250));
        CHECK_EQ(how[1], SONDE_FOUND_INFERRED);
        CHECK_EQ(stack.end, SONDE_END_ROOT);
    }
}
