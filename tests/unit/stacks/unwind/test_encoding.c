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
