// SPDX-License-Identifier: Apache-2.0
/* The watchdog's period in an environment, and when its end is near. */
#include "test.h"
#include "watch_watchdog.h"

#define PERIOD(text, pid) sonde__watch_watchdog_parse(text, sizeof(text) - 1, pid)

TEST(watchdog_periods)
{
    CHECK_EQ(PERIOD("HOME=/\0WATCHDOG_USEC=2000000\0WATCHDOG_PID=7\0", 7), 2000000000u);
    CHECK_EQ(PERIOD("WATCHDOG_USEC=1500\0", 7), 1500000u);
    CHECK_EQ(PERIOD("WATCHDOG_USEC=1500", 7), 1500000u);
    CHECK_EQ(PERIOD("WATCHDOG_USEC=1500\0WATCHDOG_PID=8\0", 7), 0);
    CHECK_EQ(PERIOD("XWATCHDOG_USEC=1500\0", 7), 0);
    CHECK_EQ(PERIOD("WATCHDOG_USEC=\0", 7), 0);
    CHECK_EQ(PERIOD("WATCHDOG_USEC=-1\0", 7), 0);
    CHECK_EQ(PERIOD("WATCHDOG_USEC=1e6\0", 7), 0);
    CHECK_EQ(PERIOD("WATCHDOG_USEC=18446744073709551615\0", 7), 0);
    CHECK_EQ(PERIOD("", 7), 0);
}

TEST(watchdog_is_due_after_three_quarters)
{
    CHECK(!sonde__watch_watchdog_is_due(1000, 749));
    CHECK(sonde__watch_watchdog_is_due(1000, 750));
    CHECK(!sonde__watch_watchdog_is_due(0, UINT64_MAX));
}
