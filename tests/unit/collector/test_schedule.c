// SPDX-License-Identifier: Apache-2.0
/* When a message is tried again, when a group spikes, and to which addresses messages are sent. */
#include <arpa/inet.h>
#include <string.h>

#include "address.h"
#include "schedule.h"
#include "test.h"

#define SECOND_NS 1000000000u
#define DAY_NS    (86400ull * SECOND_NS)

/* The table of Standard Webhooks 1.0.0: the tenth try comes 75:35:05 hours after the first. */
TEST(tries_are_those_of_the_specification)
{
    uint64_t wait_ns = 0, sum_ns = 0;
    uint32_t tries = 1;
    for (; schedule_wait(&schedule_default, tries, 0, 0, &wait_ns); tries++) {
        sum_ns += wait_ns;
    }
    CHECK_EQ(tries, 10);
    CHECK_EQ(sum_ns, (75 * 3600 + 35 * 60 + 5) * (uint64_t)SECOND_NS);
    CHECK(!schedule_wait(&schedule_default, 0, 0, 0, &wait_ns));
    CHECK(!schedule_wait(&schedule_default, UINT32_MAX, 0, 0, &wait_ns));
}

TEST(a_fifth_is_added_at_most)
{
    uint64_t wait_ns = 0;
    CHECK(schedule_wait(&schedule_default, 9, 0, UINT32_MAX, &wait_ns));
    CHECK(wait_ns > DAY_NS + DAY_NS / 5 - SECOND_NS && wait_ns <= DAY_NS + DAY_NS / 5);
    CHECK(schedule_wait(&schedule_default, 9, 0, 1u << 31, &wait_ns));
    CHECK(wait_ns > DAY_NS + DAY_NS / 10 - SECOND_NS && wait_ns <= DAY_NS + DAY_NS / 10);
}

TEST(an_answer_may_ask_for_a_later_try)
{
    uint64_t wait_ns = 0;
    CHECK(schedule_wait(&schedule_default, 1, 60, 0, &wait_ns));
    CHECK_EQ(wait_ns, 60ull * SECOND_NS);
    CHECK(schedule_wait(&schedule_default, 2, 60, 0, &wait_ns));
    CHECK_EQ(wait_ns, 300ull * SECOND_NS);
    CHECK(schedule_wait(&schedule_default, 1, UINT64_MAX, 0, &wait_ns));
    CHECK_EQ(wait_ns, DAY_NS);
}

TEST(schedules_are_read)
{
    struct schedule schedule = {.count = 77};
    static const char *const wrong[] = {"",
                                        ",",
                                        "1,",
                                        ",1",
                                        "a",
                                        "1 2",
                                        "-1",
                                        "604801",
                                        "99999999999999999999",
                                        "1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(!schedule_parse(wrong[i], &schedule));
    }
    CHECK_EQ(schedule.count, 77);
    CHECK(schedule_parse("0,604800", &schedule));
    CHECK(schedule.count == 2 && schedule.seconds[0] == 0 && schedule.seconds[1] == 604800);
}

/* --- spikes --- */

static bool is_spike(uint64_t count, uint64_t first_ns, uint64_t told_ns, uint64_t *ret_usual)
{
    uint64_t hours[] = {9, 1, 4, 100};
    const struct spike_look look = {.now_ns = 10 * DAY_NS,
                                    .first_ns = first_ns,
                                    .told_ns = told_ns,
                                    .count = count,
                                    .hours = hours,
                                    .hour_count = 4};
    return spike_is(&look, ret_usual);
}

TEST(spike_is_five_times_the_median_hour)
{
    uint64_t usual = 0;
    CHECK(!is_spike(29, DAY_NS, 0, &usual));
    CHECK_EQ(usual, 6); /* between 4 and 9 */
    CHECK(is_spike(30, DAY_NS, 0, &usual));
}

