// SPDX-License-Identifier: Apache-2.0
/* Headers, descriptors of both sizes, boxes and runtimes, from bytes laid out by Block_private.h.
 */
#include <string.h>

#include "arch_regs.h"
#include "fake_memory.h"
#include "test.h"

#define AT(offset) (FAKE_BASE + (offset))
#define ALL        (SONDE_BLOCK_HAS_HELPERS | SONDE_BLOCK_HAS_SIGNATURE | SONDE_BLOCK_HAS_LAYOUT)

/* On arm64e the upper bits of pointers are signatures. */
TEST(strips_pointer_signatures_off_the_header)
{
    struct fake fake;
    struct sonde__block_literal literal;
    fake_init(&fake, SONDE_ARCH_AARCH64);
    fake_put(&fake, 0, 0x6ae1000000004000, 8);
    fake_put(&fake, 8, 0xc3000002, 4);
    fake_put(&fake, 12, 7, 4);
    fake_put(&fake, 16, 0x7f32000100002000, 8);
    fake_put(&fake, 24, 0xc0bb000100003000, 8);
    CHECK_OK(sonde__block_literal_read(&fake.memory, AT(0) | (uint64_t)0xab << 56, &literal));
    CHECK_EQ(literal.address, AT(0));
    CHECK_EQ(literal.isa, 0x4000);
    CHECK_EQ(literal.flags, 0xc3000002);
    CHECK_EQ(literal.reserved, 7);
    CHECK_EQ(literal.invoke, 0x100002000);
    CHECK_EQ(literal.descriptor, 0x100003000);
    CHECK_EQ(sonde__block_literal_read(&fake.memory, AT(4), &literal), SONDE_CORRUPT);
    CHECK_EQ(sonde__block_literal_read(&fake.memory, 0, &literal), SONDE_CORRUPT);
    CHECK_EQ(sonde__block_literal_read(&fake.memory, AT(FAKE_BYTES - 24), &literal),
             SONDE_UNREADABLE);
    CHECK_EQ(sonde__block_literal_read(&fake.memory, UINT64_MAX - 7, &literal), SONDE_UNREADABLE);
    fake_put(&fake, 24, (uint64_t)0xc0bb << 48, 8); /* null, signed */
    CHECK_EQ(sonde__block_literal_read(&fake.memory, AT(0), &literal), SONDE_CORRUPT);
}

static void put_large(struct fake *fake)
{
    fake_put(fake, 64, 0, 8);
    fake_put(fake, 72, 53, 8);
    fake_put(fake, 80, 0x1111, 8);
    fake_put(fake, 88, 0x2222, 8);
    fake_put(fake, 96, 0x3333, 8);
    fake_put(fake, 104, 0x4444, 8);
}

