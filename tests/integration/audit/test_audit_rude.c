// SPDX-License-Identifier: Apache-2.0
/* Rules on a program that closes all descriptors, forks, drops privileges, limits its system calls
 * or executes another one: it runs as without sonde, and its own calls are counted exactly. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "programs.h"
#include "rude.h"
#include "test.h"

static const char rules[] = "[rule \"plain\"]\napi = getenv\nwhen = name ~ RUDE\n"
                            "[rule \"kept\"]\napi = getenv\nwhen = name ~ RUDE\nkeep = name\n"
                            "limit = 2/10h\n";

static void check_calls(const char *mode, int status, int64_t calls)
{
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
                                "--",
                                program_built("audit/rude"),
                                mode,
                                NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, status);
    CHECK_STR(run.out, "output\n");
    CHECK_EQ(strstr(run.err, "(seccomp)") != NULL, mode != NULL && mode[0] == '-');
    test_run_done(&run);
    struct json *report = json_read(json);
    JSON_EACH(rule, json_need(report, "rules"))
    {
        CHECK_EQ(json_int(rule, "calls"), calls);
    }
    int64_t kept = 0;
    JSON_EACH(call, json_need(report, "calls"))
    {
        JSON_EACH(argument, json_get(call, "arguments"))
        {
            kept += json_int(argument, "count");
            CHECK_STR(json_text(argument, "value"), "RUDE");
        }
    }
    CHECK_EQ(kept, calls);
    json_free(report);
}

TEST(descriptors_children_and_privileges)
{
    check_calls(NULL, 5, FIRST_CALLS + CLOSED_CALLS + FORKED_CALLS + DROPPED_CALLS);
}

TEST(until_another_program_takes_its_place)
{
    check_calls("exec", 7, FIRST_CALLS + CLOSED_CALLS + FORKED_CALLS);
}

/* A filter ends the program for calls that only a recorder would make. */
TEST(in_a_program_that_limits_its_system_calls)
{
    check_calls("-filter", 9, FIRST_CALLS + LIMITED_CALLS + LIMITED_CALLS);
    check_calls("-number", 9, FIRST_CALLS + LIMITED_CALLS + LIMITED_CALLS);
}

/* It may not even read a clock: its calls are not counted from then on. */
TEST(in_a_program_that_may_only_read_and_write)
{
    check_calls("-strict", 8, FIRST_CALLS);
}
