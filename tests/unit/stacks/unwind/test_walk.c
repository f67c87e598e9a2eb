// SPDX-License-Identifier: Apache-2.0
/* The walk over made-up stacks: every kind of rule, every end, every limit. */
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

/* f at 0: pushes 16 bytes after its first byte. Called from root. */
static void open_simple(void)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0, 0x41, 0x0e, 24); /* advance 1; CFA rsp+24 */
    add_root();
}

TEST(rows_of_a_function)
{
    open_simple();
    sim_poke(&sim, 0x100, CODE(0xf10));
    sim_start(&sim, 0, 0x100);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0, 0xf10);
    CHECK_EQ(sim.how[0], SONDE_FOUND_REGISTERS | SONDE_HOW_EXACT);
    CHECK_EQ(sim.how[1], SONDE_FOUND_CFI);
    sim_poke(&sim, 0x110, CODE(0xf20));
    sim_start(&sim, 1, 0x100);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 1, 0xf20);
}

TEST(return_address_is_looked_up_at_the_call)
{
    open_simple();
    SIM_FDE(&sim, 0x200, 0x0e, 32); /* ends at 0x300; no record begins there */
    sim_poke(&sim, 0x100, CODE(0x300));
    sim_poke(&sim, 0x120, CODE(0xf10));
    sim_start(&sim, 0, 0x100);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0, 0x300, 0xf10);
    /* the first frame's pc: outside if it is exact, inside as a return address */
    sim_start(&sim, 0x300, 0x108);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_REGISTERS, 0x300);
    sim.return_address = true;
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x300, 0xf10);
    CHECK_EQ(sim.how[0], SONDE_FOUND_REGISTERS);
}

TEST(linkage_table_expression)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
    add_root();
    sim_poke(&sim, 0x100, CODE(0xf10));
    sim_poke(&sim, 0x108, CODE(0xf20));
    sim_start(&sim, 0x2a, 0x100);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x2a, 0xf10);
    sim_start(&sim, 0x2b, 0x100);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x2b, 0xf20);
}

TEST(realigned_stack)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    /* CFA *(rbp - 8); rbp saved at rbp + 0 */
    SIM_FDE(&sim, 0, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0);
    SIM_FDE(&sim, 0x100, 0x0c, 6, 16, 0x86, 2); /* CFA rbp+16, rbp at -16 */
    add_root();
    sim_start(&sim, 0x10, 0x100);
    sim_set(&sim, SONDE__X86_64_RBP, STACK(0x140));
    sim_poke(&sim, 0x138, STACK(0x200));
    sim_poke(&sim, 0x140, STACK(0x300));
    sim_poke(&sim, 0x1f8, CODE(0x110));
    sim_poke(&sim, 0x308, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0x110, 0xf10);
}

TEST(swift_tag_of_a_saved_frame_pointer)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0, 0x0c, 6, 16, 0x86, 2);
    add_root();
    sim_start(&sim, 0x10, 0x100);
    sim_set(&sim, SONDE__X86_64_RBP, STACK(0x140));
    sim_poke(&sim, 0x140, STACK(0x200) | (uint64_t)1 << 60);
    sim_poke(&sim, 0x148, CODE(0x20));
    sim_poke(&sim, 0x208, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0x20, 0xf10);
}

/* A row for the full interpreter, two frames out: it needs the value of rbx in that frame. */
TEST(cfa_in_another_register)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0, 0x0e, 24, 0x83, 2); /* CFA rsp+24, rbx at -16 */
    SIM_FDE(&sim, 0x100, 0x0e, 16);      /* leaves rbx alone */
    SIM_FDE(&sim, 0x200, 0x0c, 3, 16);   /* CFA rbx+16 */
    add_root();
    sim_poke(&sim, 0x108, STACK(0x400)); /* rbx */
    sim_poke(&sim, 0x110, CODE(0x110));
    sim_poke(&sim, 0x120, CODE(0x210));
    sim_poke(&sim, 0x408, CODE(0xf10));
    sim_start(&sim, 0x10, 0x100);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0x110, 0x210, 0xf10);
    CHECK_EQ(sim.how[0], SONDE_FOUND_REGISTERS | SONDE_HOW_EXACT);
    CHECK_EQ(sim.how[2], SONDE_FOUND_CFI);
    /* with rbx unknown the walk ends and guesses no frame */
    sim_start(&sim, 0x110, 0x118);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_REGISTERS, 0x110, 0x210);
}

