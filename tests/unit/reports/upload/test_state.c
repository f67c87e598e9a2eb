// SPDX-License-Identifier: Apache-2.0
/* What is kept beside a report, and when it is due again. */
#include "upload_state.h"

#include <stdio.h>
#include <string.h>

#include "test.h"
#include "upload_wait.h"

TEST(a_state_reads_back_as_it_was_written)
{
    char text[SONDE__UPLOAD_STATE_TEXT];
    struct sonde__upload_state state = {.stage = SONDE__UPLOAD_SENT,
                                        .tries = 3,
                                        .since_s = 1790000000,
                                        .wait_s = 260,
                                        .is_asked = true,
                                        .part = 2,
                                        .status = 503,
                                        .to = "https://c.example/a",
                                        .why = "503: the server is in trouble"};
    struct sonde__upload_state back;
    size_t size = sonde__upload_state_write(&state, text);
    CHECK(sonde__upload_state_read(text, size, &back));
    CHECK_EQ(memcmp(&state, &back, sizeof state), 0);
    memset(state.to, 'a', sizeof state.to - 1);
    memset(state.why, 'b', sizeof state.why - 1);
    size = sonde__upload_state_write(&state, text);
    CHECK(size < sizeof text);
    CHECK(sonde__upload_state_read(text, size, &back));
    CHECK_STR(back.to, state.to);
    CHECK_STR(back.why, state.why);
}

TEST(a_state_that_was_cut_or_changed_is_held_to_its_limits)
{
    static const char text[] = "sonde-upload 1\nto a\nstate odd\ntries 99999999999\nsince -5\n"
                               "wait 99999999\nasked x\nfuture field\nstatus 70000\nwhy a\tb\nwai";
    struct sonde__upload_state state;
    CHECK(sonde__upload_state_read(text, sizeof text - 1, &state));
    CHECK_EQ(state.stage, SONDE__UPLOAD_WAITING);
    CHECK_EQ(state.tries, 1000000);
    CHECK_EQ(state.since_s, 0);
    CHECK_EQ(state.wait_s, SONDE__UPLOAD_WAIT_MAX_S);
    CHECK_EQ(state.status, 999);
    CHECK_STR(state.why, "a");
    for (size_t size = 0; size < 15; size++) {
        CHECK(!sonde__upload_state_read(text, size, &state));
    }
    CHECK(!sonde__upload_state_read("sonde-upload 2\n", 15, &state));
    CHECK(!sonde__upload_state_read(text, sizeof text, &state)); /* with a NUL */
}

TEST(waits_double_from_a_minute_to_eight_hours_with_a_quarter_of_chance)
{
    static const uint32_t middle[] = {60,   120,  240,   480,   960,  1920,
                                      3840, 7680, 15360, 28800, 28800};
    for (uint32_t tries = 1; tries <= 11; tries++) {
        uint32_t wait_s = middle[tries - 1];
        CHECK_EQ(sonde__upload_backoff_s(tries, 0), wait_s * 3 / 4);
        CHECK_EQ(sonde__upload_backoff_s(tries, UINT32_MAX), wait_s * 5 / 4);
        uint32_t half = sonde__upload_backoff_s(tries, UINT32_MAX / 2);
        CHECK(half >= wait_s - 1 && half <= wait_s + 1);
    }
    CHECK_EQ(sonde__upload_backoff_s(UINT32_MAX, UINT32_MAX), 36000);
    CHECK_EQ(sonde__upload_backoff_s(0, 0), 45);
}

TEST(a_clock_that_steps_neither_hides_nor_holds_a_report)
{
    const struct sonde__upload_state state = {.since_s = 1000000, .wait_s = 100};
    CHECK_EQ(sonde__upload_left_s(&state, 1000000), 100);
    CHECK_EQ(sonde__upload_left_s(&state, 1000099), 1);
    CHECK_EQ(sonde__upload_left_s(&state, 1000100), 0);
    CHECK_EQ(sonde__upload_left_s(&state, 999999), 0);           /* back: due at once */
    CHECK_EQ(sonde__upload_left_s(&state, 0), 0);                /* to 1970 */
    CHECK_EQ(sonde__upload_left_s(&state, INT64_C(1) << 40), 0); /* far ahead */
}

static struct sonde__upload_state end_address(uint32_t tries, enum sonde__upload_meaning meaning,
                                              uint32_t wait_s)
{
    struct sonde__upload_state address = {.tries = tries};
    static struct sonde__upload_verdict verdict;
    verdict.meaning = meaning;
    verdict.wait_s = wait_s;
    sonde__upload_address_end(&address, &verdict, 5, UINT32_MAX / 2);
    return address;
}

TEST(what_the_server_asks_counts_and_ours_where_it_asks_too_little)
{
    CHECK_EQ(end_address(0, SONDE__UPLOAD_RETRY, 7).wait_s, 7);
    CHECK_EQ(end_address(0, SONDE__UPLOAD_RETRY, 9000).wait_s, 9000);
    CHECK(end_address(0, SONDE__UPLOAD_RETRY, 0).wait_s >= 45);
    CHECK(end_address(5, SONDE__UPLOAD_RETRY, 1).wait_s >= 1440); /* a second, again and again */
    CHECK_EQ(end_address(5, SONDE__UPLOAD_DONE, 0).wait_s, 0);
    CHECK_EQ(end_address(5, SONDE__UPLOAD_DONE, 0).tries, 0);
    CHECK_EQ(end_address(5, SONDE__UPLOAD_DONE, 40).wait_s, 40); /* stored, and enough */
    CHECK_EQ(end_address(0, SONDE__UPLOAD_STOP, 0).wait_s, SONDE__UPLOAD_WAIT_LAST_S);
}
