// SPDX-License-Identifier: Apache-2.0
/* Walks by the encodings of __unwind_info, and encodings that are malformed. The layouts are those
 * of compact_unwind_encoding.h. What compilers write for real functions: tests/integration/macho.
 */
#include <string.h>

#include "base_bytes.h"
#include "sim.h"
#include "test.h"
#include "unwind_encoding.h"

#define CODE(offset_)  (SIM_CODE + (uint64_t)(offset_))
#define STACK(offset_) (SIM_STACK + (uint64_t)(offset_))

enum { HEADER = 28, PAGE_AT = HEADER + 24, ENTRIES_AT = PAGE_AT + 8, FUNCTION = 0x100 };

static struct sim sim;
static uint8_t section[ENTRIES_AT + 16 * 8];

/* Functions of 0x100 bytes from SIM_CODE on, with these encodings. */
static void set_encodings(const uint32_t *encodings, unsigned count)
{
    memset(section, 0, sizeof section);
    sonde__base_put_le32(section, 1);
    sonde__base_put_le32(section + 20, HEADER);
    sonde__base_put_le32(section + 24, 2);
    sonde__base_put_le32(section + HEADER + 4, PAGE_AT);
    sonde__base_put_le32(section + HEADER + 12, count * FUNCTION);
    sonde__base_put_le32(section + PAGE_AT, 2);
    sonde__base_put_le32(section + PAGE_AT + 4, 8 | count << 16);
    for (unsigned i = 0; i < count; i++) {
        sonde__base_put_le32(section + ENTRIES_AT + (size_t)i * 8, i * FUNCTION);
        sonde__base_put_le32(section + ENTRIES_AT + (size_t)i * 8 + 4, encodings[i]);
    }
    CHECK(sonde__unwind_info_open(section, sizeof section, SIM_CODE, &sim.image.encodings.info));
    sim.image.encodings.text = sim.code;
    sim.image.encodings.text_size = sizeof sim.code;
}
#define SET_ENCODINGS(...)                                                                         \
    set_encodings((const uint32_t[]){__VA_ARGS__},                                                 \
                  sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

TEST(frames_of_x86_64_with_and_without_frame_pointer)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    /* 24 bytes and rbp at -16; rbp is the frame pointer; the size is at byte 3 of the code, and one
     * word was pushed before */
    SET_ENCODINGS(0x02030000 | 1 << 10 | 5, 0x01000000, 0x03032000, 0x01000000);
    memcpy(sim.code + 0x200, "\x48\x81\xec\x00\x10\x00\x00", 7);
    sim_start(&sim, 0x20, 0x100);
    sim_set(&sim, SONDE__X86_64_RBP, 7);
    sim_poke(&sim, 0x108, STACK(0x180));
    sim_poke(&sim, 0x110, CODE(0x110));
    sim_poke(&sim, 0x180, STACK(0x1800));
    sim_poke(&sim, 0x188, CODE(0x220)); /* sp: 0x190; its frame has 0x1000 + 8 */
    sim_poke(&sim, 0x190 + 0x1000, CODE(0x330));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x20, 0x110, 0x220, 0x330);
    CHECK_EQ(sim.how[3], SONDE_FOUND_CFI);
    /* a return address of 0 alone is no end */
    sim_poke(&sim, 0x1800, STACK(0x1900));
    sim_walk(&sim, 16, 0);
    CHECK(sim.result.end != SONDE_END_ROOT);
}

TEST(frames_of_arm64)
{
    sim_open(&sim, SONDE_ARCH_AARCH64);
    SET_ENCODINGS(0x02002000, 0x04000003, 0x04000000);
    sim_start(&sim, 0x20, 0x100);
    sim_set(&sim, SONDE__AARCH64_FP, STACK(0x180));
    sim_set(&sim, SONDE__AARCH64_LR, CODE(0x110));
    sim_poke(&sim, 0x180, STACK(0x200));
    sim_poke(&sim, 0x188, CODE(0x220) | (uint64_t)0x2b << 48);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x20, 0x110, 0x220);
    CHECK_EQ(sim.how[1], SONDE_FOUND_LR);
}

