// SPDX-License-Identifier: Apache-2.0
/* Blocks that wrap something else: of dispatch_block_create(), and Swift closures. No compiler here
 * makes them; laid out by hand from the sources that block_wrapper.c names. */
#include "arch_regs.h"
#include "fake_memory.h"
#include "test.h"

enum { OUTER = 0x100, INNER = 0x200, THUNK = 0x300, CODE = 0x400, DESC = 0x500 };

static struct fake fake;

static void put_block(uint32_t at, uint32_t invoke)
{
    fake_put(&fake, at, FAKE_BASE + 0x10, 8); /* isa */
    fake_put(&fake, at + 16, FAKE_BASE + invoke, 8);
    fake_put(&fake, at + 24, FAKE_BASE + DESC, 8);
}

static bool unwrap(uint32_t size, struct sonde__block_wrapped *ret_wrapped)
{
    struct sonde__block_literal literal;
    CHECK_OK(sonde__block_literal_read(&fake.memory, FAKE_BASE + OUTER, &literal));
    return sonde__block_unwrap(&fake.memory, &literal, size, ret_wrapped);
}

static void put_dispatch(void)
{
    fake_init(&fake, SONDE_ARCH_X86_64);
    put_block(OUTER, THUNK);
    put_block(INNER, CODE);
    fake_put(&fake, OUTER + 32, 0xd159b10c, 8);
    fake_put(&fake, OUTER + 72, FAKE_BASE + INNER, 8);
    fake_put(&fake, OUTER + 80, 0x6670, 8);
    fake_put(&fake, OUTER + 88, 0x5150, 8);
}

TEST(unwraps_a_libdispatch_block)
{
    struct sonde__block_wrapped wrapped = {0};
    put_dispatch();
    CHECK(unwrap(104, &wrapped));
    CHECK_EQ(wrapped.form, SONDE__BLOCK_WRAPPED_DISPATCH);
    CHECK_EQ(wrapped.block, FAKE_BASE + INNER);
    CHECK_EQ(wrapped.function, FAKE_BASE + CODE);
    CHECK_EQ(wrapped.group, 0x6670);
    CHECK_EQ(wrapped.queue, 0x5150);
    CHECK_EQ(wrapped.context, 0);
    /* the first versions: the group is in the struct, the queue after it */
    CHECK(unwrap(160, &wrapped));
    CHECK_EQ(wrapped.block, FAKE_BASE + INNER);
    CHECK_EQ(wrapped.group, 0);
    CHECK_EQ(wrapped.queue, 0);
}

TEST(refuses_damaged_libdispatch_blocks)
{
    struct sonde__block_wrapped wrapped;
    put_dispatch();
    CHECK(!unwrap(96, &wrapped)); /* too small */
    fake_put(&fake, OUTER + 72, FAKE_BASE + INNER + 4, 8);
    CHECK(!unwrap(104, &wrapped)); /* no block is there */
    fake_put(&fake, OUTER + 72, 0x7f0000000000, 8);
    CHECK(!unwrap(104, &wrapped)); /* it cannot be read */
    fake_put(&fake, OUTER + 72, 0, 8);
    CHECK(!unwrap(104, &wrapped));
    put_dispatch();
    fake_put(&fake, OUTER + 36, 1, 4); /* the number is a word */
    CHECK(!unwrap(104, &wrapped));
}

static bool unwrap_swift(const char *name, struct sonde__block_wrapped *ret_wrapped)
{
    fake_init(&fake, SONDE_ARCH_AARCH64);
    put_block(OUTER, THUNK);
    fake_put(&fake, OUTER + 32, (FAKE_BASE + CODE) | (uint64_t)0x5a7b << 48, 8); /* signed */
    fake_put(&fake, OUTER + 40, 0xc0de0, 8);
    if (name != NULL) {
        fake_name(&fake, FAKE_BASE + THUNK, name);
    }
    return unwrap(48, ret_wrapped);
}

TEST(unwraps_swift_closures)
{
    static const char *const thunks[] = {
        "$sIeg_IeyB_TR",
        "_$sIeg_IeyB_TR",
        "_T0Ieg_IeyB_TR",
        "__T0Ieg_IeyB_TR",
        "$sIegh_IeyBh_TR",
        "$s10Foundation4DataVSgSo13NSURLResponseCSgs5Error_pSgIegggg_"
        "So6NSDataCSgAGSo7NSErrorCSgIeyBy"
        "yy_TR",
        "$sIeg_IyB_TR",
        "$sIeg_IeyB_TRTm",
    };
    static const char *const others[] = {
        "$sIeyB_Ieg_TR", /* the other way: from a block */
        "$s4main3fooyyF", "__main_block_invoke", "IeyB_TR", "$sIeg_IeyB_TA", "$s_TR", "$", "_", "",
    };
    struct sonde__block_wrapped wrapped;
    for (unsigned i = 0; i < sizeof thunks / sizeof thunks[0]; i++) {
        CHECK(unwrap_swift(thunks[i], &wrapped));
        CHECK_EQ(wrapped.form, SONDE__BLOCK_WRAPPED_SWIFT);
        CHECK_EQ(wrapped.function, FAKE_BASE + CODE);
        CHECK_EQ(wrapped.context, 0xc0de0);
        CHECK_EQ(wrapped.block, 0);
    }
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        CHECK(!unwrap_swift(others[i], &wrapped));
    }
    CHECK(!unwrap_swift(NULL, &wrapped));
}
