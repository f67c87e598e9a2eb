// SPDX-License-Identifier: Apache-2.0
/* Captures from sources that disagree, and hand-written helpers that no compiler here makes: with
 * signed pointers, of Swift, of newer deployment targets. Code by the Arm ARM and Intel's SDM. */
#include <stdio.h>
#include <string.h>

#include "arch_regs.h"
#include "block_captures.h"
#include "fake_memory.h"
#include "test.h"

#define IMPORT  ((uint64_t)0x7f0000000000)
#define COPY    0x400u /* offsets of code */
#define DISPOSE 0x500u
#define SLOT    0x600u /* slot from which the code loads the function's address */

enum { HELPERS = (int)SONDE_BLOCK_HAS_HELPERS };

static struct fake fake;
static struct sonde__block_scratch scratch;
static struct sonde__block_capture items[32];
static struct sonde__block_captures captures;

static void code(uint32_t at, const uint32_t *words, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        fake_put(&fake, at + 4 * i, words[i], 4);
    }
}

static const char *seen(void)
{
    static char text[500];
    char *to = text;
    *to = '\0';
    for (size_t i = 0; i < captures.count; i++) {
        to += sprintf(to, "%s%s%c%u.%u", i != 0 ? " " : "", items[i].inside ? "+" : "",
                      "?SWUBRCD"[items[i].kind], items[i].offset, items[i].size);
    }
    return text;
}

/* A block of `size` bytes; helpers at COPY and DISPOSE if `flags` have them. */
static const char *look(uint32_t flags, uint32_t size, uint64_t layout,
                        const struct sonde__block_member *members, size_t member_count)
{
    struct sonde__block_desc desc = {.address = FAKE_BASE,
                                     .flags = flags,
                                     .size = size,
                                     .layout = layout,
                                     .layout_form = layout == 0 ? SONDE__BLOCK_LAYOUT_NONE
                                                                : SONDE__BLOCK_LAYOUT_INLINE};
    if (flags & SONDE_BLOCK_HAS_HELPERS) {
        desc.copy = FAKE_BASE + COPY;
        desc.dispose = FAKE_BASE + DISPOSE;
    }
    captures = (struct sonde__block_captures){.items = items, .capacity = 32};
    sonde__block_captures(&fake.memory, &desc, members, member_count, &scratch, &captures);
    return seen();
}

static const char *look_into(const struct sonde__block_byref *box,
                             const struct sonde__block_member *member)
{
    captures = (struct sonde__block_captures){.items = items, .capacity = 32};
    sonde__block_byref_captures(&fake.memory, box, member, &scratch, &captures);
    return seen();
}

static void begin(unsigned arch, const char *function)
{
    static const uint32_t nothing[] = {0xd65f03c0};      /* ret */
    static const uint32_t nothing_x86[] = {0xc3c3c3c3u}; /* ret */
    fake_init(&fake, arch);
    code(COPY, arch == SONDE_ARCH_X86_64 ? nothing_x86 : nothing, 1);
    code(DISPOSE, arch == SONDE_ARCH_X86_64 ? nothing_x86 : nothing, 1);
    fake_put(&fake, SLOT, IMPORT, 8);
    fake_name(&fake, IMPORT, function);
}

static uint32_t load_slot(uint32_t at) /* ldr x16, SLOT */
{
    return 0x58000010 | ((SLOT - at) / 4) << 5;
}

TEST(follows_signed_pointers_and_objc_release_x19)
{
    begin(SONDE_ARCH_AARCH64, "_objc_release_x19");
    const uint32_t dispose[] = {
        0xd503237f,              /* pacibsp */
        0xa9bf7bfd,              /* stp x29, x30, [sp, #-16]! */
        0xf9401013,              /* ldr x19, [x0, #32] */
        load_slot(DISPOSE + 12), /* ldr x16, slot */
        0xd63f0a1f,              /* blraaz x16 */
        0xa8c17bfd,              /* ldp x29, x30, [sp], #16 */
        0xd65f0fff,              /* retab */
    };
    code(DISPOSE, dispose, 7);
    fake_put(&fake, SLOT, IMPORT | (uint64_t)0x5a7b << 48, 8); /* signed */
    CHECK_STR(look(HELPERS, 44, 0x100, NULL, 0), "S32.8 D40.4");
    CHECK(captures.helper_problem == NULL && captures.is_owned_known);
    CHECK_EQ(captures.steps, 8); /* and the copy helper's return */
    CHECK_EQ(items[0].sources, 1 << SONDE_BLOCK_BY_HELPER | 1 << SONDE_BLOCK_BY_LAYOUT);
    CHECK_EQ(items[0].against, 0);
}