TEST(values_and_registers_as_rules)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    /* CFA rcx+8; rbx = CFA - 16; r12 is in r9; return address in rdx; rsp = *(rcx) by expression */
    SIM_FDE(&sim, 0, 0x0c, 2, 8, 0x14, 3, 2, 0x09, 12, 9, 0x09, 16, 1, 0x16, 7, 3, 0x72, 0, 0x06);
    SIM_FDE(&sim, 0x100, 0x0c, 3, 0x20); /* CFA rbx+32 */
    SIM_FDE(&sim, 0x200, 0x0c, 12, 8);   /* CFA r12+8 */
    add_root();
    sim_start(&sim, 0x10, 0x100);
    sim_set(&sim, 2, STACK(0x200));
    sim_set(&sim, 1, CODE(0x110));
    sim_set(&sim, 9, STACK(0x400));
    sim_poke(&sim, 0x200, STACK(0x180)); /* the caller's rsp, not the CFA */
    sim_poke(&sim, 0x210, CODE(0x210));  /* rbx = 0x208 - 16 = 0x1f8; CFA 0x218 */
    sim_poke(&sim, 0x400, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0x110, 0x210, 0xf10);
}

TEST(states_are_remembered_eight_deep)
{
    uint8_t program[64];
    size_t size = 0;
    sim_open(&sim, SONDE_ARCH_X86_64);
    for (unsigned i = 0; i < 8; i++) {
        program[size++] = 0x0a;
        program[size++] = 0x0e;
        program[size++] = (uint8_t)(16 + i * 8);
    }
    for (unsigned i = 0; i < 8; i++) {
        program[size++] = 0x41; /* advance 1 */
        program[size++] = 0x0b;
    }
    sim_fde(&sim, 0, 0x100, program, size);
    add_root();
    for (unsigned i = 0; i <= 8; i++) {
        memset(sim.stack, 0, sizeof sim.stack);
        sim_poke(&sim, 0x100 + 8 * (8 - i), CODE(0xf10 + i));
        sim_start(&sim, i, 0x100);
        sim_walk(&sim, 16, 0);
        SIM_EXPECT(&sim, SONDE_END_ROOT, i, 0xf10 + i);
    }
}

TEST(a_malformed_program_costs_the_rest_of_its_function)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0, 0x44, 0x0e, 16, 0x44, 0x0b); /* at 8: restore without remember */
    add_root();
    sim_poke(&sim, 0x108, CODE(0xf10));
    sim_start(&sim, 7, 0x100);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 7, 0xf10);
    sim_start(&sim, 8, 0x100);
    sim_set(&sim, SONDE__X86_64_RBP, 1);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 8);
}

TEST(overlapping_records_agree)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0, 0x0e, 16);
    sim_fde(&sim, 0x40, 0x10, (const uint8_t[]){0x0e, 24}, 2);
    add_root();
    sim_poke(&sim, 0x108, CODE(0xf10));
    sim_poke(&sim, 0x110, CODE(0xf20));
    sim_start(&sim, 0x3f, 0x100);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x3f, 0xf10);
    sim_start(&sim, 0x4f, 0x100);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x4f, 0xf20);
    sim_start(&sim, 0x50, 0x100);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_REGISTERS, 0x50);
}

/* Frames of f calling itself: the stack of `depth` of them, then the root. */
static void open_recursion(unsigned depth)
{
    open_simple();
    for (unsigned i = 0; i < depth; i++) {
        sim_poke(&sim, 0x110 + i * 24, i + 1 == depth ? CODE(0xf10) : CODE(0x20 + i % 64));
    }
    sim_start(&sim, 0x10, 0x100);
}

TEST(innermost_and_outermost_frames_are_kept)
{
    open_recursion(1000); /* 1001 frames */
    sim_walk(&sim, 20, 8);
    CHECK_EQ(sim.result.count, 20);
    CHECK_EQ(sim.result.end, SONDE_END_ROOT);
    CHECK_EQ(sim.result.lost_at, 12);
    CHECK_EQ(sim.result.lost_count, 981);
    for (unsigned i = 1; i < 12; i++) {
        CHECK_EQ(sim.pcs[i], CODE(0x20 + (i - 1) % 64));
    }
    for (unsigned i = 12; i < 19; i++) {
        CHECK_EQ(sim.pcs[i], CODE(0x20 + (i + 981 - 1) % 64));
    }
    CHECK_EQ(sim.pcs[19], CODE(0xf10));
    sim_walk(&sim, 1001, 8);
    CHECK_EQ(sim.result.count, 1001);
    CHECK_EQ(sim.result.lost_at, 1001);
    CHECK_EQ(sim.result.lost_count, 0);
    sim_walk(&sim, 1000, 8);
    CHECK_EQ(sim.result.lost_at, 992);
    CHECK_EQ(sim.result.lost_count, 1);
}

