// SPDX-License-Identifier: Apache-2.0
/* The place of the return address in code without CFI. The code is gcc's (its assembler's bytes),
 * or malformed. */
#include <string.h>

#include "sim.h"
#include "test.h"
#include "unwind_sweep.h"

#define CODE(offset_)  (SIM_CODE + (uint64_t)(offset_))
#define STACK(offset_) (SIM_STACK + (uint64_t)(offset_))

static struct sim sim;
static struct sonde__sweep found;

static bool read_code(void *ctx, uint64_t address, void *ret_bytes, size_t size)
{
    (void)ctx;
    if (address < SIM_CODE || address - SIM_CODE > sizeof sim.code ||
        size > sizeof sim.code - (address - SIM_CODE)) {
        return false;
    }
    memcpy(ret_bytes, sim.code + (address - SIM_CODE), size);
    return true;
}

/* Sweep from 0x100, where `code` is put, to `pc` bytes after it. */
static enum sonde__sweep_result sweep_limited(const char *code, size_t size, uint32_t pc,
                                              uint32_t limit)
{
    struct sonde__memory memory = {.read = read_code};
    struct sonde__reader reader;
    struct sonde__walker walker = {.arch = SONDE_ARCH_X86_64, .sweep_left = limit};
    memset(sim.code, 0xf4, 0x100); /* hlt */
    memset(sim.code + 0x100, 0xf4, sizeof sim.code - 0x100);
    memcpy(sim.code + 0x100, code, size);
    sonde__reader_init(&reader, &memory);
    walker.reader = &reader;
    found = (struct sonde__sweep){.depth = -9, .fp_base = -9, .fp_saved = -9};
    walker.frame = (struct sonde__frame){.pc = CODE(0x100 + pc), .exact = true};
    return sonde__sweep_to(&walker, CODE(0x100), true, &found);
}

#define SWEEP(code_, pc_) sweep_limited(code_, sizeof(code_) - 1, pc_, 1000)
#define EXPECT(code_, pc_, depth_)                                                                 \
    do {                                                                                           \
        CHECK_EQ(SWEEP(code_, pc_), SONDE__SWEEP_FOUND);                                           \
        CHECK_EQ(found.depth, depth_);                                                             \
    } while (0)

/* push %r13; movslq %esi,%rax; push %rbp; sub $0x18,%rsp; call; add $0x18,%rsp; pop; pop; ret */
#define PLAIN                                                                                      \
    "\x41\x55\x48\x63\xc6\x55\x48\x83\xec\x18\xe8\x00\x00\x00\x00\x48\x83\xc4\x18\x5d\x41\x5d\xc3"

TEST(each_instruction_of_a_plain_function)
{
    EXPECT(PLAIN, 0, 0);
    EXPECT(PLAIN, 2, 8);
    EXPECT(PLAIN, 5, 8);
    EXPECT(PLAIN, 6, 16);
    EXPECT(PLAIN, 10, 40);
    EXPECT(PLAIN, 15, 40);
    CHECK_EQ(found.fp_saved, 16); /* rbp lies 16 bytes below the return address */
    EXPECT(PLAIN, 19, 16);
    EXPECT(PLAIN, 20, 8);
    CHECK_EQ(found.fp_saved, -1); /* popped again */
    EXPECT(PLAIN, 22, 0);
    /* in the middle of an instruction, and behind the function */
    CHECK_EQ(SWEEP(PLAIN, 1), SONDE__SWEEP_ELSEWHERE);
    CHECK_EQ(SWEEP(PLAIN, 23), SONDE__SWEEP_ELSEWHERE);
}

TEST(blocks_in_any_order)
{
    /* test %edi,%edi; je out; push %rbx; call; pop %rbx; ret; out: xor %eax,%eax; ret */
    EXPECT("\x85\xff\x74\x08\x53\xe8\x00\x00\x00\x00\x5b\xc3\x31\xc0\xc3", 10, 8);
    EXPECT("\x85\xff\x74\x08\x53\xe8\x00\x00\x00\x00\x5b\xc3\x31\xc0\xc3", 14, 0);
    /* push %rbx; je cold; pop %rbx; ret; cold: call abort (which does not come back) */
    EXPECT("\x53\x74\x02\x5b\xc3\xe8\x00\x00\x00\x00", 10, 8);
    /* push %rbx; push %rbp; jmp *%rax; nop: a case of the table */
    EXPECT("\x53\x55\xff\xe0\x90\x90", 5, 16);
    /* jmp over to a function of its own: sub $8,%rsp; call */
    EXPECT("\xeb\x03\xf4\xf4\xf4\x48\x83\xec\x08\xe8\x00\x00\x00\x00", 14, 8);
}

