// SPDX-License-Identifier: Apache-2.0
/* Find the caller by the function's code and the call that entered it, or by the link register,
 * where call frame information is missing or wrong. */
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

/* Assembler at 0x100 pushes rbx and rbp without CFI for it. It is called from 0x24b. */
static void open_silent_pushes(void)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0x100, 0);
    SIM_FDE(&sim, 0x200, 0x0c, 6, 16, 0x86, 2);
    add_root();
    memcpy(sim.code + 0x100, "\x53\x55", 2); /* push %rbx; push %rbp */
    memcpy(sim.code + 0x110, "\x5d\x90", 2); /* pop %rbp; nop */
    sim_call(&sim, 0x250, 0x100);
    sim_start(&sim, 0x110, 0x100);
    sim_set(&sim, SONDE__X86_64_RBP, 5); /* the function uses rbp for a number */
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
    CHECK_EQ(sim.result.end, SONDE_END_NO_CODE);
}

/* The walk trusts a rule that leads to code, and knows about the words next to sp only in the
 * innermost frame. */
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
    CHECK_EQ(sim.result.end, SONDE_END_NO_CODE);
}

/* clone: its record ends before the system call. */
TEST(the_call_leads_out_of_code_without_a_record)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
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
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0x200, 0x0e, 16);
    add_root();
    memcpy(sim.code + 0x100, "\x48\x83\xec\x08", 4);     /* sub $8,%rsp */
    memcpy(sim.code + 0x24b, "\x90\x90\x90\xff\xd0", 5); /* call *%rax */
    sim_start(&sim, 0x110, 0x100);
    sim_set(&sim, SONDE__X86_64_RBP, 5);
    sim_poke(&sim, 0x100, CODE(0x250)); /* not where the ABI puts a return address */
    sim_poke(&sim, 0x108, CODE(0x250));
    sim_poke(&sim, 0x118, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x110, 0x250, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_INFERRED);
    /* the code moved sp by nothing, or by more: the word is no return address */
    memset(sim.code + 0x100, 0, 4);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 0x110);
    memcpy(sim.code + 0x100, "\x48\x83\xec\x18", 4);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 0x110);
}

/* A function realigns its stack and ends with a call that never returns; the next function has no
 * frame pointer. */
TEST(a_frame_pointer_of_the_function_before_is_no_record)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0x200, 0x0c, 6, 16, 0x86, 2);
    add_root();
    /* push %rbp; mov %rsp,%rbp; and $-32,%rsp; call abort; nop; nop; nop */
    memcpy(sim.code + 0x110, "\x55\x48\x89\xe5\x48\x83\xe4\xe0\xe8\0\0\0\0\x90\x90\x90", 16);
    memcpy(sim.code + 0x120, "\x50\x41\xff\xd0", 4); /* push %rax; call *%r8 */
    sim_call(&sim, 0x250, 0x120);
    sim_start(&sim, 0x124, 0x100);
    sim.return_address = true;
    sim_set(&sim, SONDE__X86_64_RBP, STACK(0x200));
    sim_poke(&sim, 0x108, CODE(0x250));
    sim_poke(&sim, 0x208, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x124, 0x250, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_INFERRED);
    /* the record is the function's own: it sets up the frame pointer, then realigns */
    memcpy(sim.code + 0x120, "\x90\x41\xff\xd0", 4);
    sim_call(&sim, 0x250, 0x110);
    sim_poke(&sim, 0x108, 0);
    sim_poke(&sim, 0x208, CODE(0x250));
    sim_set(&sim, SONDE__X86_64_RBP, STACK(0x200));
    sim_poke(&sim, 0x200, STACK(0x300));
    sim_poke(&sim, 0x308, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x124, 0x250, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_FP);
}

static void put_words(uint32_t at, const uint32_t *words, unsigned count)
{
    memcpy(sim.code + at, words, (size_t)count * 4);
}

/* g at 0x200 with a frame of 32 bytes calls from 0x24c; its caller is the root. */
static void open_linked(void)
{
    sim_open(&sim, SONDE_ARCH_AARCH64);
    SIM_FDE(&sim, 0x200, 0x0e, 32, 0x9d, 4, 0x9e, 3); /* x29 at -32, x30 at -24 */
    SIM_FDE(&sim, 0xf00, 0x07, 30);
    put_words(0x24c, (const uint32_t[]){0xd63f0000}, 1); /* blr x0 */
}

