// SPDX-License-Identifier: Apache-2.0
/* Limits in virtual time, against a count of all calls of the interval. */
#include "when_limit.h"

#include <pthread.h>
#include <string.h>

#include "test.h"

enum { FIRST = 5 };
static struct sonde__when when;
static struct sonde__when_times times;

static void begin(uint32_t count, uint64_t ns)
{
    memset(&times, 0, sizeof times);
    when.limit_count = 2;
    when.limits[1] = (struct sonde__when_limit){FIRST, count, ns};
}

static bool call(uint64_t now)
{
    return sonde__when_exceeds(&when, 1, &times, now);
}

TEST(one_call_in_a_time)
{
    begin(1, 2000);
    CHECK(!call(0));
    CHECK(call(1999));
    CHECK(call(3998)); /* the one before counts, although it was too many */
    CHECK(!call(5998));
    CHECK(!call(7998));
    CHECK(call(7998));
}

/* A burst at the border of two fixed windows is found. */
TEST(no_interval_is_left_out)
{
    begin(3, 100);
    CHECK(!call(90) && !call(95) && !call(99));
    CHECK(call(101) && call(102));
    CHECK(!call(202));
}

TEST(as_a_count_of_the_interval_says)
{
    static uint64_t made[4000];
    uint64_t seed = 88172645463325252u, now = 1000;
    unsigned exceeded = 0;
    begin(7, 50);
    for (unsigned i = 0; i < 4000; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        now += seed % 16;
        made[i] = now;
        unsigned within = 0;
        for (unsigned k = i + 1; k > 0 && now - made[k - 1] < 50; k--) {
            within++;
        }
        bool is_over = call(now);
        CHECK_EQ(is_over, within > 7);
        exceeded += is_over;
    }
    CHECK(exceeded > 400 && exceeded < 3600);
    CHECK_EQ(times.ns[FIRST - 1], 0);
    CHECK_EQ(times.ns[FIRST + 7], 0);
}

static void *call_often(void *ctx)
{
    unsigned *over = ctx;
    for (unsigned i = 0; i < 10000; i++) {
        *over += call(1000);
    }
    return NULL;
}

TEST(threads_count_together)
{
    pthread_t threads[4];
    unsigned over[4] = {0}, sum = 0;
    begin(1000, 5);
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, call_often, &over[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
        sum += over[i];
    }
    CHECK_EQ(sum, 40000 - 1000);
}
