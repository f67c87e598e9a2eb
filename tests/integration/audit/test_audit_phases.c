// SPDX-License-Identifier: Apache-2.0
/* Rules about phases, against the numbers of calls that the program makes in each (phased.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "phased.h"
#include "programs.h"
#include "test.h"

static const char rules[] = "[rule \"all\"]\napi = getenv\nwhen = name ~ PHASED\n"
                            "[rule \"early\"]\napi = getenv\nwhen = name ~ PHASED\n"
                            "phase = before consent\n"
                            "[rule \"in\"]\napi = getenv\nwhen = name ~ PHASED\n"
                            "phase = consent\n"
                            "[rule \"play\"]\napi = getenv\nwhen = name ~ PHASED\n"
                            "phase = playing\n"
                            "[rule \"never\"]\napi = getenv\nphase = never\n"
                            "[rule \"number\"]\napi = syscall:getppid\nphase = consent\n"
                            "[rule \"number-if\"]\napi = syscall:getppid\nlimit = 4/10h\n"
                            "phase = before consent\n"
                            "[rule \"limit-in\"]\napi = getenv\nwhen = name ~ PHASED\n"
                            "phase = consent\nlimit = 3/10h\n"
                            "[rule \"limit-early\"]\napi = getenv\nwhen = name ~ PHASED\n"
                            "phase = before consent\nlimit = 2/10h\n"
                            "[rule \"before-never\"]\napi = getenv\nwhen = name ~ PHASED\n"
                            "phase = before never\n";

static const char *path_of(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, 512, "%s/%s", test_folder(), name);
    return path;
}

static struct json *read_report(void)
{
    return json_read(path_of("audit.json"));
}

/* Run phased; its output and sonde's text are in `run`. */
static struct test_run run_phased(const char *program, const char *mode)
{
    const char *path = path_of("rules.ini");
    test_write_file(path, rules, strlen(rules));
    const char *const argv[] = {
        program_sonde(),        "run", "--audit",       path, "--json", path_of("audit.json"), "--",
        program_built(program), mode,  program_sonde(), NULL};
    struct test_run run = test_run(argv, NULL, NULL, 100);
    CHECK_EQ(run.status, 0);
    return run;
}

static int64_t calls_of(const struct json *report, const char *rule)
{
    JSON_EACH(r, json_need(report, "rules"))
    {
        if (strcmp(json_text(r, "name"), rule) == 0) {
            return json_int(r, "calls");
        }
    }
    FAIL("no rule %s", rule);
    return 0;
}

static int64_t over_limit_of(const struct json *report, const char *rule)
{
    int64_t over = 0;
    JSON_EACH(call, json_need(report, "calls"))
    {
        if (json_get(call, "rule_name") != NULL &&
            strcmp(json_text(call, "rule_name"), rule) == 0) {
            over += json_int(call, "over_limit");
        }
    }
    return over;
}

/* Calls of the rule "all" in a phase; 0: before the first. */
static int64_t calls_in(const struct json *report, int64_t phase)
{
    int64_t calls = 0;
    JSON_EACH(call, json_need(report, "calls"))
    {
        if (json_int(call, "rule") == 1 && json_int(call, "phase") == phase) {
            calls += json_int(call, "count");
        }
    }
    return calls;
}

static void check_phases(const struct json *report, unsigned third)
{
    CHECK_EQ(calls_of(report, "all"), FIRST_CALLS + SECOND_CALLS + third);
    CHECK_EQ(calls_of(report, "early"), FIRST_CALLS);
    CHECK_EQ(calls_of(report, "in"), SECOND_CALLS);
    CHECK_EQ(calls_of(report, "play"), third);
    CHECK_EQ(calls_of(report, "never"), 0);
    CHECK_EQ(calls_of(report, "number"), SECOND_CALLS);
    CHECK_EQ(calls_of(report, "number-if"), FIRST_CALLS);
    CHECK_EQ(over_limit_of(report, "number-if"), FIRST_CALLS - 4);
    CHECK_EQ(calls_of(report, "limit-in"), SECOND_CALLS);
    CHECK_EQ(over_limit_of(report, "limit-in"), SECOND_CALLS - 3);
    CHECK_EQ(calls_of(report, "limit-early"), FIRST_CALLS);
    CHECK_EQ(over_limit_of(report, "limit-early"), FIRST_CALLS - 2);
    CHECK_EQ(calls_of(report, "before-never"), FIRST_CALLS + SECOND_CALLS + third);
    CHECK_EQ(calls_in(report, 0), FIRST_CALLS);
    CHECK_EQ(calls_in(report, 1), SECOND_CALLS);
    CHECK_EQ(calls_in(report, 2), third);
    const struct json *phases = json_need(report, "named_phases");
    CHECK_EQ(phases->count, third != 0 ? 2 : 1);
    CHECK_STR(json_text(phases->first, "name"), "consent");
    int64_t begin = json_int(phases->first, "begin_ns");
    CHECK(begin > 0);
    JSON_EACH(call, json_need(report, "calls"))
    {
        if (json_get(call, "rule") != NULL && json_int(call, "phase") == 1) {
            /* the clock of calls ticks, that of phases does not */
            CHECK(json_int(call, "first_ns") + 20000000 > begin);
        }
    }
    if (third != 0) {
        CHECK_STR(json_text(phases->first->next, "name"), "playing");
        CHECK(json_int(phases->first->next, "begin_ns") >= begin);
    }
}

