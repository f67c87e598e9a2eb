// SPDX-License-Identifier: Apache-2.0
/* How often each method is called in calls.m. */
enum {
    CALLS_PLAIN = 11,
    CALLS_INHERITED,
    CALLS_SUPER,
    CALLS_BIG,
    CALLS_SUM,
    CALLS_ADDED,
    CALLS_LATER,
};