static void put_words(uint32_t at, const uint32_t *words, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        sonde__base_put_le32(sim.code + at + (size_t)i * 4, words[i]);
    }
}
#define PUT_WORDS(at_, ...)                                                                        \
    put_words(at_, (const uint32_t[]){__VA_ARGS__},                                                \
              sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

enum {
    STP_PUSH = 0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
    SET_UP = 0x910003fd,   /* mov x29, sp */
    SUB_SP = 0xd10083ff,   /* sub sp, sp, #32 */
    STP_PAIR = 0xa9004ff4, /* stp x20, x19, [sp] */
    STP_HIGH = 0xa9017bfd, /* stp x29, x30, [sp, #16] */
    SET_HIGH = 0x910043fd, /* add x29, sp, #16 */
    LDP_HIGH = 0xa9417bfd, /* ldp x29, x30, [sp, #16] */
    LDP_PAIR = 0xa8c24ff4, /* ldp x20, x19, [sp], #32 */
    LDP_POP = 0xa8c17bfd,  /* ldp x29, x30, [sp], #16 */
    LDR = 0xb9400401,      /* ldr w1, [x0, #4] */
    LOOP = 0x35ffffe1,     /* cbnz w1, .-4 */
    BL = 0x94000004,       /* bl .+16 */
    SET_LR = 0xaa0203fe,   /* mov x30, x2 */
    RET = 0xd65f03c0,
};

/* The function at 0x000, of the encoding, was called at 0x110 from one with a frame, whose record
 * is at 0x180 and leads to 0x220. A frame of the first one is at 0x100. */
static void open_called(uint32_t encoding)
{
    sim_open(&sim, SONDE_ARCH_AARCH64);
    SET_ENCODINGS(encoding, 0x04000000, 0x04000000);
    PUT_WORDS(0x10c, 0x97ffffbd); /* bl 0 */
    PUT_WORDS(0x21c, BL);
    sim_poke(&sim, 0x180, STACK(0x200));
    sim_poke(&sim, 0x188, CODE(0x220));
    sim_poke(&sim, 0x100, STACK(0x180));
    sim_poke(&sim, 0x108, CODE(0x110));
}

static void walk_at(uint32_t pc, uint32_t sp, uint32_t fp, uint64_t lr)
{
    sim_start(&sim, pc, sp);
    sim_set(&sim, SONDE__AARCH64_FP, STACK(fp));
    sim_set(&sim, SONDE__AARCH64_LR, lr);
    sim_walk(&sim, 16, 0);
}

TEST(before_and_after_its_frame_a_function_of_arm64_returns_by_lr)
{
    open_called(0x04000001);
    PUT_WORDS(0, LDR, SUB_SP, STP_PAIR, STP_HIGH, SET_HIGH, LDR, BL, LDP_HIGH, LDP_PAIR, RET);
    walk_at(0, 0x110, 0x180, CODE(0x110));
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0, 0x110, 0x220);
    CHECK_EQ(sim.how[1], SONDE_FOUND_LR);
    walk_at(0x10, 0xf0, 0x180, CODE(0x110)); /* at the set-up */
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x10, 0x110, 0x220);
    walk_at(0x14, 0xf0, 0x100, CODE(0x110)); /* in the body: lr may be anything there */
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x14, 0x110, 0x220);
    CHECK_EQ(sim.how[1], SONDE_FOUND_CFI);
    walk_at(0x1c, 0xf0, 0x100, CODE(0x1c));
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x1c, 0x110, 0x220);
    CHECK_EQ(sim.how[1], SONDE_FOUND_CFI);
    walk_at(0x20, 0xf0, 0x180, CODE(0x110));
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x20, 0x110, 0x220);
    walk_at(0x24, 0x110, 0x180, CODE(0x110));
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x24, 0x110, 0x220);
    CHECK_EQ(sim.how[1], SONDE_FOUND_LR);
}

static void walk_x86_at(uint32_t pc, uint32_t sp, uint32_t rbp)
{
    sim_start(&sim, pc, sp);
    sim_set(&sim, SONDE__X86_64_RBP, STACK(rbp));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, pc, 0x110, 0x220);
}

/* The return address of the innermost function is at 0x100; its caller's record is at 0x180. */
static void open_called_x86(uint32_t encoding, const char *code, size_t size)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    SET_ENCODINGS(encoding, 0x01000000, 0x01000000);
    memcpy(sim.code, code, size);
    sim_call(&sim, 0x110, 0);
    sim_call(&sim, 0x220, 0x100);
    sim_poke(&sim, 0x100, CODE(0x110));
    sim_poke(&sim, 0xf8, STACK(0x180));
    sim_poke(&sim, 0x180, STACK(0x200));
    sim_poke(&sim, 0x188, CODE(0x220));
}

