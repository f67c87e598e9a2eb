// SPDX-License-Identifier: Apache-2.0
/* sonde run --audit --follow: the calls of each process of a run, and their sum. What the program
 * does is known (family.c); programs of others are compared with strace (recall.py). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "family.h"
#include "json.h"
#include "programs.h"
#include "test.h"

static const char rules[] = "[rule \"family\"]\napi = getenv\nwhen = name ~ FAMILY\n";

struct result {
    struct json *report;
    struct test_run run;
};

static struct result run_family(const char *mode, const char *argument)
{
    struct result result;
    char path[600], json[600];
    snprintf(path, sizeof path, "%s/rules.ini", test_folder());
    snprintf(json, sizeof json, "%s/audit.json", test_folder());
    test_write_file(path, rules, strlen(rules));
    const char *const argv[] = {program_sonde(),
                                "run",
                                "--audit",
                                path,
                                "--json",
                                json,
                                "--follow",
                                "--",
                                program_built("audit/family"),
                                mode,
                                argument,
                                NULL};
    result.run = test_run(argv, NULL, NULL, 100);
    CHECK_EQ(result.run.status, 5);
    CHECK_STR(result.run.out, "output\n");
    result.report = json_read(json);
    return result;
}

static void end(struct result *result)
{
    json_free(result->report);
    test_run_done(&result->run);
}

static int64_t total_of(const struct result *result)
{
    int64_t total = -1;
    JSON_EACH(rule, json_need(result->report, "rules"))
    {
        total = json_int(rule, "calls");
    }
    return total;
}

/* How many processes made this many calls? */
static int with_calls(const struct result *result, int64_t calls)
{
    int found = 0;
    const struct json *processes = json_get(result->report, "processes");
    JSON_EACH(process, processes)
    {
        int64_t sum = 0;
        JSON_EACH(call, json_need(result->report, "calls"))
        {
            const struct json *id = json_get(call, "process");
            if (json_get(call, "rule_name") != NULL && id != NULL &&
                json_int(call, "process") == json_int(process, "id")) {
                sum += json_int(call, "count");
            }
        }
        found += sum == calls;
    }
    return found;
}

/* Besides the first. */
static int process_count(const struct result *result)
{
    int count = -1;
    JSON_EACH(process, json_need(result->report, "processes"))
    {
        count++;
    }
    return count;
}

TEST_TIMEOUT(forked_children_count_under_their_own_pid, 120)
{
    struct result result = run_family("forked", NULL);
    CHECK_EQ(total_of(&result), OWN_CALLS + 1500 + FORKED);
    for (int i = 0; i < FORKED; i++) {
        CHECK_EQ(with_calls(&result, 100 * (i + 1)), 1);
    }
    CHECK_EQ(with_calls(&result, 1), FORKED); /* the grandchildren */
    CHECK_EQ(process_count(&result), 2 * FORKED);
    int grandchildren = 0;
    JSON_EACH(process, json_need(result.report, "processes"))
    {
        grandchildren += json_int(process, "parent_pid") != json_int(result.report, "pid");
        CHECK_CONTAINS(json_text(process, "executable"), "/family");
    }
    CHECK_EQ(grandchildren, FORKED + 1); /* and the first one, whose parent is ours */
    end(&result);
}

TEST_TIMEOUT(executed_programs_are_a_part_of_the_run, 120)
{
    struct result result = run_family("executed", NULL);
    CHECK_EQ(total_of(&result), OWN_CALLS + 7 + 8 + 9 + 10 + 11 + 12);
    for (int calls = 7; calls <= 12; calls++) {
        CHECK_EQ(with_calls(&result, calls), 1);
    }
    end(&result);
}

TEST_TIMEOUT(a_killed_child_loses_no_call, 120)
{
    struct result result = run_family("killed", NULL);
    CHECK_EQ(total_of(&result), OWN_CALLS + 1500);
    CHECK_EQ(with_calls(&result, 1000), 1);
    CHECK_EQ(with_calls(&result, 500), 1);
    end(&result);
}

/* More than there are places: they are used again. */
TEST_TIMEOUT(places_of_ended_children_are_used_again, 120)
{
    struct result result = run_family("many", "300");
    CHECK_EQ(total_of(&result), OWN_CALLS + 300);
    CHECK_EQ(process_count(&result), 300);
    end(&result);
}

TEST_TIMEOUT(children_beyond_the_first_thousand_count_together, 200)
{
    if (!test_long()) {
        SKIP("needs SONDE_TEST_LONG");
    }
    struct result result = run_family("many", "1100");
    CHECK_EQ(total_of(&result), OWN_CALLS + 1100);
    CHECK_EQ(process_count(&result), 1001);
    CHECK_EQ(with_calls(&result, 100), 1);
    CHECK_CONTAINS(result.run.err, "100 processes: beyond the first 1000");
    end(&result);
}

TEST_TIMEOUT(children_without_a_place_are_reported, 120)
{
    struct result result = run_family("crowd", "100");
    int lost = 0;
    const char *line = strstr(result.run.err, " processes: not recorded, because 64 others");
    CHECK(line != NULL);
    while (line > result.run.err && line[-1] >= '0' && line[-1] <= '9') {
        line--;
    }
    CHECK_EQ(sscanf(line, "%d", &lost), 1);
    CHECK(lost >= 1 && lost <= 36);
    CHECK_EQ(total_of(&result), OWN_CALLS + 100 - lost);
    end(&result);
}

/* A server with more workers than places: the others do not wait for what will not come. */
TEST_TIMEOUT(workers_without_a_place_are_not_delayed, 120)
{
    struct result result = run_family("workers", "80");
    CHECK_CONTAINS(result.run.err, "16 processes: not recorded, because 64 others");
    CHECK_EQ(total_of(&result), OWN_CALLS + 64);
    end(&result);
}

TEST_TIMEOUT(a_process_damages_no_recording_but_its_own, 120)
{
    struct result result = run_family("damaged", NULL);
    CHECK_EQ(with_calls(&result, 1), 3);
    CHECK(total_of(&result) >= OWN_CALLS + 3);
    CHECK_CONTAINS(result.run.err, "damaged");
    end(&result);
}

TEST_TIMEOUT(a_child_that_outlives_the_program_is_reported, 120)
{
    struct result result = run_family("orphaned", NULL);
    CHECK_EQ(total_of(&result), OWN_CALLS + 50);
    CHECK_CONTAINS(result.run.err, "1 process: still running");
    end(&result);
}

TEST_TIMEOUT(static_programs_are_reported, 120)
{
    struct result result = run_family("other", program_built("audit/family_static"));
    CHECK_EQ(total_of(&result), OWN_CALLS);
    CHECK_CONTAINS(result.run.err, "family_static was executed 1 time without being recorded");
    CHECK_CONTAINS(result.run.err, "statically linked");
    end(&result);
}

TEST_TIMEOUT(a_program_that_closes_all_descriptors_is_followed, 120)
{
    struct result result = run_family("descriptors", NULL);
    CHECK_EQ(total_of(&result), OWN_CALLS + 2 + 5);
    end(&result);
}
