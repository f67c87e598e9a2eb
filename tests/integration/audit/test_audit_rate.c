// SPDX-License-Identifier: Apache-2.0
/* A long run at a high rate: every count is exact, what has no room is counted, and memory is
 * bounded. Twenty seconds; half an hour with SONDE_TEST_LONG. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "programs.h"
#include "test.h"

enum { RATE = 100000, SHORT_S = 20, LONG_S = 1800, FULL_S = 4, GROWTH_KIB = 8192 };

static const char rules[] = "[rule \"names\"]\napi = getenv\nwhen = name ~ STEADY_*\nkeep = name\n"
                            "[rule \"sevens\"]\napi = getenv\nwhen = name ~ STEADY_*7\n"
                            "[rule \"all\"]\napi = getenv, getppid\n"
                            "[rule \"limited\"]\napi = getppid\nlimit = 10/10h\n";

static const struct json *rule_named(const struct json *report, const char *name)
{
    JSON_EACH(rule, json_need(report, "rules"))
    {
        if (strcmp(json_text(rule, "name"), name) == 0) {
            return rule;
        }
    }
    FAIL("no rule %s", name);
    return NULL;
}

/* Of all findings of a rule: a member, and the calls of kept values. */
static int64_t sum_of(const struct json *report, const char *rule, const char *member)
{
    int64_t sum = 0;
    JSON_EACH(call, json_need(report, "calls"))
    {
        sum += strcmp(json_text(call, "rule_name"), rule) == 0 ? json_int(call, member) : 0;
    }
    return sum;
}

static void check_values(const struct json *report, int64_t calls)
{
    int64_t all = 0, kept = 0;
    JSON_EACH(call, json_need(report, "calls"))
    {
        bool is_it = strcmp(json_text(call, "rule_name"), "names") == 0;
        JSON_EACH(argument, is_it ? json_get(call, "arguments") : NULL)
        {
            all += json_int(argument, "count");
            kept += json_get(argument, "value") != NULL;
        }
    }
    CHECK_EQ(all, calls);
    CHECK(kept > 0 && kept <= 32768);
}

/* Run steady so long, with room for so many frames; the report as JSON. */
static struct json *run_steady(unsigned seconds, const char *frames, char **ret_text,
                               long *ret_calls)
{
    char path[600], file[600], calls[32], rate[32];
    unsigned long long wanted = (unsigned long long)RATE * seconds;
    snprintf(path, sizeof path, "%s/rules.ini", test_folder());
    snprintf(file, sizeof file, "%s/audit.sonde", test_folder());
    snprintf(calls, sizeof calls, "%llu", wanted);
    snprintf(rate, sizeof rate, "%d", RATE);
    test_write_file(path, rules, strlen(rules));
    const char *const argv[] = {program_sonde(),
                                "run",
                                "--audit",
                                path,
                                frames,
                                "--report",
                                file,
                                "--",
                                program_built("audit/steady"),
                                calls,
                                rate,
                                NULL};
    const char *const show[] = {program_sonde(), "show", "--json", file, NULL};
    struct test_run run = test_run(argv, NULL, NULL, test_long() ? 7200 : 400);
    long long asked = 0, pids = 0;
    long first = 0, last = 0;
    CHECK_EQ(run.status, 0);
    CHECK_EQ(sscanf(run.out, "%lld %lld %ld %ld", &asked, &pids, &first, &last), 4);
    CHECK_EQ(asked, pids);
    CHECK_EQ(asked + pids, (int64_t)wanted);
    fprintf(stderr, "%lld calls, %ld KiB after a tenth, %ld KiB at the end\n", asked + pids, first,
            last);
    CHECK(last - first <= GROWTH_KIB);
    *ret_text = strdup(run.err);
    *ret_calls = (long)asked;
    test_run_done(&run);
    run = test_run(show, NULL, NULL, 200);
    CHECK_EQ(run.status, 0);
    struct json *report = json_parse(run.out);
    test_run_done(&run);
    return report;
}

/* 4096 stacks fit. */
TEST_TIMEOUT(every_count_is_exact, 7300)
{
    char *text;
    long calls;
    struct json *report =
        run_steady(test_long() ? LONG_S : SHORT_S, "--frames=262144", &text, &calls);
    CHECK_EQ(json_int(rule_named(report, "names"), "calls"), calls);
    CHECK_EQ(json_int(rule_named(report, "sevens"), "calls"), calls / 10);
    CHECK_EQ(json_int(rule_named(report, "all"), "calls"), 2 * calls);
    CHECK_EQ(json_int(rule_named(report, "limited"), "calls"), calls);
    CHECK_EQ(sum_of(report, "limited", "over_limit"), calls - 10);
    CHECK(strstr(text, "had no room") == NULL);
    check_values(report, calls);
    free(text);
    json_free(report);
}

/* Most of them do not: their calls are counted without their stacks. */
TEST_TIMEOUT(what_has_no_room_is_counted, 400)
{
    char *text;
    long calls;
    struct json *report = run_steady(FULL_S, "--frames=2000", &text, &calls);
    CHECK_EQ(json_int(rule_named(report, "names"), "calls"), calls);
    CHECK_EQ(json_int(rule_named(report, "all"), "calls"), 2 * calls);
    CHECK_EQ(sum_of(report, "limited", "over_limit"), calls - 10);
    CHECK_CONTAINS(text, "had no room (the calls are counted; --frames makes room)");
    check_values(report, calls);
    free(text);
    json_free(report);
}