TEST(before_and_after_its_frame_a_function_of_x86_64_returns_by_the_stack)
{
    /* push %rbp; mov %rsp,%rbp; sub $16,%rsp; call; add $16,%rsp; pop %rbp; ret */
    static const char code[] =
        "\x55\x48\x89\xe5\x48\x83\xec\x10\xe8\x10\0\0\0\x48\x83\xc4\x10\x5d\xc3";
    open_called_x86(0x01000000, code, sizeof code - 1);
    walk_x86_at(0, 0x100, 0x180);
    CHECK_EQ(sim.how[1], SONDE_FOUND_INFERRED);
    walk_x86_at(1, 0xf8, 0x180);
    walk_x86_at(4, 0xf8, 0xf8);
    CHECK_EQ(sim.how[1], SONDE_FOUND_CFI);
    walk_x86_at(13, 0xe8, 0xf8);
    CHECK_EQ(sim.how[1], SONDE_FOUND_CFI);
    walk_x86_at(18, 0x100, 0x180);
    CHECK_EQ(sim.how[1], SONDE_FOUND_INFERRED);
}

TEST(frames_of_x86_64_without_frame_pointer_are_followed_while_they_change)
{
    /* push %rbp; push %rbx; push %rax; call; pop %rcx; pop %rbx; pop %rbp; ret */
    static const char code[] = "\x55\x53\x50\xe8\x10\0\0\0\x59\x5b\x5d\xc3";
    open_called_x86(0x02040000 | 2 << 10 | 4, code, sizeof code - 1); /* rbx at -24, rbp at -16 */
    walk_x86_at(0, 0x100, 0x180);
    CHECK_EQ(sim.how[1], SONDE_FOUND_INFERRED);
    walk_x86_at(1, 0xf8, 7); /* rbp is saved, and may have another value */
    walk_x86_at(2, 0xf0, 7);
    walk_x86_at(3, 0xe8, 7);
    CHECK_EQ(sim.how[1], SONDE_FOUND_CFI);
    walk_x86_at(8, 0xe8, 7);
    CHECK_EQ(sim.how[1], SONDE_FOUND_CFI);
    walk_x86_at(9, 0xf0, 7);
    CHECK_EQ(sim.how[1], SONDE_FOUND_INFERRED);
    walk_x86_at(10, 0xf8, 7);
    walk_x86_at(11, 0x100, 0x180);
    /* where the rule has the return address, that of a frame further out lies */
    sim_poke(&sim, 0x118, CODE(0x220));
    walk_x86_at(0, 0x100, 0x180);
    sim_poke(&sim, 0x110, CODE(0x220));
    walk_x86_at(1, 0xf8, 7);
    CHECK_EQ(sim.how[1], SONDE_FOUND_INFERRED);
}

TEST(a_leaf_of_arm64_without_an_encoding_returns_by_lr)
{
    open_called(0);
    PUT_WORDS(0, LDR, LOOP, RET);
    walk_at(4, 0x130, 0x180, CODE(0x110) | (uint64_t)0x2b << 48);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 4, 0x110, 0x220);
    CHECK_EQ(sim.how[1], SONDE_FOUND_INFERRED);
    walk_at(4, 0x130, 0x180, CODE(0x114)); /* no call ends there */
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 4);
    walk_at(4, 0x130, 0x180, 0x1234);
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 4);
    PUT_WORDS(0, LDR, LOOP, SET_LR, RET);
    walk_at(4, 0x130, 0x180, CODE(0x110));
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 4);
}

TEST(jumps_of_arm64_are_followed_to_the_return)
{
    open_called(0);
    /* a loop that ends by its first branch; the jump back is no end */
    PUT_WORDS(0, LDR, 0x340000a1 /* cbz w1, .+20 */, LDR, 0x17fffffd /* b .-12 */, BL, BL, RET);
    walk_at(8, 0x130, 0x180, CODE(0x110));
    SIM_EXPECT(&sim, SONDE_END_ROOT, 8, 0x110, 0x220);
    walk_at(4, 0x130, 0x180, CODE(0x110));
    SIM_EXPECT(&sim, SONDE_END_ROOT, 4, 0x110, 0x220);
    /* a jump to another function: a tail call; and one by x16, as in linkage stubs */
    PUT_WORDS(0, LDR, 0x14000080 /* b .+0x200 */);
    walk_at(0, 0x130, 0x180, CODE(0x110));
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0, 0x110, 0x220);
    PUT_WORDS(0, LDR, 0xd61f0200 /* br x16 */);
    walk_at(0, 0x130, 0x180, CODE(0x110));
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0, 0x110, 0x220);
    PUT_WORDS(0, LDR, 0xd61f0120 /* br x9 */);
    walk_at(0, 0x130, 0x180, CODE(0x110));
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 0);
}

