// SPDX-License-Identifier: Apache-2.0
/* Merge the code's answer with the description's: only ways that both allow. */
#include <string.h>

#include "tail_agree.h"
#include "test.h"

enum { COUNT = 4, SIZE = 16, JUMPS_MAX = 8 };

struct side {
    struct sonde__tail_function functions[COUNT];
    struct sonde__tail_jump jumps[JUMPS_MAX];
    struct sonde__tail_call calls[JUMPS_MAX];
    struct sonde__tail_input input;
};

static void begin(struct side *s)
{
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < COUNT; i++) {
        s->functions[i] = (struct sonde__tail_function){i * SIZE, (i + 1) * SIZE, i, 0};
    }
    s->input = (struct sonde__tail_input){.functions = s->functions,
                                          .function_count = COUNT,
                                          .jumps = s->jumps,
                                          .calls = s->calls,
                                          .main = SONDE__TAIL_NONE};
}

static void jump(struct side *s, uint32_t from, uint32_t to)
{
    s->jumps[s->input.jump_count++] = (struct sonde__tail_jump){from, to, from * SIZE + 3};
}

static void call(struct side *s, uint32_t back, uint32_t to)
{
    s->calls[s->input.call_count++] = (struct sonde__tail_call){back, to};
}

struct result {
    struct tail_agreement agreement;
    struct sonde__tail_origin origin;
};

static void agree(struct side *seen, struct side *said, struct result *r)
{
    memset(r, 0, sizeof *r);
    r->origin.sources = SONDE__TAIL_FROM_CODE;
    CHECK_OK(tail_agree(&seen->input, seen->functions, &said->input, &r->agreement, &r->origin));
    CHECK_EQ(r->origin.sources, SONDE__TAIL_FROM_CODE | SONDE__TAIL_FROM_SITES);
}

static bool has_jump(const struct side *s, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < s->input.jump_count; i++) {
        if (s->input.jumps[i].from == from && s->input.jumps[i].to == to) {
            return true;
        }
    }
    return false;
}

static bool has_call(const struct side *s, uint32_t back)
{
    for (size_t i = 0; i < s->input.call_count; i++) {
        if (s->input.calls[i].back == back) {
            return true;
        }
    }
    return false;
}

TEST(both_the_same)
{
    struct side seen, said;
    struct result r;
    begin(&seen);
    begin(&said);
    jump(&seen, 0, 1);
    jump(&said, 0, 1);
    call(&seen, 50, 0);
    call(&said, 50, 0);
    agree(&seen, &said, &r);
    CHECK_EQ(seen.input.jump_count, 1);
    CHECK_EQ(seen.input.call_count, 1);
    CHECK_EQ(seen.functions[0].flags, 0);
    CHECK_EQ(r.origin.functions + r.origin.calls, 0);
    tail_agreement_done(&r.agreement);
}

TEST(one_that_the_other_rules_out)
{
    struct side seen, said;
    struct result r;
    begin(&seen);
    begin(&said);
    jump(&seen, 0, 1); /* not described */
    jump(&said, 2, 3); /* not in the code */
    agree(&seen, &said, &r);
    CHECK_EQ(seen.input.jump_count, 0);
    CHECK_EQ(seen.functions[0].flags, SONDE__TAIL_OPEN);
    CHECK_EQ(seen.functions[2].flags, SONDE__TAIL_OPEN);
    CHECK_EQ(seen.functions[1].flags, 0);
    CHECK_EQ(r.origin.functions, 2);
    tail_agreement_done(&r.agreement);
}

TEST(one_that_the_other_leaves_open)
{
    struct side seen, said;
    struct result r;
    begin(&seen);
    begin(&said);
    jump(&seen, 0, 1);
    said.functions[0].flags = SONDE__TAIL_OPEN;
    jump(&said, 2, 3);
    seen.functions[2].flags = SONDE__TAIL_OPEN;
    agree(&seen, &said, &r);
    CHECK(has_jump(&seen, 0, 1) && has_jump(&seen, 2, 3));
    CHECK_EQ(seen.functions[0].flags, 0);
    CHECK_EQ(seen.functions[2].flags, SONDE__TAIL_OPEN); /* not trusted to be complete */
    CHECK_EQ(r.origin.functions, 0);
    tail_agreement_done(&r.agreement);
}

TEST(functions_that_one_side_has)
{
    struct side seen, said;
    struct result r;
    begin(&seen);
    begin(&said);
    jump(&seen, 0, 1);
    jump(&said, 0, 1);
    jump(&said, 0, 3);
    seen.input.function_count = 2; /* the code has 0 and 1 only */
    agree(&seen, &said, &r);
    CHECK_EQ(seen.input.jump_count, 1);
    CHECK(has_jump(&seen, 0, 1));
    CHECK_EQ(seen.functions[0].flags, SONDE__TAIL_OPEN);
    CHECK_EQ(r.origin.functions, 1);
    tail_agreement_done(&r.agreement);
}

TEST(jumps_to_other_images)
{
    struct side seen, said;
    struct result r;
    begin(&seen);
    begin(&said);
    said.functions[0].flags = SONDE__TAIL_EXTERNAL; /* it took function 1 for another image's */
    jump(&seen, 0, 1);
    seen.functions[2].flags = SONDE__TAIL_EXTERNAL; /* clang describes no call of memcpy */
    agree(&seen, &said, &r);
    CHECK(has_jump(&seen, 0, 1));
    CHECK_EQ(seen.functions[0].flags, SONDE__TAIL_EXTERNAL);
    CHECK_EQ(seen.functions[2].flags, SONDE__TAIL_EXTERNAL);
    CHECK_EQ(r.origin.functions, 0);
    tail_agreement_done(&r.agreement);
}

TEST(calls_that_differ_are_left_out)
{
    struct side seen, said;
    struct result r;
    begin(&seen);
    begin(&said);
    call(&seen, 50, 0);
    call(&said, 50, 1);
    call(&seen, 40, 2);
    call(&said, 60, 3);
    call(&seen, 30, SONDE__TAIL_MAIN);
    agree(&seen, &said, &r);
    CHECK(!has_call(&seen, 50));
    CHECK(has_call(&seen, 40) && has_call(&seen, 60) && has_call(&seen, 30));
    CHECK_EQ(r.origin.calls, 1);
    tail_agreement_done(&r.agreement);
}