TEST(reads_large_descriptors_by_their_flags)
{
    struct fake fake;
    struct sonde__block_desc desc;
    fake_init(&fake, SONDE_ARCH_X86_64);
    put_large(&fake);
    CHECK_OK(sonde__block_desc_read(&fake.memory, AT(64), ALL, &desc));
    CHECK_EQ(desc.size, 53);
    CHECK(!desc.is_small && desc.problem == NULL);
    CHECK_EQ(desc.copy, 0x1111);
    CHECK_EQ(desc.dispose, 0x2222);
    CHECK_EQ(desc.signature, 0x3333);
    CHECK_EQ(desc.layout_form, SONDE__BLOCK_LAYOUT_STRING);
    CHECK_EQ(desc.layout, 0x4444);
    CHECK_EQ(desc.generic_form, SONDE__BLOCK_GENERIC_NONE);
    /* no signature, but its slot is there */
    CHECK_OK(sonde__block_desc_read(&fake.memory, AT(64), ALL & ~SONDE_BLOCK_HAS_SIGNATURE, &desc));
    CHECK_EQ(desc.signature, 0);
    CHECK_EQ(desc.layout, 0x4444);
    CHECK_OK(sonde__block_desc_read(&fake.memory, AT(64),
                                    SONDE_BLOCK_HAS_SIGNATURE | SONDE_BLOCK_HAS_LAYOUT, &desc));
    CHECK_EQ(desc.copy, 0);
    CHECK_EQ(desc.signature, 0x1111);
    CHECK_EQ(desc.layout, 0x2222);
    CHECK_OK(sonde__block_desc_read(&fake.memory, AT(64), 0, &desc));
    CHECK_EQ(desc.signature, 0);
    CHECK_EQ(desc.layout_form, SONDE__BLOCK_LAYOUT_NONE);
    fake_put(&fake, 104, 0, 8); /* GNU runtimes */
    CHECK_OK(sonde__block_desc_read(&fake.memory, AT(64), ALL, &desc));
    CHECK_EQ(desc.layout_form, SONDE__BLOCK_LAYOUT_NONE);
    fake_put(&fake, 104, 0xf21, 8);
    CHECK_OK(sonde__block_desc_read(&fake.memory, AT(64), ALL, &desc));
    CHECK_EQ(desc.layout_form, SONDE__BLOCK_LAYOUT_INLINE);
}

/* Swift's ends after the signature; here the memory ends there, too. */
TEST(reads_a_descriptor_without_a_layout_slot)
{
    struct fake fake;
    struct sonde__block_desc desc;
    uint32_t at = FAKE_BYTES - 40;
    fake_init(&fake, SONDE_ARCH_AARCH64);
    fake_put(&fake, at + 8, 48, 8);
    fake_put(&fake, at + 16, 0x1111, 8);
    fake_put(&fake, at + 24, 0x2222, 8);
    fake_put(&fake, at + 32, 0x3333, 8);
    CHECK_OK(sonde__block_desc_read(&fake.memory, AT(at), 0x42000000, &desc));
    CHECK_EQ(desc.signature, 0x3333);
    CHECK_EQ(desc.layout_form, SONDE__BLOCK_LAYOUT_NONE);
    CHECK_EQ(sonde__block_desc_read(&fake.memory, AT(at), 0xc2000000, &desc), SONDE_UNREADABLE);
}

TEST(refuses_impossible_sizes)
{
    struct fake fake;
    struct sonde__block_desc desc;
    static const uint64_t bad[] = {0,
                                   31,
                                   (uint64_t)SONDE__BLOCK_SIZE_MAX + 1,
                                   (uint64_t)1 << 32,
                                   ((uint64_t)1 << 32) + 64,
                                   UINT64_MAX};
    fake_init(&fake, SONDE_ARCH_X86_64);
    put_large(&fake);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fake_put(&fake, 72, bad[i], 8);
        CHECK_EQ(sonde__block_desc_read(&fake.memory, AT(64), ALL, &desc), SONDE_CORRUPT);
    }
    fake_put(&fake, 72, 32, 8);
    CHECK_OK(sonde__block_desc_read(&fake.memory, AT(64), ALL, &desc));
    CHECK_EQ(sonde__block_desc_read(&fake.memory, AT(68), ALL, &desc), SONDE_CORRUPT);
    CHECK_EQ(sonde__block_desc_read(&fake.memory, UINT64_MAX - 15, ALL, &desc), SONDE_UNREADABLE);
}

