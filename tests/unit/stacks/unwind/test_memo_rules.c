// SPDX-License-Identifier: Apache-2.0
/* The table of rules by return address: a look-up gives the rule that was put for this address.
 * Here a rule derives from its address, so the test knows it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "unwind_memo_rules.h"

enum { ENTRIES = 1 << SONDE__MEMO_RULES_BITS };

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 16 ^ *state << 20;
}

/* As functions have them: everything in the frame that the rule describes. */
static struct sonde__memo_rule rule_of(uint64_t pc)
{
    uint64_t bits = pc;
    struct sonde__memo_rule rule = {.flags = 0};
    bits = next_random(&bits);
    if (bits % 64 == 0) {
        rule.flags = SONDE__MEMO_RULE_END;
        return rule;
    }
    uint32_t words = 2 + (uint32_t)(bits >> 8) % 4000;
    uint32_t saved = (uint32_t)(bits >> 24) % (words < 62 ? words : 62);
    rule.flags = (bits >> 6 & 1) != 0 ? SONDE__MEMO_RULE_BY_FP : 0;
    rule.cfa = (int32_t)(words * 8);
    if (sonde__memo_rules_is_downward(SONDE__ARCH_HOST)) {
        rule.ra_at = 8;
        rule.fp_at = saved * 8;
    } else { /* stored at the inner end */
        rule.ra_at = rule.fp_at = (words - saved) * 8;
        if (rule.fp_at > 8 && (bits >> 7 & 1) != 0) {
            rule.ra_at -= 8;
        } else {
            rule.fp_at = 0;
        }
    }
    return rule;
}

static bool is_right(uint64_t pc, const struct sonde__memo_rule *rule)
{
    struct sonde__memo_rule expected = rule_of(pc);
    if ((expected.flags & SONDE__MEMO_RULE_END) != 0) {
        return (rule->flags & SONDE__MEMO_RULE_END) != 0;
    }
    return memcmp(&expected, rule, sizeof expected) == 0;
}

static void put(uint64_t pc)
{
    struct sonde__memo_rule rule = rule_of(pc);
    sonde__unwind_memo_rules_put(pc, &rule);
}

/* Call sites of some images: near each other, and anywhere. */
static uint64_t some_pc(uint64_t *random)
{
    uint64_t bits = next_random(random);
    uint64_t image = 0x7f0000000000 + (bits >> 40 & 15) * 0x1234000;
    return (bits & 1) != 0 ? image + (bits >> 8 & 0xffff) : bits & 0xffffffffffff;
}

TEST(inserted_entries_are_found)
{
    struct sonde__memo_rule rule;
    uint64_t random = 1;
    for (int i = 0; i < 20 * ENTRIES; i++) {
        uint64_t pc = some_pc(&random);
        bool was_there = sonde__memo_rules_find(pc, &rule);
        CHECK(!was_there || is_right(pc, &rule));
        put(pc);
        CHECK(sonde__memo_rules_find(pc, &rule));
        CHECK(is_right(pc, &rule));
    }
}

/* Two rules for the same slot are both kept; of three the last two. */
TEST(two_at_a_place)
{
    enum { SAME = 3 };
    uint64_t pcs[SAME], random = 2;
    struct sonde__memo_rule rule;
    uint32_t place = 0;
    for (int found = 0; found < SAME;) {
        uint64_t pc = some_pc(&random);
        uint32_t at = sonde__memo_rules_place(sonde__memo_rules_mix(pc));
        place = found == 0 ? at : place;
        if (at == place) {
            pcs[found++] = pc;
        }
    }
    for (int i = 0; i < SAME; i++) {
        put(pcs[i]);
    }
    CHECK(!sonde__memo_rules_find(pcs[0], &rule));
    CHECK(sonde__memo_rules_find(pcs[1], &rule) && is_right(pcs[1], &rule));
    CHECK(sonde__memo_rules_find(pcs[2], &rule) && is_right(pcs[2], &rule));
}

