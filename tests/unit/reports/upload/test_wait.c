// SPDX-License-Identifier: Apache-2.0
/* How long servers ask to wait. The dates are RFC 9110's own example, and date(1)'s numbers. */
#include "upload_wait.h"

#include "test.h"

static uint32_t retry_after(const char *text, const char *date, int64_t now_s)
{
    uint32_t wait_s = 77777;
    return sonde__upload_retry_after(text, date, now_s, &wait_s) ? wait_s : UINT32_MAX;
}

static uint32_t limits(const char *text)
{
    uint32_t wait_s = 77777;
    return sonde__upload_rate_limits(text, &wait_s) ? wait_s : UINT32_MAX;
}

TEST(all_three_forms_of_a_date_are_read)
{
    static const char *const forms[] = {"Sun, 06 Nov 1994 08:49:37 GMT",
                                        "Sunday, 06-Nov-94 08:49:37 GMT",
                                        "Sun Nov  6 08:49:37 1994"};
    int64_t when;
    for (size_t i = 0; i < 3; i++) {
        when = 0;
        CHECK(sonde__upload_date(forms[i], &when));
        CHECK_EQ(when, 784111777);
    }
    CHECK(sonde__upload_date("Thu, 29 Feb 2024 23:59:60 GMT", &when)); /* a leap second */
    CHECK_EQ(when, 1709251200);
    CHECK(sonde__upload_date("Fri, 31 Dec 9999 23:59:59 GMT", &when));
    CHECK_EQ(when, 253402300799);
}

TEST(what_is_no_date_is_refused)
{
    static const char *const bad[] = {"",
                                      ",",
                                      "Sun",
                                      "Sun,",
                                      "Sun, ",
                                      "Sun, 06 Nov 1994",
                                      "Sun, 06 Nov 1994 08:49:37",
                                      "Sun, 06 Nov 1994 08:49:37 CET",
                                      "Sun, 6x Nov 1994 08:49:37 GMT",
                                      "Sun, 00 Nov 1994 08:49:37 GMT",
                                      "Sun, 06 Foo 1994 08:49:37 GMT",
                                      "Sun, 06 Nov 1994 24:49:37 GMT",
                                      "Sun, 06 Nov 99999 08:49:37 GMT",
                                      "2026-11-24T00:00:00Z"};
    int64_t when;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (sonde__upload_date(bad[i], &when)) {
            FAIL("taken: %s", bad[i]);
        }
    }
}

TEST(retry_after_is_seconds_or_a_date)
{
    CHECK_EQ(retry_after("120", "", 0), 120);
    CHECK_EQ(retry_after("0", "", 0), 0);
    CHECK_EQ(retry_after("1.5", "", 0), 2);
    CHECK_EQ(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", "", 784111777 - 60), 60);
    CHECK_EQ(retry_after("", "", 0), UINT32_MAX);
    CHECK_EQ(retry_after("soon", "", 0), UINT32_MAX);
    CHECK_EQ(retry_after("-5", "", 0), UINT32_MAX);
}

TEST(a_date_is_compared_with_the_servers_own_clock)
{
    /* ours is two hours ahead, and would see no wait at all */
    CHECK_EQ(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:48:37 GMT",
                         784111777 + 7200),
             60);
    CHECK_EQ(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", "", 784111777 + 7200), 0);
}

TEST(no_server_silences_a_sender_for_more_than_a_day)
{
    CHECK_EQ(retry_after("86401", "", 0), SONDE__UPLOAD_WAIT_MAX_S);
    CHECK_EQ(retry_after("99999999999999999999999999", "", 0), SONDE__UPLOAD_WAIT_MAX_S);
    CHECK_EQ(retry_after("Fri, 31 Dec 9999 23:59:59 GMT", "", 0), SONDE__UPLOAD_WAIT_MAX_S);
    CHECK_EQ(limits("99999999999999999999999:error:key"), SONDE__UPLOAD_WAIT_MAX_S);
}

/* The examples of Sentry's developer documents, and what updateRateLimits() of @sentry/core says.
 */
TEST(rate_limits_of_sentry_concern_errors_or_all)
{
    CHECK_EQ(limits("60:transaction:key, 2700:default;error;security:organization"), 2700);
    CHECK_EQ(limits("60::organization"), 60);
    CHECK_EQ(limits("60:error;transaction:project:reason"), 60);
    CHECK_EQ(limits("50:transaction:key"), UINT32_MAX);
    CHECK_EQ(limits("10:error:key,20::key"), 20);
    CHECK_EQ(limits("30"), 30);
    CHECK_EQ(limits("30.5:errors:key"), UINT32_MAX);
    CHECK_EQ(limits(""), UINT32_MAX);
    CHECK_EQ(limits(",,::,x:error:key"), UINT32_MAX);
}