TEST(few_events_are_no_spike)
{
    uint64_t usual = 9, one[] = {1};
    struct spike_look look = {.now_ns = 10 * DAY_NS, .count = 19, .hours = one, .hour_count = 1};
    CHECK(!spike_is(&look, &usual));
    CHECK_EQ(spike_next_look(&look, usual), 10); /* of 20, but not at each event */
    look.count = 20;
    CHECK(spike_is(&look, &usual));
    look.hour_count = 0;
    CHECK(spike_is(&look, &usual));
    CHECK_EQ(usual, 0);
}

TEST(new_group_does_not_spike_and_a_spike_is_told_once_a_day)
{
    uint64_t usual;
    CHECK(!is_spike(1000, 9 * DAY_NS + 1, 0, &usual));
    CHECK(is_spike(1000, 9 * DAY_NS, 0, &usual));
    CHECK(!is_spike(1000, DAY_NS, 9 * DAY_NS + 1, &usual));
    CHECK(is_spike(1000, DAY_NS, 9 * DAY_NS, &usual));
    CHECK(!is_spike(1000, 11 * DAY_NS, 0, &usual)); /* clocks that were set */
    CHECK(!is_spike(1000, DAY_NS, 11 * DAY_NS, &usual));
}

TEST(sums_that_are_too_large_are_no_spike)
{
    uint64_t usual, hours[] = {UINT64_MAX, UINT64_MAX - 2};
    const struct spike_look look = {
        .now_ns = 10 * DAY_NS, .count = UINT64_MAX - 1, .hours = hours, .hour_count = 2};
    CHECK(!spike_is(&look, &usual));
    CHECK(usual == UINT64_MAX - 1);
}

TEST(next_look_is_at_half_of_what_lacks)
{
    struct spike_look look = {.now_ns = 10 * DAY_NS, .count = 10};
    CHECK_EQ(spike_next_look(&look, 100), 245);
    look.count = 500;
    CHECK(spike_next_look(&look, 100) == UINT64_MAX); /* it was told */
    look.told_ns = look.now_ns;
    look.count = 10;
    CHECK(spike_next_look(&look, 100) == UINT64_MAX);
}

/* --- addresses --- */

static bool may(const char *text, bool is_public_only)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &four.sin_addr) == 1) {
        return address_may_be_sent_to((struct sockaddr *)&four, is_public_only);
    }
    CHECK_EQ(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
    return address_may_be_sent_to((struct sockaddr *)&six, is_public_only);
}

TEST(addresses_are_public_private_or_never_sent_to)
{
    static const char *const public[] = {"8.8.8.8",         "100.128.0.1", "172.32.0.1",
                                         "2606:4700::1",    "2a00::1",     "::ffff:8.8.8.8",
                                         "64:ff9b::8.8.8.8"};
    static const char *const private[] = {"127.0.0.1",
                                          "10.1.2.3",
                                          "172.16.0.1",
                                          "172.31.255.255",
                                          "192.168.1.1",
                                          "100.64.0.1",
                                          "0.0.0.0",
                                          "240.0.0.1",
                                          "198.19.0.1",
                                          "::1",
                                          "::",
                                          "fc00::1",
                                          "fd12::1",
                                          "2001:db8::1",
                                          "::ffff:10.0.0.1",
                                          "2002:a00:1::",
                                          "64:ff9b::192.168.0.1"};
    static const char *const never[] = {
        "169.254.169.254", "224.0.0.1", "239.1.1.1", "255.255.255.255",
        "fe80::1",         "febf::1",   "ff02::1",   "::ffff:169.254.169.254",
        "2002:a9fe:a9fe::"};
    for (size_t i = 0; i < sizeof public / sizeof *public; i++) {
        CHECK(may(public[i], false) && may(public[i], true));
    }
    for (size_t i = 0; i < sizeof private / sizeof *private; i++) {
        CHECK_STR(may(private[i], false) ? "sent" : private[i], "sent");
        CHECK_STR(may(private[i], true) ? private[i] : "", "");
    }
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        CHECK_STR(may(never[i], false) ? never[i] : "", "");
    }
    const struct sockaddr other = {.sa_family = AF_UNIX};
    CHECK(!address_may_be_sent_to(&other, false));
}