/* The address that is this after mixing. */
static uint64_t unmix(uint64_t mixed)
{
    uint64_t inverse = 1;
    for (int i = 0; i < 6; i++) { /* Newton: twice as many bits are right each time */
        inverse *= 2 - 0x9e3779b97f4a7c15u * inverse;
    }
    uint64_t pc = mixed * inverse >> (64 - SONDE__MEMO_RULES_PC_BITS);
    CHECK_EQ(sonde__memo_rules_mix(pc), mixed);
    return pc;
}

/* Addresses that differ in one bit of their tag or slot. */
TEST(every_bit_counts)
{
    struct sonde__memo_rule rule;
    uint64_t random = 5;
    for (int i = 0; i < 1000; i++) {
        uint64_t pc = some_pc(&random);
        put(pc);
        for (unsigned bit = 64 - SONDE__MEMO_RULES_PC_BITS; bit < 64; bit++) {
            uint64_t other = unmix(sonde__memo_rules_mix(pc) ^ (uint64_t)1 << bit);
            CHECK(other != pc);
            CHECK(!sonde__memo_rules_find(other, &rule) || is_right(other, &rule));
        }
    }
}

/* Nothing is found in an empty table, also where the tag of an address is 0. */
TEST(nothing_in_an_empty_table)
{
    struct sonde__memo_rule rule;
    uint64_t random = 3;
    CHECK(!sonde__memo_rules_find(0, &rule));
    for (int i = 0; i < 1000; i++) {
        CHECK(!sonde__memo_rules_find(some_pc(&random), &rule));
    }
    for (uint64_t place = 0; place < ENTRIES; place++) {
        CHECK(!sonde__memo_rules_find(unmix(place << (64 - SONDE__MEMO_RULES_BITS)), &rule));
    }
}

static bool finds(uint64_t pc, struct sonde__memo_rule rule)
{
    struct sonde__memo_rule found;
    sonde__unwind_memo_rules_put(pc, &rule);
    return sonde__memo_rules_find(pc, &found);
}

/* A rule that does not fit is not stored. */
TEST(large_rules_and_addresses)
{
    bool is_down = sonde__memo_rules_is_downward(SONDE__ARCH_HOST);
    CHECK(finds(0x1000, (struct sonde__memo_rule){0, 32760, 0, is_down ? 8 : 32752}));
    CHECK(!finds(0x2000, (struct sonde__memo_rule){0, 32768, 0, is_down ? 8 : 32760}));
    CHECK(!finds(0x3000, (struct sonde__memo_rule){0, -16, 0, 8}));
    CHECK(!finds(0x4000, (struct sonde__memo_rule){0, 20, 0, 8}));
    CHECK(!finds(0x5000, (struct sonde__memo_rule){0, 4096, 0, is_down ? 1032 : 8}));
    CHECK(!finds(0x6000, (struct sonde__memo_rule){0, 4096, is_down ? 520 : 8, 8}));
    struct sonde__memo_rule found, plain = {0, 16, 0, 8};
    CHECK(!finds((uint64_t)1 << 48 | 0x1000, plain)); /* the same 48 bits are there */
    CHECK(sonde__memo_rules_find(0x1000, &found) && found.cfa == 32760);
}

static _Atomic bool is_over;

static void *put_many(void *seed)
{
    uint64_t random = (uint64_t)(uintptr_t)seed;
    for (int i = 0; i < 30 * ENTRIES; i++) {
        put(some_pc(&random));
    }
    is_over = true;
    return NULL;
}

/* Threads that put and threads that look: no rule has two halves. */
TEST(threads)
{
    pthread_t threads[2];
    struct sonde__memo_rule rule;
    uint64_t random = 4, found = 0;
    for (uintptr_t i = 0; i < 2; i++) {
        CHECK_OK(pthread_create(&threads[i], NULL, put_many, (void *)(4 + i * 1000)));
    }
    while (!is_over || found == 0) {
        uint64_t pc = some_pc(&random);
        if (sonde__memo_rules_find(pc, &rule)) {
            found++;
            CHECK(is_right(pc, &rule));
        }
    }
    for (int i = 0; i < 2; i++) {
        CHECK_OK(pthread_join(threads[i], NULL));
    }
}
