// SPDX-License-Identifier: Apache-2.0
/* Suppression files: what they mean, and where they are wrong. */
#include <stdio.h>
#include <string.h>

#include "findings.h"
#include "made.h"
#include "mem_heap.h"
#include "test.h"

#define TODAY "2026-11-28"
#define ID    "1:0123456789abcdef0123456789abcdef"

static enum sonde_status read_text(const char *text, struct sonde__suppressions *ret,
                                   struct sonde__suppress_error *error)
{
    return sonde__suppressions_read(text, strlen(text), TODAY, ret, error);
}

TEST(suppressions_are_read)
{
    struct sonde__suppressions s;
    struct sonde__suppress_error error;
    CHECK_OK(read_text("# comment\n\n  " ID "  until 2026-11-28  read  at start \r\n"
                       "get* by ns::load(int, int) until 2026-11-27 until the next release",
                       &s, &error));
    CHECK_EQ(s.count, 2);
    CHECK_STR(s.list[0].reason, "read  at start");
    CHECK_STR(s.list[0].until, "2026-11-28");
    CHECK_EQ(s.list[0].line, 3);
    CHECK(!s.list[0].is_expired); /* its last day */
    CHECK_STR(s.list[1].rule, "get*");
    CHECK_STR(s.list[1].function, "ns::load(int, int)");
    CHECK_STR(s.list[1].reason, "until the next release");
    CHECK(s.list[1].is_expired);
    sonde__suppressions_done(&s);
    CHECK_OK(read_text("", &s, &error));
    CHECK_EQ(s.count, 0);
    sonde__suppressions_done(&s);
}

TEST(suppressions_that_are_wrong_say_where)
{
    static const struct {
        const char *text, *at;
    } cases[] = {
        {"a by b\n", "1:7: until DATE REASON"},
        {"# x\na by b until 2026-1-01 x\n", "2:14: a date, YYYY-MM-DD"},
        {"a by b until 2026-13-01 x\n", "1:14: a date, YYYY-MM-DD"},
        {"a by b until 2026-12-32 x\n", "1:14: a date, YYYY-MM-DD"},
        {"a by b until 2026-12-01x\n", "1:14: a date, YYYY-MM-DD"},
        {"a by b until 2026-12-01\n", "1:24: a reason"},
        {"a by b until 2026-12-01  \n", "1:24: a reason"},
        {"abc until 2026-12-01 x\n", "1:1: a fingerprint, or RULE by FUNCTION"},
        {"1:0123 until 2026-12-01 x\n", "1:1: a fingerprint, or RULE by FUNCTION"},
        {ID "0 until 2026-12-01 x\n", "1:1: a fingerprint, or RULE by FUNCTION"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sonde__suppressions s;
        struct sonde__suppress_error error;
        char at[128];
        CHECK_EQ(read_text(cases[i].text, &s, &error), SONDE_CORRUPT);
        snprintf(at, sizeof at, "%u:%u: %s", error.line, error.column, error.expected);
        CHECK_STR(at, cases[i].at);
    }
    struct sonde__suppressions s;
    struct sonde__suppress_error error;
    CHECK_EQ(sonde__suppressions_read("#\n\0", 3, TODAY, &s, &error), SONDE_CORRUPT);
    CHECK_EQ(error.line, 2);
}

static uint32_t count_suppressed(const struct sonde__diff *diff, const char *text)
{
    struct sonde__suppressions s;
    struct sonde__suppress_error error;
    struct sonde__findings findings;
    uint32_t count = 0;
    CHECK_OK(read_text(text, &s, &error));
    CHECK_OK(sonde__findings_make(diff, &s, &findings));
    for (uint32_t i = 0; i < findings.count; i++) {
        count += findings.list[i].suppression != NULL;
    }
    sonde__findings_done(&findings);
    sonde__suppressions_done(&s);
    return count;
}

TEST(suppressions_match_functions_and_fingerprints)
{
    struct made made = made_recording();
    made_call(&made, "getenv", 0, "main read_settings.part.0", 1);
    made_call(&made, "open", 0, "main read_settings", 1);
    made_call(&made, "open", 0, "main", 1);
    made_call(&made, "stat", 0, "main list::operator[]", 1);
    const struct sonde__report *report = made.report;
    static const char *const name = "new";
    struct sonde__diff diff;
    char id[SONDE__REPORT_CALL_KEY_TEXT], line[128];
    CHECK_OK(sonde__diff_make(&(struct sonde__diff_side){0},
                              &(struct sonde__diff_side){&report, &name, 1}, SONDE__DIFF_PERCENT,
                              &diff));
    CHECK_EQ(count_suppressed(&diff, "open by main until 2027-01-01 x"), 2);
    CHECK_EQ(count_suppressed(&diff, "stat by list::operator[] until 2027-01-01 x"), 1);
    CHECK_EQ(count_suppressed(&diff, "stat by list::operator[*] until 2027-01-01 x"), 1);
    CHECK_EQ(count_suppressed(&diff, "[a-z]pen by main until 2027-01-01 x"), 0);
    CHECK_EQ(count_suppressed(&diff, "* by read_* until 2027-01-01 x"), 2);
    CHECK_EQ(count_suppressed(&diff, "getenv by read_settings until 2027-01-01 x"), 1);
    CHECK_EQ(count_suppressed(&diff, "getenv by read until 2027-01-01 x"), 0);
    CHECK_EQ(count_suppressed(&diff, "open by main until 2026-11-27 x"), 0); /* expired */
    sonde__report_call_key_text(&diff.calls[0].key, id);
    snprintf(line, sizeof line, "%s until 2027-01-01 x", id);
    CHECK_EQ(count_suppressed(&diff, line), 1);
    CHECK_EQ(count_suppressed(&diff, ID " until 2027-01-01 x"), 0);
    sonde__diff_done(&diff);
    sonde__report_destroy(made.report);
}
