// SPDX-License-Identifier: Apache-2.0
/* Results of scans are reused where they apply, and nowhere else. */
#include "unwind_scans.h"

#include <string.h>

#include "sim.h"
#include "test.h"

#define CODE(offset_)  (SIM_CODE + (uint64_t)(offset_))
#define STACK(offset_) (SIM_STACK + (uint64_t)(offset_))

static struct sim sim;
static struct sonde__scans scans;

/* Code without a record at 0x110, called from 0x24b; the walk begins at a return address in it. */
static void open_scan(void)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    sim_fde(&sim, 0x100, 0x10, (const uint8_t[]){0}, 1);
    SIM_FDE(&sim, 0x200, 0x0c, 6, 16, 0x86, 2);
    SIM_FDE(&sim, 0xf00, 0x07, 16); /* the outermost function */
    sim_call(&sim, 0x250, 0x100);
    sim_call(&sim, 0x270, 0x100);
    sim_start(&sim, 0x112, 0x108);
    sim_set(&sim, SONDE__X86_64_RBP, STACK(0x200));
    sim_poke(&sim, 0x108, CODE(0x250));
    sim_poke(&sim, 0x208, CODE(0xf10));
    memset(&scans, 0, sizeof scans);
    sim.image.is_permanent = true;
    sim.return_address = true;
    sim.scans = &scans;
}

static unsigned reads_of_a_walk(void)
{
    sim.code_reads = 0;
    sim_walk(&sim, 16, 0);
    return sim.code_reads;
}

TEST(a_caller_at_the_same_distance)
{
    open_scan();
    unsigned first = reads_of_a_walk();
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x112, 0x250, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_INFERRED);
    unsigned again = reads_of_a_walk();
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x112, 0x250, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_INFERRED);
    CHECK(again < first);
    sim_start(&sim, 0x112, 0x88); /* the same frame elsewhere on the stack */
    sim_set(&sim, SONDE__X86_64_RBP, STACK(0x200));
    sim_poke(&sim, 0x88, CODE(0x250));
    CHECK(reads_of_a_walk() == again);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x112, 0x250, 0xf10);
}

/* The rule of the function is known: a new caller costs less than a scan, and is checked. */
TEST(another_caller_by_the_same_rule)
{
    open_scan();
    unsigned first = reads_of_a_walk();
    sim_poke(&sim, 0x108, CODE(0x270));
    CHECK(reads_of_a_walk() < first);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x112, 0x270, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_INFERRED);
    sim_poke(&sim, 0x108, CODE(0x251)); /* no call ends there */
    sim_walk(&sim, 16, 0);
    CHECK(sim.result.count < 2 || sim.pcs[1] != CODE(0x251));
    sim_call(&sim, 0x290, 0x180); /* a call of another function */
    sim_poke(&sim, 0x108, CODE(0x290));
    sim_walk(&sim, 16, 0);
    CHECK(sim.result.count < 2 || sim.pcs[1] != CODE(0x290));
}

/* In an image that can be unloaded, or a JIT: a proof holds for the same code only. */
TEST(proofs_hold_only_for_the_same_code)
{
    open_scan();
    sim.image.is_permanent = false;
    unsigned first = reads_of_a_walk();
    CHECK(reads_of_a_walk() < first);
    memcpy(sim.code + 0x100, "\x53\x90", 2); /* push %rbx; nop: one word further out */
    sim_poke(&sim, 0x110, CODE(0x270));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x112, 0x270, 0xf10);
    sim.code[0x100] = 0x90;
    sim_poke(&sim, 0x110, 0);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x112, 0x250, 0xf10);
    sim.code[0x24b] = 0x90; /* the call is gone */
    sim_walk(&sim, 16, 0);
    CHECK(sim.result.count < 2 || sim.pcs[1] != CODE(0x250));
}

/* The innermost frame has a rule as well. */
TEST(the_same_instruction_again)
{
    open_scan();
    sim.return_address = false;
    unsigned first = reads_of_a_walk();
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x112, 0x250, 0xf10);
    CHECK(reads_of_a_walk() < first);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x112, 0x250, 0xf10);
}