TEST(a_limit_without_outermost_frames_ends_the_walk)
{
    open_recursion(10);
    sim_walk(&sim, 5, 0);
    CHECK_EQ(sim.result.count, 5);
    CHECK_EQ(sim.result.end, SONDE_END_DEPTH);
    CHECK_EQ(sim.result.lost_at, 5);
    sim_walk(&sim, 11, 0);
    CHECK_EQ(sim.result.count, 11);
    CHECK_EQ(sim.result.end, SONDE_END_ROOT);
    sim_walk(&sim, 1, 0);
    SIM_EXPECT(&sim, SONDE_END_DEPTH, 0x10);
}

TEST(skipped_frames_are_whole)
{
    open_recursion(3);
    sim.skip = 2;
    sim_walk(&sim, 5, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x21, 0xf10);
    sim.skip = 9;
    sim_walk(&sim, 5, 0);
    CHECK_EQ(sim.result.count, 0);
    CHECK_EQ(sim.result.end, SONDE_END_ROOT);
}

TEST(an_unreadable_cell_ends_the_walk)
{
    open_simple();
    sim_start(&sim, 0x10, SIM_WORDS * 8 - 16);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_UNREADABLE, 0x10);
    CHECK_EQ(sim.result.end_at, STACK(SIM_WORDS * 8));
}

TEST(a_stack_that_does_not_grow_ends_the_walk)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0, 0x0c, 6, 16, 0x86, 2);
    sim_start(&sim, 0x10, 0x100);
    sim_set(&sim, SONDE__X86_64_RBP, STACK(0x140));
    sim_poke(&sim, 0x140, STACK(0x140)); /* points at itself */
    sim_poke(&sim, 0x148, CODE(0x20));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_PROGRESS, 0x10, 0x20);
}

TEST(unknown_stack_pointer)
{
    open_simple();
    sim_start(&sim, 0x10, 0x100);
    sim.regs.known = 0;
    sim_walk(&sim, 16, 0);
    CHECK_EQ(sim.result.count, 0);
    CHECK_EQ(sim.result.end, SONDE_END_NO_REGISTERS);
}

TEST(frame_pointer_where_there_is_no_cfi)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    add_root();
    sim_start(&sim, 0x10, 0x100);
    sim_set(&sim, SONDE__X86_64_RBP, STACK(0x140));
    sim_poke(&sim, 0x140, STACK(0x180));
    sim_poke(&sim, 0x148, CODE(0x20));
    sim_poke(&sim, 0x180, 0);
    sim_poke(&sim, 0x188, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0x20, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_FP);
    sim_poke(&sim, 0x188, CODE(0x30)); /* the chain ends in a zero: not a known entry */
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 0x10, 0x20, 0x30);
    sim_poke(&sim, 0x188, 0x1234); /* nowhere */
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 0x10, 0x20);
    sim_set(&sim, SONDE__X86_64_RBP, STACK(0x80)); /* below sp */
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 0x10);
    sim_set(&sim, SONDE__X86_64_RBP, STACK(0x141));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 0x10);
    sim_set(&sim, SONDE__X86_64_RBP, 0); /* fp of a function that may use it freely */
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 0x10);
}

/* A blocked thread read passively: sp and pc only, in a function whose CFA needs rbp.
 * g at 0x100 keeps a frame pointer and is called from h at 0x200. */
static void open_blocked(void)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0x100, 0x0c, 6, 16, 0x86, 2);
    SIM_FDE(&sim, 0x200, 0x0e, 32);
    add_root();
    sim_call(&sim, 0x250, 0x100);
    sim_start(&sim, 0x120, 0x100);
    sim_poke(&sim, 0x140, STACK(0x999)); /* saved rbp */
    sim_poke(&sim, 0x148, CODE(0x250));
    sim_poke(&sim, 0x168, CODE(0xf10));
    sim.infer = true;
}