/* ldp x9, x8, [x1, #32]; stp x9, x8, [x0, #32]; mov x0, x8; b swift_retain */
TEST(follows_a_swift_helper)
{
    begin(SONDE_ARCH_AARCH64, "_swift_retain");
    const uint32_t copy[] = {0xa9422029, 0xa9022009, 0xaa0803e0, load_slot(COPY + 12), 0xd61f0200};
    code(COPY, copy, 5);
    CHECK_STR(look(HELPERS, 48, 0, NULL, 0), "D32.8 S40.8");
    CHECK(captures.is_owned_known);
}

/* The helper's result is unknown then: the layout is reported as the only source. */
TEST(stops_at_an_unknown_instruction)
{
    begin(SONDE_ARCH_AARCH64, "objc_release");
    const uint32_t copy[] = {0xf9401020, 0x04203000 /* SVE */, 0xd65f03c0};
    code(COPY, copy, 3);
    code(DISPOSE, copy, 3);
    CHECK_STR(look(HELPERS, 48, 0x200, NULL, 0), "S32.8 S40.8");
    CHECK(!captures.is_owned_known);
    CHECK(captures.helper_problem != NULL);
    CHECK_EQ(captures.helper_problem_at, FAKE_BASE + DISPOSE + 4);
    CHECK_EQ(items[0].sources, 1 << SONDE_BLOCK_BY_LAYOUT);
}

/* mov 40(%rsi), %rdi; jmp *SLOT(%rip): a struct with bit-fields before the object. */
static void retain_40(void)
{
    static const uint8_t copy[] = {0x48, 0x8b, 0x7e, 0x28, 0xff, 0x25};
    begin(SONDE_ARCH_X86_64, "objc_retain");
    memcpy(fake.bytes + COPY, copy, sizeof copy);
    fake_put(&fake, COPY + 6, SLOT - (COPY + 10), 4);
}

TEST(ignores_a_layout_that_begins_too_early)
{
    static const struct sonde__block_member members[] = {
        {.offset = 32, .size = 16, .name = "s", .type = "struct bits"},
        {.offset = 48, .size = 4, .name = "n", .type = "int"},
    };
    retain_40();
    CHECK_STR(look(HELPERS, 52, 0x100, members, 2), "C32.16 +S40.8 D48.4");
    CHECK_EQ(items[0].against, 1 << SONDE_BLOCK_BY_LAYOUT);
    CHECK_STR(items[0].member->name, "s");
    CHECK_EQ(items[1].sources, 1 << SONDE_BLOCK_BY_HELPER);
    CHECK_STR(items[2].member->name, "n");
    /* without debug information the meaning of the layout is unknown here */
    CHECK_STR(look(HELPERS, 52, 0x100, NULL, 0), "?32.8 S40.8 D48.4");
    CHECK_EQ(items[0].sources, 0);
    CHECK_EQ(items[0].against, 1 << SONDE_BLOCK_BY_LAYOUT);
}

TEST(a_block_without_helpers_owns_nothing)
{
    static const struct sonde__block_member object[] = {
        {.offset = 32, .size = 8, .form = SONDE__BLOCK_MEMBER_OBJECT, .name = "o", .type = "O *"},
        {.offset = 40, .size = 4, .bit_size = 3, .name = "n", .type = "int"},
    };
    fake_init(&fake, SONDE_ARCH_X86_64);
    CHECK_STR(look(0, 44, 0x100, NULL, 0), "U32.8 D40.4");
    CHECK_EQ(items[0].against, 1 << SONDE_BLOCK_BY_LAYOUT);
    CHECK_STR(look(0, 44, 0x100, object, 2), "U32.8 D40.4");
    CHECK_EQ(items[0].sources, 1 << SONDE_BLOCK_BY_DWARF);
    /* a NOESCAPE block points to the __block variable itself */
    CHECK_STR(look(SONDE_BLOCK_NOESCAPE, 48, 0x110, NULL, 0), "U32.8 D40.8");
    /* GNU runtimes have no layout: its absence proves nothing */
    CHECK_STR(look(SONDE_BLOCK_HAS_LAYOUT, 44, 0, object, 2), "U32.8 D40.4");
    CHECK_STR(look(SONDE_BLOCK_HAS_LAYOUT, 44, 0, NULL, 0), "D32.12");
}