TEST(frames_by_rbp)
{
    /* push %rbp; mov %rsp,%rbp; and $-32,%rsp; sub $0x40,%rsp; call; leave; ret */
    static const char code[] = "\x55\x48\x89\xe5\x48\x83\xe4\xe0\x48\x83\xec\x40"
                               "\xe8\x00\x00\x00\x00\xc9\xc3";
    CHECK_EQ(sweep_limited(code, sizeof code - 1, 17, 1000), SONDE__SWEEP_FOUND);
    CHECK_EQ(found.depth, -1); /* sp alone is not enough */
    CHECK_EQ(found.fp_base, 8);
    CHECK_EQ(found.fp_saved, 8);
    CHECK_EQ(sweep_limited(code, sizeof code - 1, 18, 1000), SONDE__SWEEP_FOUND);
    CHECK_EQ(found.depth, 0);
}

/* A function that ends in a call by pointer may have gone anywhere. */
TEST(open_ends_are_marked)
{
    /* sub $8,%rsp; add $8,%rsp; jmp *%rax */
    CHECK_EQ(SWEEP("\x48\x83\xec\x08\x48\x83\xc4\x08\xff\xe0", 100), SONDE__SWEEP_OPEN);
    CHECK_EQ(SWEEP("\x48\x83\xec\x08\x48\x83\xc4\x08\xc3", 100), SONDE__SWEEP_ELSEWHERE);
}

TEST(hostile_code_ends)
{
    /* sub $0x7fffffff,%rsp, again and again; the same downward; from rbp */
#define DOWN "\x48\x81\xec\xff\xff\xff\x7f"
    CHECK_EQ(SWEEP(DOWN DOWN DOWN DOWN "\x90", 28), SONDE__SWEEP_ELSEWHERE);
    CHECK_EQ(SWEEP("\x48\x81\xc4\xff\xff\xff\x7f\x90", 7), SONDE__SWEEP_ELSEWHERE);
    CHECK_EQ(SWEEP("\x48\x81\xc4\x00\x00\x00\x80\x90", 7), SONDE__SWEEP_FOUND); /* lost */
    CHECK_EQ(found.depth, -1);
    /* sub $0x3fffffff,%rsp; lea -0x80000000(%rsp),%rbp; lea 0x7fffffff(%rbp),%rsp */
    (void)SWEEP("\x48\x81\xec\xff\xff\xff\x3f\x48\x8d\xac\x24\x00\x00\x00\x80\x48\x8d\xa5\xff\xff"
                "\xff\x7f\x90",
                22);
    /* a jump to itself, and a circle of jumps */
    CHECK_EQ(SWEEP("\xeb\xfe", 50), SONDE__SWEEP_ELSEWHERE);
    CHECK_EQ(SWEEP("\x90\xeb\xfd", 50), SONDE__SWEEP_ELSEWHERE);
    /* no more instructions than allowed */
    CHECK_EQ(sweep_limited(PLAIN, sizeof PLAIN - 1, 15, 5), SONDE__SWEEP_FOUND);
    CHECK_EQ(sweep_limited(PLAIN, sizeof PLAIN - 1, 15, 4), SONDE__SWEEP_ELSEWHERE);
}

/* Leftovers of a call to the same function lie nearer than the return address: only the distance
 * distinguishes them. */
TEST(a_leftover_is_not_the_return_address)
{
    /* push %rbx; sub $0x10,%rsp; nop ... */
    static const char code[] = "\x53\x48\x83\xec\x10\x90\x90\x90";
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0x200, 0x0e, 16); /* the caller: its CFA is sp + 16 */
    SIM_FDE(&sim, 0xf00, 0x07, 16); /* the outermost function */
    memset(sim.code, 0xf4, sizeof sim.code);
    memcpy(sim.code + 0x100, code, sizeof code - 1);
    sim_call(&sim, 0x250, 0x100);
    sim_call(&sim, 0x2a0, 0x100);
    sim_start(&sim, 0x106, 0x100);
    sim_poke(&sim, 0x100, CODE(0x2a0)); /* stale */
    sim_poke(&sim, 0x108, CODE(0x2a0)); /* stale, and aligned as a return address is */
    sim_poke(&sim, 0x110, 0x1234);      /* rbx */
    sim_poke(&sim, 0x118, CODE(0x250));
    sim_poke(&sim, 0x128, CODE(0xf10));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x106, 0x250, 0xf10);
    CHECK_EQ(sim.how[1], SONDE_FOUND_INFERRED);
    /* the call before the right word has another target: no caller, and none is invented */
    sim_call(&sim, 0x250, 0x180);
    sim_walk(&sim, 16, 0);
    CHECK_EQ(sim.result.count, 1);
    CHECK(sim.result.end == SONDE_END_NO_RULE || sim.result.end == SONDE_END_NO_REGISTERS);
}