TEST_TIMEOUT(another_process_begins_phases, 120)
{
    struct test_run run = run_phased("audit/phased_shared", "mark");
    struct json *report = read_report();
    check_phases(report, THIRD_CALLS);
    CHECK_CONTAINS(run.err, "phase \"never\" did not begin: the whole run was before it\n");
    CHECK_CONTAINS(run.err, "\nphases: \"consent\" from ");
    CHECK_CONTAINS(run.err, "  in \"playing\"\n");
    json_free(report);
    test_run_done(&run);
}

/* With the shared library, and with the static one in a stripped program. */
TEST_TIMEOUT(the_program_begins_phases, 120)
{
    static const char *const programs[] = {"audit/phased_shared", "audit/phased_static"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct test_run run = run_phased(programs[i], "call");
        struct json *report = read_report();
        check_phases(report, THIRD_CALLS);
        CHECK_STR(json_text(json_need(report, "named_phases")->first, "consent"), "given");
        json_free(report);
        test_run_done(&run);
    }
}

TEST_TIMEOUT(a_signal_begins_a_phase, 120)
{
    static char line[4096];
    test_write_file(path_of("rules.ini"), rules, strlen(rules));
    snprintf(line, sizeof line,
             "cd %s; mkfifo go; exec 3<>go; %s run -v --audit rules.ini --phase-signal consent "
             "--json audit.json -- %s wait <&3 2>err >out & "
             "until [ -s out ]; do sleep 0.02; done; "
             "until s=$(sed -n 's/.*supervisor \\([0-9]*\\) watches.*/\\1/p' err) && [ \"$s\" ]; "
             "do sleep 0.02; done; kill -USR1 $s; "
             "until grep -q 'phase \"consent\" has begun' err; do sleep 0.02; done; echo >go; wait",
             test_folder(), program_sonde(), program_built("audit/phased_shared"));
    const char *const argv[] = {"bash", "-c", line, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 100);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    struct json *report = read_report();
    check_phases(report, 0);
    json_free(report);
}

/* Calls that had returned before the change count before it, those that begin after it behind it.
 */
TEST_TIMEOUT(a_change_races_calls, 120)
{
    unsigned before = 0, until = 0, all = 0;
    struct test_run run = run_phased("audit/phased_shared", "race");
    struct json *report = read_report();
    CHECK_EQ(sscanf(run.out, "%u %u %u", &before, &until, &all), 3);
    CHECK_EQ(calls_of(report, "all"), all);
    CHECK_EQ(calls_in(report, 0) + calls_in(report, 1), all);
    CHECK(calls_in(report, 0) >= before);
    CHECK(calls_in(report, 0) <= until);
    json_free(report);
    test_run_done(&run);
}

TEST(marks_that_cannot_be_are_refused)
{
    static const struct {
        const char *pid, *name, *error;
        int status;
    } wrong[] = {
        {"x", "consent", "not a process id: x", 2},
        {"1", "", "the name of a phase has 1 to 63 bytes", 2},
        {"2147483647", "consent", "process 2147483647: ", 3},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *const argv[] = {program_sonde(), "mark", wrong[i].pid, wrong[i].name, NULL};
        struct test_run run = test_run(argv, NULL, NULL, 60);
        CHECK_CONTAINS(run.err, wrong[i].error);
        CHECK_EQ(run.status, wrong[i].status);
        test_run_done(&run);
    }
    static char line[2048];
    snprintf(line, sizeof line,
             "cd %s; echo getenv >list; %s mark $$ x; echo $?; %s run -q --record list -- %s mark "
             "%s; %s run -q -- %s mark %s; true",
             test_folder(), program_sonde(), program_sonde(), program_built("audit/phased_shared"),
             program_sonde(), program_sonde(), program_built("audit/phased_shared"),
             program_sonde());
    const char *const argv[] = {"bash", "-c", line, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_CONTAINS(run.err, "not run by sonde run --audit");
    const char *first = strstr(run.err, "it has no phases: sonde run --audit records by phase");
    CHECK(first != NULL && strstr(first + 1, "it has no phases") != NULL);
    test_run_done(&run);
}