TEST(caller_is_inferred_by_one_proof)
{
    open_blocked();
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x120, 0x250, 0xf10);
    CHECK_EQ(sim.how[0] & SONDE_HOW_FOUND_MASK, SONDE_FOUND_REGISTERS);
    CHECK_EQ(sim.how[1], SONDE_FOUND_INFERRED);
    CHECK_EQ(sim.how[2], SONDE_FOUND_INFERRED);
    sim.infer = false;
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_REGISTERS, 0x120);
}

TEST(two_proofs_are_none)
{
    open_blocked();
    sim_poke(&sim, 0x118, CODE(0x250)); /* a leftover that leads to the root as well */
    sim_poke(&sim, 0x138, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_REGISTERS, 0x120);
}

TEST(a_leftover_that_proves_nothing_is_passed_over)
{
    open_blocked();
    sim_poke(&sim, 0x118, CODE(0x250)); /* does not lead to the root */
    sim_poke(&sim, 0x128, CODE(0x240)); /* follows no call */
    sim_call(&sim, 0x260, 0x180);
    sim_poke(&sim, 0x130, CODE(0x260)); /* calls another function */
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x120, 0x250, 0xf10);
}

TEST(an_indirect_call_and_a_linkage_stub_are_call_sites)
{
    open_blocked();
    memcpy(sim.code + 0x24b, "\x90\x90\x90\xff\xd0", 5); /* call *%rax */
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x120, 0x250, 0xf10);
    uint64_t slot = CODE(0x100);
    uint32_t distance = 0x820 - 0x806;
    sim_call(&sim, 0x250, 0x800);
    memcpy(sim.code + 0x800, "\xff\x25", 2); /* jmp *d(%rip) */
    memcpy(sim.code + 0x802, &distance, 4);
    memcpy(sim.code + 0x820, &slot, 8);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x120, 0x250, 0xf10);
    slot = CODE(0x180); /* bound to something else */
    memcpy(sim.code + 0x820, &slot, 8);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_REGISTERS, 0x120);
}

/* The stack is overwritten up to the entry's indirect call, which satisfies call site and CFI. */
TEST(an_overwritten_stack_has_no_root)
{
    static const uint8_t prologue[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x40};
    open_blocked();
    memset(sim.code + 0x100, 0x90, 0x20);
    memcpy(sim.code + 0x100, prologue, sizeof prologue);
    memcpy(sim.code + 0xf0b, "\x90\x90\x90\xff\xd0", 5); /* call *%rax */
    sim_poke(&sim, 0x168, 0);
    sim_poke(&sim, 0x1e8, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    CHECK_EQ(sim.pcs[1], CODE(0x250));
    CHECK(sim.result.end != SONDE_END_ROOT);
    sim_poke(&sim, 0x148, 0); /* overwrite g's return address, too */
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_REGISTERS, 0x120);
}

TEST(a_call_through_a_word_names_its_function)
{
    uint64_t function = CODE(0x100);
    uint32_t distance = 0x820 - 0x250;
    open_blocked();
    memcpy(sim.code + 0x24a, "\xff\x15", 2); /* call *d(%rip) */
    memcpy(sim.code + 0x24c, &distance, 4);
    memcpy(sim.code + 0x820, &function, 8);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x120, 0x250, 0xf10);
    function = CODE(0x180);
    memcpy(sim.code + 0x820, &function, 8);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_REGISTERS, 0x120);
}

TEST(outer_indirect_calls_do_not_spoil_a_proof)
{
    open_blocked();
    SIM_FDE(&sim, 0x300, 0x0e, 16);
    memcpy(sim.code + 0x33b, "\x90\x90\x90\xff\xd0", 5); /* h is called by call *%rax */
    sim_poke(&sim, 0x168, CODE(0x340));
    sim_poke(&sim, 0x178, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x120, 0x250, 0x340, 0xf10);
    /* a nearer indirect call may also be the caller */
    sim_poke(&sim, 0x110, CODE(0x340));
    sim_poke(&sim, 0x118, CODE(0x340));
    sim_poke(&sim, 0x128, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_REGISTERS, 0x120);
}

/* The kernel's frame of x86-64 with the trampoline at 0x800, sp at the ucontext. */
static void put_sigframe(uint32_t at, uint64_t pc, uint64_t sp, uint64_t fp)
{
    memcpy(sim.code + 0x800, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
    sim_poke(&sim, at + 120, fp);
    sim_poke(&sim, at + 160, sp);
    sim_poke(&sim, at + 168, pc);
}

TEST(signal_trampoline_without_cfi)
{
    open_simple();
    sim_poke(&sim, 0x100, CODE(0x800));
    put_sigframe(0x108, CODE(0), STACK(0x300), 0);
    sim_poke(&sim, 0x300, CODE(0xf10));
    sim_start(&sim, 0, 0x100);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0, 0x800, 0, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_CFI | SONDE_HOW_SIGNAL);
    CHECK_EQ(sim.how[2], SONDE_FOUND_CFI | SONDE_HOW_EXACT); /* pc 0 of f: its first row */
    CHECK_EQ(sim.how[3], SONDE_FOUND_CFI);
}