TEST(a_frame_of_arm64_without_an_encoding_is_used_if_its_set_up_is_seen)
{
    open_called(0);
    PUT_WORDS(0, STP_PUSH, SET_UP, LDR, LOOP, LDP_POP, RET);
    walk_at(8, 0x100, 0x100, CODE(0x110));
    SIM_EXPECT(&sim, SONDE_END_ROOT, 8, 0x110, 0x220);
    CHECK_EQ(sim.how[1], SONDE_FOUND_FP);
    /* before it, the record is the caller's, and lr leads to the caller */
    walk_at(4, 0x100, 0x180, CODE(0x110));
    SIM_EXPECT(&sim, SONDE_END_ROOT, 4, 0x110, 0x220);
    CHECK_EQ(sim.how[1], SONDE_FOUND_INFERRED);
    PUT_WORDS(0, LDR, LDR, BL);
    walk_at(4, 0x100, 0x180, CODE(0x110)); /* nothing shows where lr is saved */
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 4);
}

/* The CFA of the second function is in rbx, which the first one has saved. */
TEST(saved_registers_are_followed)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    uint32_t record = (uint32_t)sim.cfi_size;
    SIM_FDE(&sim, 0x100, 0x0c, 3, 16); /* def_cfa rbx + 16 */
    SET_ENCODINGS(0x02030000 | 1 << 10 | 0, 0x04000000 | record, 0x01000000);
    sim_start(&sim, 0x20, 0x100);
    sim_set(&sim, SONDE__X86_64_RBX, 1);
    sim_set(&sim, SONDE__X86_64_RBP, STACK(0x400));
    sim_poke(&sim, 0x108, STACK(0x200));
    sim_poke(&sim, 0x110, CODE(0x110));
    sim_poke(&sim, 0x208, CODE(0x230));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_ROOT, 0x20, 0x110, 0x230);
}

static struct sonde__encoded decode(unsigned arch, uint32_t encoding)
{
    struct sonde__unwind_info_entry entry = {CODE(0), CODE(0x100), encoding};
    struct sonde__encoded encoded;
    sonde__encoding_decode(&sim.image.encodings, arch, &entry, &encoded);
    return encoded;
}

TEST(pairs_of_arm64_lie_below_the_frame_record)
{
    struct sonde__encoded encoded = decode(SONDE_ARCH_AARCH64, 0x04000000 | 1 << 1 | 1 << 4);
    CHECK_EQ(encoded.count, 4);
    CHECK_EQ(encoded.saved[0].reg, 21);
    CHECK_EQ(encoded.saved[0].offset, -24);
    CHECK_EQ(encoded.saved[1].reg, 22);
    CHECK_EQ(encoded.saved[1].offset, -32);
    CHECK_EQ(encoded.saved[3].reg, 28);
    CHECK_EQ(encoded.saved[3].offset, -48);
}

TEST(malformed_encodings_say_nothing)
{
    static const uint32_t bad[] = {
        0,
        0x02000000,                   /* no room for the return address */
        0x02010000 | 1 << 10,         /* nor for the register */
        0x02ff0000 | 7 << 10,         /* seven registers */
        0x02ff0000 | 1 << 10 | 6,     /* the seventh register */
        0x02ff0000 | 6 << 10 | 0x3ff, /* no permutation */
        0x03ff0000,                   /* its instruction is outside the text */
        0x05000000,
    };
    sim_open(&sim, SONDE_ARCH_X86_64);
    SET_ENCODINGS(0);
    sim.image.encodings.text_size = 0x101;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_EQ(decode(SONDE_ARCH_X86_64, bad[i]).rule.cfa, SONDE__RULE_NONE);
    }
    CHECK_EQ(decode(SONDE_ARCH_AARCH64, 0x01000000).rule.cfa, SONDE__RULE_NONE);
    CHECK_EQ(decode(SONDE_ARCH_AARCH64, 0).rule.cfa, SONDE__RULE_NONE);
}
