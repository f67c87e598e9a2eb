// SPDX-License-Identifier: Apache-2.0
/* sonde run --audit --live: what is new is told once, and while the program runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "programs.h"
#include "test.h"

static char rules_path[512], json_path[512];

static void write_rules(const char *rules)
{
    snprintf(rules_path, sizeof rules_path, "%s/live.ini", test_folder());
    snprintf(json_path, sizeof json_path, "%s/live.json", test_folder());
    test_write_file(rules_path, rules, strlen(rules));
}

static const char rules[] = "[rule \"files\"]\napi = open\nseverity = high\nclass = files\n"
                            "[rule \"all\"]\napi = getenv\n"
                            "[sdk \"lib\"]\nmatch = module:libruled*, !symbol:ask_otherwise\n";

TEST(new_calls_are_told_while_the_program_runs)
{
    write_rules("[rule \"naps\"]\napi = nanosleep, clock_nanosleep, pause\n");
    const char *const argv[] = {program_sonde(), "run", "-q",    "--audit", rules_path,
                                "--live",        "--",  "sleep", "1000",    NULL};
    struct program program = program_start(argv);
    program_await(&program, "new: warning  naps: ", 60);
    CHECK(!program_has_ended(&program));
    (void)program_stop(&program, 60);
}

TEST(each_new_call_is_a_line)
{
    write_rules(rules);
    const char *const argv[] = {program_sonde(),
                                "run",
                                "-q",
                                "--audit",
                                rules_path,
                                "--live",
                                "--",
                                program_built("audit/ruled"),
                                NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    unsigned lines = 0;
    CHECK_EQ(run.status, 3);
    CHECK_STR(run.out, "output\n");
    for (const char *at = run.err; (at = strstr(at, "sonde run: new: ")) != NULL; at++) {
        lines++;
    }
    CHECK_EQ(lines, 6); /* two places of open(), four of getenv() */
    CHECK_CONTAINS(run.err, "new: error  files: open  by main < _start  thread ");
    CHECK_CONTAINS(run.err, "new: warning  all: getenv  by ask_in_library < main < _start  SDK "
                            "lib, thread ");
    test_run_done(&run);
}

TEST(as_json_each_is_a_line_before_the_report)
{
    write_rules(rules);
    const char *const argv[] = {program_sonde(),
                                "run",
                                "-q",
                                "--audit",
                                rules_path,
                                "--live",
                                "--json",
                                json_path,
                                "--",
                                program_built("audit/ruled"),
                                NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 3);
    CHECK(strstr(run.err, "new: ") == NULL);
    test_run_done(&run);
    size_t size;
    char *text = test_read_file(json_path, &size);
    int64_t news = 0, stacks = 0;
    bool has_report = false;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        struct json *value = json_parse(line);
        CHECK(!has_report);
        has_report = strcmp(json_text(value, "kind"), "audit") == 0;
        if (!has_report) {
            CHECK_STR(json_text(value, "kind"), "audit-new");
            CHECK(json_need(value, "frames")->count > 0);
            CHECK_STR(json_text(value, "severity"),
                      strcmp(json_text(value, "rule_name"), "files") == 0 ? "error" : "warning");
            news++;
        } else {
            JSON_EACH(rule, json_need(value, "rules"))
            {
                stacks += json_int(rule, "app_stacks");
            }
        }
        json_free(value);
    }
    CHECK(has_report);
    CHECK_EQ(news, stacks);
    CHECK_EQ(news, 6);
    free(text);
}