TEST(reads_a_large_descriptor_with_a_generic_helper)
{
    struct fake fake;
    struct sonde__block_desc desc;
    struct sonde__block_claim items[16];
    struct sonde__block_claims claims = {.items = items, .capacity = 16};
    fake_init(&fake, SONDE_ARCH_X86_64);
    put_large(&fake);
    fake_put(&fake, 56, 0x112100, 8); /* 1 strong, 2 blocks, 1 byref, 1 weak */
    fake_put(&fake, 64, 2u << 14 | SONDE_BLOCK_HAS_SIGNATURE, 8);
    fake_put(&fake, 72, 32 + 5 * 8, 8);
    CHECK_OK(sonde__block_desc_read(&fake.memory, AT(64), SONDE_BLOCK_HAS_SIGNATURE, &desc));
    CHECK_EQ(desc.generic_form, SONDE__BLOCK_GENERIC_INLINE);
    CHECK(sonde__block_generic_claims(&fake.memory, &desc, &claims) == NULL);
    static const uint8_t expected[] = {SONDE_BLOCK_STRONG, SONDE_BLOCK_BLOCK, SONDE_BLOCK_BLOCK,
                                       SONDE_BLOCK_BYREF, SONDE_BLOCK_WEAK};
    CHECK_EQ(claims.count, 5);
    for (unsigned i = 0; i < 5; i++) {
        CHECK_EQ(items[i].offset, 32 + 8 * i);
        CHECK_EQ(items[i].kind, expected[i]);
        CHECK_EQ(items[i].source, SONDE_BLOCK_BY_GENERIC);
    }
    fake_put(&fake, 72, 32 + 4 * 8, 8); /* one word less than it claims */
    claims.count = 0;
    CHECK_OK(sonde__block_desc_read(&fake.memory, AT(64), SONDE_BLOCK_HAS_SIGNATURE, &desc));
    CHECK(sonde__block_generic_claims(&fake.memory, &desc, &claims) != NULL);
    CHECK_EQ(claims.count, 4);
    /* as a list of codes: a skipped byte, 2 words of data, a block, 3 weak */
    fake_put(&fake, 56, AT(200), 8);
    fake_put(&fake, 64, 3u << 14, 8);
    fake_put(&fake, 72, 32 + 6 * 8, 8);
    fake_put(&fake, 200, 0x0052402199u | (uint64_t)0x62 << 24, 5);
    fake_put(&fake, 200, 0x99, 1);
    fake_put(&fake, 201, 0x21, 1);
    fake_put(&fake, 202, 0x40, 1);
    fake_put(&fake, 203, 0x62, 1);
    fake_put(&fake, 204, 0, 1);
    claims.count = 0;
    CHECK_OK(sonde__block_desc_read(&fake.memory, AT(64), SONDE_BLOCK_HAS_SIGNATURE, &desc));
    CHECK(sonde__block_generic_claims(&fake.memory, &desc, &claims) == NULL);
    CHECK_EQ(claims.count, 4);
    CHECK_EQ(items[0].offset, 48);
    CHECK_EQ(items[0].kind, SONDE_BLOCK_BLOCK);
    CHECK_EQ(items[3].offset, 72);
    CHECK_EQ(items[3].kind, SONDE_BLOCK_WEAK);
}