TEST(one_signal_frame_may_go_to_a_lower_stack)
{
    open_simple();
    sim_poke(&sim, 0x800, CODE(0x800));
    put_sigframe(0x808, CODE(0), STACK(0x100), 0);
    sim_poke(&sim, 0x100, CODE(0xf10));
    sim_start(&sim, 0, 0x800);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0, 0x800, 0, 0xf10);
    sim_poke(&sim, 0x100, CODE(0x800)); /* and round again */
    put_sigframe(0x108, CODE(0), STACK(0x800), 0);
    sim_walk(&sim, 64, 0);
    CHECK_EQ(sim.result.end, SONDE_END_NO_PROGRESS);
    CHECK(sim.result.count < 16);
}

TEST(signal_frame_by_cfi)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0, 0x41, 0x0e, 24);
    add_root();
    sim_cie(&sim, true);
    /* as glibc's: CFA *(rsp+160), rbp at rsp+120, rsp at rsp+160, return address at rsp+168 */
    sim_fde(&sim, 0x7ff, 0x20,
            (const uint8_t[]){0x0f, 4, 0x77, 0xa0, 1,    0x06, 0x10, 6,  3, 0x77, 0xf8, 0,
                              0x10, 7, 3,    0x77, 0xa0, 1,    0x10, 16, 3, 0x77, 0xa8, 1},
            24);
    sim_poke(&sim, 0x100, CODE(0x800));
    put_sigframe(0x108, CODE(1), STACK(0x300), STACK(0x400));
    sim_poke(&sim, 0x310, CODE(0xf10));
    sim_start(&sim, 0, 0x100);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0, 0x800, 1, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_CFI | SONDE_HOW_SIGNAL);
    CHECK_EQ(sim.how[2], SONDE_FOUND_CFI | SONDE_HOW_EXACT);
}

static const struct sonde__image *answer(void *ctx, uint64_t pc, uint64_t *ret_start,
                                         uint64_t *ret_end)
{
    struct sim *s = ctx;
    *ret_start = SIM_CODE;
    *ret_end = SIM_CODE + sizeof s->code;
    return pc >= SIM_CODE && pc < SIM_CODE + sizeof s->code ? &s->image : NULL;
}

TEST(the_caller_answers_for_a_pc_that_no_snapshot_holds)
{
    open_recursion(3);
    sim.image.rules = NULL;
    struct sonde__walk walk = {
        .regs = sim.regs,
        .memory = {.plain_start = 0},
        .first_exact = true,
        .find_image = answer,
        .find_ctx = &sim,
    };
    /* plain loads cannot read the simulated address: use the real address of the stack */
    uint64_t base = (uint64_t)(uintptr_t)sim.stack;
    walk.memory.plain_start = base;
    walk.memory.plain_end = base + sizeof sim.stack;
    walk.regs.r[SONDE__X86_64_RSP] = base + 0x100;
    sonde_stack_init(&sim.result, sim.pcs, sim.how, 16, 0);
    sonde__unwind_walk(&walk, &sim.result);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0x20, 0x21, 0xf10);
}

/* An expression adds constants of every width to the CFA. */
TEST(constants_of_an_expression)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    /* rsp + each of const1u .. const4s and const8s, less the 0x8000 of const4u and 18 */
    SIM_FDE(&sim, 0, 0x0f, 40, 0x77, 0, 0x08, 0x80, 0x22, 0x09, 0xff, 0x22, 0x0a, 0x00, 0x80, 0x22,
            0x0b, 0xfe, 0xff, 0x22, 0x0c, 0x00, 0x80, 0, 0, 0x1c, 0x0d, 0xfd, 0xff, 0xff, 0xff,
            0x22, 0x0f, 0xa0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x22, 0x42, 0x1c);
    add_root();
    sim_poke(&sim, 0x100, CODE(0xf10)); /* CFA: 0x100 + 0x80 - 1 - 2 - 3 - 0x60 - 0x12 = 0x108 */
    sim_start(&sim, 0x10, 0x100);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0xf10);
}