/* A function ends with a call that never returns: its return address is the first instruction of
 * the next function. Each has its own rule. */
TEST(a_return_address_and_an_interrupted_pc)
{
    for (int is_exact_first = 0; is_exact_first < 2; is_exact_first++) {
        open_scan();
        sim.code[0x104] = 0x53; /* push %rbx, at the entry of the function that does not return */
        sim_call(&sim, 0x112, 0x400);
        sim_call(&sim, 0x250, 0x104);
        sim_call(&sim, 0x270, 0x112);
        for (int turn = 0; turn < 2; turn++) {
            bool is_exact = turn != is_exact_first;
            sim_poke(&sim, 0x108, CODE(0x270)); /* one of these is a leftover */
            sim_poke(&sim, 0x110, CODE(0x250));
            sim.return_address = !is_exact;
            sim_walk(&sim, 16, 0);
            SIM_EXPECT(&sim, SONDE_END_ROOT, 0x112, is_exact ? 0x270 : 0x250, 0xf10);
        }
    }
}

/* A scan that would take too long ends the walk; the next walk gets further. */
TEST(a_scan_is_bounded)
{
    open_scan();
    for (uint32_t at = 0x108; at < 0x8000; at += 8) { /* leftovers of calls of long functions */
        sim_call(&sim, 0x300 + (at & 0xf8), 0x400 + (at & 0x78));
        sim_poke(&sim, at, CODE(0x300 + (at & 0xf8)));
    }
    for (unsigned i = 0; i < 2; i++) { /* two walks each */
        unsigned reads = reads_of_a_walk();
        CHECK_EQ(sim.result.end, SONDE_END_COSTLY);
        CHECK(reads < 4000u << 2 * i);
    }
}

/* The same in a frame that only its record describes: no call names the function. */
static void open_record(bool is_jit)
{
    open_scan();
    sim_poke(&sim, 0x108, 5);
    memcpy(sim.code + 0xf0d, "\x90\xff\xd0", 3); /* call *%rax */
    if (is_jit) {
        sim.range.end = SIM_CODE + 0x200; /* the rest is the image's */
        sim.range.image = SONDE__IMAGE_NONE;
        static struct sonde__image_range ranges[2];
        ranges[0] = sim.range;
        ranges[1] = (struct sonde__image_range){SIM_CODE + 0x200, SIM_CODE + 0x1000, 0};
        sim.set.ranges = ranges;
        sim.set.range_count = 2;
    }
}

TEST(a_record_at_the_same_distance)
{
    for (int is_jit = 0; is_jit < 2; is_jit++) {
        open_record(is_jit != 0);
        unsigned first = reads_of_a_walk();
        SIM_EXPECT(&sim, SONDE_END_ROOT, 0x112, 0xf10);
        CHECK_EQ(sim.how[1], SONDE_FOUND_FP);
        unsigned again = reads_of_a_walk();
        SIM_EXPECT(&sim, SONDE_END_ROOT, 0x112, 0xf10);
        CHECK_EQ(sim.how[1], SONDE_FOUND_FP);
        CHECK(again < first);
        /* at another one there may be a caller between */
        sim_set(&sim, SONDE__X86_64_RBP, STACK(0x300));
        sim_poke(&sim, 0x308, CODE(0xf10));
        CHECK(reads_of_a_walk() > again);
        CHECK(reads_of_a_walk() == again);
        sim_poke(&sim, 0x108, CODE(0x250));
        sim_set(&sim, SONDE__X86_64_RBP, STACK(0x400));
        sim_poke(&sim, 0x408, CODE(0xf10));
        sim_walk(&sim, 16, 0);
        SIM_EXPECT(&sim, SONDE_END_ROOT, 0x112, 0x250, 0xf10);
    }
}

/* A JIT frees code and puts other code there. */
TEST(code_of_a_jit_must_be_the_same)
{
    open_record(true);
    (void)reads_of_a_walk();
    unsigned again = reads_of_a_walk();
    sim.code[0x111] = 0x90;
    CHECK(reads_of_a_walk() > again);
    CHECK(reads_of_a_walk() == again);
}