TEST(reads_small_descriptors)
{
    struct fake fake;
    struct sonde__block_desc desc;
    uint32_t flags = ALL | SONDE_BLOCK_SMALL_DESCRIPTOR;
    fake_init(&fake, SONDE_ARCH_AARCH64);
    fake_put(&fake, 100, 0x80000000u | 48, 4);
    fake_put(&fake, 104, 96, 4);           /* signature at 200 */
    fake_put(&fake, 108, (uint32_t)-8, 4); /* layout at 100 */
    fake_put(&fake, 112, 888, 4);          /* copy at 1000 */
    fake_put(&fake, 116, 0, 4);            /* no dispose */
    fake_put(&fake, 96, 1u << 14, 4);
    CHECK_OK(sonde__block_desc_read(&fake.memory, AT(100), flags, &desc));
    CHECK(desc.is_small);
    CHECK_EQ(desc.size, 48);
    CHECK_EQ(desc.signature, AT(200));
    CHECK_EQ(desc.layout, AT(100));
    CHECK_EQ(desc.layout_form, SONDE__BLOCK_LAYOUT_STRING);
    CHECK_EQ(desc.copy, AT(1000));
    CHECK_EQ(desc.dispose, 0);
    CHECK_EQ(desc.generic_form, SONDE__BLOCK_GENERIC_LAYOUT);
    fake_put(&fake, 108, 0x210, 4);
    CHECK_OK(
        sonde__block_desc_read(&fake.memory, AT(100), flags | SONDE_BLOCK_INLINE_LAYOUT, &desc));
    CHECK_EQ(desc.layout, 0x210);
    CHECK_EQ(desc.layout_form, SONDE__BLOCK_LAYOUT_INLINE);
    fake_put(&fake, 108, 0x12345, 4);
    CHECK_OK(
        sonde__block_desc_read(&fake.memory, AT(100), flags | SONDE_BLOCK_INLINE_LAYOUT, &desc));
    CHECK_EQ(desc.layout_form, SONDE__BLOCK_LAYOUT_NONE);
    CHECK(desc.problem != NULL);
    fake_put(&fake, 96, 3u << 14, 4);
    fake_put(&fake, 92, 8, 4);
    CHECK_OK(sonde__block_desc_read(&fake.memory, AT(100), flags, &desc));
    CHECK_EQ(desc.generic_form, SONDE__BLOCK_GENERIC_STRING);
    CHECK_EQ(desc.generic, AT(100));
    fake_put(&fake, 100, 0x80000000u | 31, 4);
    CHECK_EQ(sonde__block_desc_read(&fake.memory, AT(100), flags, &desc), SONDE_CORRUPT);
    CHECK_EQ(sonde__block_desc_read(&fake.memory, AT(102), flags, &desc), SONDE_CORRUPT);
}

static void put_box(struct fake *fake, uint32_t at, uint64_t forwarding, uint32_t flags,
                    uint32_t size)
{
    fake_put(fake, at, 0, 8);
    fake_put(fake, at + 8, forwarding, 8);
    fake_put(fake, at + 16, flags, 4);
    fake_put(fake, at + 20, size, 4);
    fake_put(fake, at + 24, 0x1111, 8);
    fake_put(fake, at + 32, 0x2222, 8);
    fake_put(fake, at + 40, 0x230, 8);
}

TEST(reads_boxes_through_forwarding)
{
    struct fake fake;
    struct sonde__block_byref box;
    fake_init(&fake, SONDE_ARCH_X86_64);
    put_box(&fake, 0, AT(64), 0x33000000, 48);
    put_box(&fake, 64, AT(64), 0x33000004, 48);
    CHECK_OK(sonde__block_byref_read(&fake.memory, AT(0), &box));
    CHECK_EQ(box.asked, AT(0));
    CHECK_EQ(box.address, AT(64));
    CHECK_EQ(box.kind, SONDE__BLOCK_BYREF_STRONG);
    CHECK_EQ(box.variable, 40);
    CHECK_EQ(box.dispose, 0x2222);
    CHECK(box.is_heap);
    put_box(&fake, 64, AT(64), 0x13000004, 56); /* sizes differ */
    CHECK_EQ(sonde__block_byref_read(&fake.memory, AT(0), &box), SONDE_CORRUPT);
    CHECK_OK(sonde__block_byref_read(&fake.memory, AT(64), &box));
    CHECK_EQ(box.kind, SONDE__BLOCK_BYREF_LAYOUT);
    CHECK_EQ(box.variable, 48);
    CHECK_EQ(box.layout, 0x230);
    put_box(&fake, 64, AT(64), 0x21000004, 28);
    CHECK_OK(sonde__block_byref_read(&fake.memory, AT(64), &box));
    CHECK_EQ(box.variable, 24);
    CHECK_EQ(box.dispose, 0);
    put_box(&fake, 0, AT(64), 0x20000000, 28);
    put_box(&fake, 64, AT(0), 0x21000004, 28); /* a circle */
    CHECK_EQ(sonde__block_byref_read(&fake.memory, AT(0), &box), SONDE_CORRUPT);
    put_box(&fake, 0, AT(0), 0x33000000, 39);
    CHECK_EQ(sonde__block_byref_read(&fake.memory, AT(0), &box), SONDE_CORRUPT);
    put_box(&fake, 0, 0x99999990, 0x20000000, 28);
    CHECK_EQ(sonde__block_byref_read(&fake.memory, AT(0), &box), SONDE_UNREADABLE);
    CHECK_EQ(sonde__block_byref_read(&fake.memory, 0, &box), SONDE_CORRUPT);
}