/* A helper of a stripped program calls unreadable code: an object with a function of its own. */
TEST(claims_an_object_for_an_unknown_function)
{
    begin(SONDE_ARCH_AARCH64, "_ZNSsC1ERKSs");
    const uint32_t copy[] = {0x91008000, 0x91008021, load_slot(COPY + 8), 0xd61f0200};
    code(COPY, copy, 4); /* add x0, x0, #32; add x1, x1, #32; b */
    CHECK_STR(look(HELPERS, 48, 0, NULL, 0), "C32.0 D40.8");
    CHECK_EQ(items[1].sources, 0);
    CHECK(items[0].encoded_size == 12 && memcmp(items[0].encoded, "_ZNSsC1ERKSs", 12) == 0);
}

/* An object of unknown size has no known end: the bytes after its first word are listed. */
TEST(lists_data_after_an_object_of_unknown_size)
{
    begin(SONDE_ARCH_AARCH64, "_ZNSsC1ERKSs");
    const uint32_t copy[] = {0x91008000, 0x91008021, load_slot(COPY + 8), 0xd61f0200};
    code(COPY, copy, 4);
    CHECK_STR(look(HELPERS, 36, 0, NULL, 0), "C32.0");
    CHECK_STR(look(HELPERS, 52, 0, NULL, 0), "C32.0 D40.12");
    /* its name gives the object, its code the parts: the bytes between them belong to the object */
    retain_40();
    fake_name(&fake, FAKE_BASE + COPY, "__copy_helper_block_8_32c9_ZTS4Held");
    CHECK_STR(look(HELPERS, 60, 0, NULL, 0), "C32.0 +S40.8 D48.12");
    fake.bytes[COPY + 3] = 0x30; /* 48(%rsi) */
    CHECK_STR(look(HELPERS, 60, 0, NULL, 0), "C32.0 +D40.8 +S48.8 D56.4");
    CHECK_EQ(items[1].sources, 0);
}

TEST(ignores_members_beyond_the_end)
{
    static const struct sonde__block_member members[] = {
        {.offset = 32, .size = 16, .name = "a"},
        {.offset = 44, .size = 8, .name = "b"},
        {.offset = 4096, .size = 4, .name = "c"},
        {.offset = 8, .size = 4, .name = "d"},
    };
    fake_init(&fake, SONDE_ARCH_X86_64);
    CHECK_STR(look(0, 48, 0, members, 4), "D32.16");
}

/* A box whose variable is after padding: its flags give the kind, not the offset. */
TEST(finds_an_aligned_variable_in_a_box)
{
    static const struct sonde__block_member member = {.form = SONDE__BLOCK_MEMBER_BYREF,
                                                      .name = "o",
                                                      .variable_offset = 64,
                                                      .variable_size = 8,
                                                      .variable_form = SONDE__BLOCK_MEMBER_OBJECT};
    static const struct sonde__block_byref weak = {.size = 128,
                                                   .kind = SONDE__BLOCK_BYREF_WEAK,
                                                   .variable = 40,
                                                   .dispose = FAKE_BASE + DISPOSE};
    static const struct sonde__block_byref loose = {
        .size = 128, .kind = SONDE__BLOCK_BYREF_UNRETAINED, .variable = 24};
    begin(SONDE_ARCH_AARCH64, "objc_destroyWeak");
    const uint32_t dispose[] = {0x91010000, load_slot(DISPOSE + 4), 0xd61f0200};
    code(DISPOSE, dispose, 3); /* add x0, x0, #64 */
    CHECK_STR(look_into(&weak, NULL), "D40.24 W64.8 D72.56");
    CHECK_EQ(items[1].sources, 1 << SONDE_BLOCK_BY_HELPER | 1 << SONDE_BLOCK_BY_LAYOUT);
    CHECK_STR(look_into(&weak, &member), "W64.8");
    CHECK_STR(items[0].member->name, "o");
    /* without a helper there is no other source */
    CHECK_STR(look_into(&loose, &member), "U64.8");
    CHECK_EQ(items[0].sources, 1 << SONDE_BLOCK_BY_LAYOUT | 1 << SONDE_BLOCK_BY_DWARF);
}

TEST(counts_captures_that_do_not_fit)
{
    fake_init(&fake, SONDE_ARCH_X86_64);
    struct sonde__block_desc desc = {
        .size = 200, .layout = 0xf00, .layout_form = SONDE__BLOCK_LAYOUT_INLINE};
    captures = (struct sonde__block_captures){.items = items, .capacity = 4};
    sonde__block_captures(&fake.memory, &desc, NULL, 0, &scratch, &captures);
    CHECK_EQ(captures.count, 4);
    CHECK(captures.lost >= 11);
}