static void start_linked(uint32_t pc, uint32_t sp)
{
    memset(sim.stack, 0, sizeof sim.stack);
    sim_start(&sim, pc, sp);
    sim_set(&sim, SONDE__AARCH64_LR, CODE(0x250));
    sim_set(&sim, SONDE__AARCH64_FP, STACK(0x400)); /* g's: the record of an outer frame */
    sim_poke(&sim, 0x408, CODE(0xf20));
    sim_poke(&sim, 0x308, CODE(0xf10)); /* g's sp is 0x300 */
}

TEST(aarch64_linkage_stubs_have_their_return_address_in_lr)
{
    static const uint32_t stub[] = {0x90000210, 0xf9400211, 0x91000210, 0xd61f0220};
    static const uint32_t with_bti[] = {0xd503245f, 0x90000210, 0xf9400211,
                                        0x91000210, 0xd503219f, 0xd61f0220};
    static const uint32_t header[] = {0xa9bf7bf0, 0x90000210, 0xf947fe11, 0x913fe210, 0xd61f0220};
    open_linked();
    put_words(0x800, stub, 4);
    put_words(0x820, with_bti, 6);
    put_words(0x840, header, 5);
    for (uint32_t pc = 0x800; pc < 0x810; pc += 4) {
        start_linked(pc, 0x300);
        sim_walk(&sim, 16, 0);
        SIM_EXPECT(&sim, SONDE_END_ROOT, pc, 0x250, 0xf10);
        CHECK_EQ(sim.how[1], SONDE_FOUND_LR);
    }
    for (uint32_t pc = 0x820; pc < 0x838; pc += 4) {
        start_linked(pc, 0x300);
        sim_walk(&sim, 16, 0);
        SIM_EXPECT(&sim, SONDE_END_ROOT, pc, 0x250, 0xf10);
    }
    for (uint32_t pc = 0x840; pc < 0x854; pc += 4) {
        start_linked(pc, pc == 0x840 ? 0x300 : 0x2f0); /* it has pushed x16 and lr */
        sim_walk(&sim, 16, 0);
        SIM_EXPECT(&sim, SONDE_END_ROOT, pc, 0x250, 0xf10);
    }
}

/* Start-up code has no records. Until its first call, lr is its return address. */
TEST(aarch64_lr_leads_out_of_code_without_a_record)
{
    open_linked();
    start_linked(0x804, 0x300);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x804, 0x250, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_LR);
    /* after a call lr points into the function itself: then the frame record gives the caller */
    put_words(0x80c, (const uint32_t[]){0x94000010}, 1); /* bl 0x84c */
    start_linked(0x810, 0x300);
    sim_set(&sim, SONDE__AARCH64_LR, CODE(0x810));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x810, 0xf20);
    /* the called function is a leaf without a record, too */
    start_linked(0x850, 0x300);
    sim_set(&sim, SONDE__AARCH64_LR, CODE(0x810));
    sim_set(&sim, SONDE__AARCH64_FP, 5);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 0x850, 0x810);
}

/* glibc's lazy binder: the row says CFA sp+0 and lr at CFA+8. */
TEST(aarch64_a_return_address_lies_below_the_cfa)
{
    open_linked();
    SIM_FDE(&sim, 0x100, 0x11, 30, 0x7f); /* offset_extended_sf: lr at CFA+8 */
    start_linked(0x110, 0x2f0);
    sim_set(&sim, SONDE__AARCH64_LR, 0);
    sim_poke(&sim, 0x2f8, CODE(0x250));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x110, 0x250, 0xf10);
}

/* Only .debug_frame describes this function; nothing else gives its caller. */
TEST(debug_frame_where_there_is_no_eh_frame)
{
    static uint8_t section[64] __attribute__((aligned(8))) = {
        16, 0, 0,    0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16, 0x0c,
        7,  8, 0x90, 1, 0,    0,    24,   0,    0, 0, 0, 0,    0,  0,
    };
    const uint64_t start = CODE(0x500), size = 0x100;
    static const uint8_t program[] = {0x0e, 32, 0, 0}; /* CFA rsp+32 */
    memcpy(section + 28, &start, 8);
    memcpy(section + 36, &size, 8);
    memcpy(section + 44, program, sizeof program);
    sim_open(&sim, SONDE_ARCH_X86_64);
    add_root();
    sim.image.cfi.debug_frame = section;
    sim.image.cfi.debug_frame_size = 48;
    sim_start(&sim, 0x510, 0x100);
    sim_set(&sim, SONDE__X86_64_RBP, 5);
    sim_poke(&sim, 0x118, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x510, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_CFI);
    sim.image.cfi.debug_frame = NULL;
    sim.image.cfi.debug_frame_size = 0;
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 0x510);
}