static bool has(void *ctx, const char *name)
{
    return strstr(ctx, name) != NULL;
}

static struct sonde__block_state state(uint32_t flags, uint32_t reserved,
                                       enum sonde__block_runtime runtime,
                                       enum sonde__block_class isa)
{
    struct sonde__block_literal literal = {.flags = flags, .reserved = reserved};
    struct sonde__block_state result;
    sonde__block_state_of(&literal, runtime, isa, &result);
    return result;
}

TEST(reads_the_reference_count_of_each_runtime)
{
    enum sonde__block_runtime apple = SONDE__BLOCK_RUNTIME_APPLE;
    enum sonde__block_runtime old = SONDE__BLOCK_RUNTIME_COMPILER_RT;
    enum sonde__block_runtime gnu = SONDE__BLOCK_RUNTIME_OBJC2;
    enum sonde__block_class stack = SONDE__BLOCK_CLASS_STACK, heap = SONDE__BLOCK_CLASS_MALLOC;
    char debian[] = "Block_size _Block_dump _Block_copy";
    char swift[] = "Block_size _Block_dump _Block_use_RR2 _Block_tryRetain";
    char objc2[] = "block_getType_np _Block_use_RR2";
    CHECK_EQ(sonde__block_runtime_of(has, debian), old);
    CHECK_EQ(sonde__block_runtime_of(has, swift), apple);
    CHECK_EQ(sonde__block_runtime_of(has, objc2), gnu);
    CHECK_EQ(sonde__block_class_of("_NSConcreteStackBlock"), stack);
    CHECK_EQ(sonde__block_class_of("__NSConcreteMallocBlock"), heap);
    CHECK_EQ(sonde__block_class_of("OBJC_CLASS_$_NSObject"), SONDE__BLOCK_CLASS_OTHER);

    CHECK_EQ(state(0xc3000004, 0, apple, heap).count, 2);
    CHECK_EQ(state(0xc3000001, 0, apple, heap).place, SONDE__BLOCK_PLACE_DEAD);
    CHECK_EQ(state(0xc3000000, 0, apple, heap).place, SONDE__BLOCK_PLACE_DEAD);
    CHECK(state(0xc300fffe, 0, apple, heap).is_count_full);
    CHECK_EQ(state(0xc3000001, 0, old, stack).place, SONDE__BLOCK_PLACE_HEAP);
    CHECK_EQ(state(0xc3000001, 0, old, stack).count, 1);
    CHECK_EQ(state(0xc3000000, 0, old, stack).place, SONDE__BLOCK_PLACE_DEAD);
    CHECK_EQ(state(0xc2000000, 3, gnu, heap).count, 3);
    CHECK_EQ(state(0xc2000000, 0, gnu, heap).place, SONDE__BLOCK_PLACE_DEAD);
    CHECK_EQ(state(0xc2000000, 0, gnu, stack).place, SONDE__BLOCK_PLACE_STACK);
    CHECK_EQ(state(0xc2000000, 0, apple, stack).place, SONDE__BLOCK_PLACE_STACK);
    CHECK_EQ(state(0x50000000, 0, apple, SONDE__BLOCK_CLASS_GLOBAL).place,
             SONDE__BLOCK_PLACE_GLOBAL);
    CHECK_EQ(state(0x50800000, 0, apple, SONDE__BLOCK_CLASS_GLOBAL).place,
             SONDE__BLOCK_PLACE_STACK);
}
