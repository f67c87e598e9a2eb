// SPDX-License-Identifier: Apache-2.0
/* An audit that a program starts itself, with the shared library and with the static one, against
 * the numbers of calls that it makes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "json.h"
#include "programs.h"
#include "ruled.h"
#include "test.h"

static const char *const programs[] = {"audit/inside_shared", "audit/inside_static"};
enum { PROGRAMS = 2 };

static char compiled[512], report_path[512];

static void compile(const char *rules)
{
    char source[512];
    snprintf(source, sizeof source, "%s/team.ini", test_folder());
    snprintf(compiled, sizeof compiled, "%s/team.audit", test_folder());
    snprintf(report_path, sizeof report_path, "%s/audit.sonde", test_folder());
    test_write_file(source, rules, strlen(rules));
    const char *const argv[] = {program_sonde(), "audit", "compile", source, "-o", compiled, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}

/* The audit replaces what is there. */
static void write_old_report(void)
{
    static char old[65536];
    memset(old, 'x', sizeof old);
    test_write_file(report_path, old, sizeof old);
}

static struct test_run run_inside(const char *program, const char *mode, const char *last)
{
    const char *const argv[] = {program_built(program), mode, compiled, report_path, last, NULL};
    write_old_report();
    struct test_run run = test_run(argv, NULL, NULL, 100);
    CHECK_STR(run.err, "");
    CHECK_EQ(run.status, 0);
    return run;
}

static struct json *read_report(void)
{
    const char *const argv[] = {program_sonde(), "show", "--json", report_path, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.err, "");
    struct json *report = json_parse(run.out);
    test_run_done(&run);
    CHECK_STR(json_text(report, "kind"), "audit");
    return report;
}

static const struct json *rule_of(const struct json *report, const char *name)
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

static int64_t calls_of(const struct json *report, const char *name)
{
    return json_int(rule_of(report, name), "calls");
}

static const char ruled[] = "[rule \"files\"]\napi = open\nclass = files\nseverity = high\n"
                            "message = opens a file\n"
                            "[rule \"all\"]\napi = getenv\n"
                            "[rule \"own\"]\napi = getenv\nwhen = name ~ OWN\nlimit = 2/10h\n"
                            "[rule \"library\"]\napi = getenv\nfrom = module:libruled*.so\n"
                            "[rule \"numbers\"]\napi = syscall:getppid\n"
                            "[rule \"pattern\"]\napi = get?nv\nwhen = arg1.text ~ THREAD\n"
                            "[rule \"never\"]\napi = gethostid\n"
                            "[sdk \"lib\"]\nmatch = module:libruled*, !symbol:ask_otherwise\n";

TEST(an_app_finds_what_a_run_finds)
{
    int64_t all = OWN_GETENV + LIBRARY_GETENV + OTHER_GETENV + THREAD_GETENV;
    compile(ruled);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        struct test_run run = run_inside(programs[i], "ruled", NULL);
        struct json *report = read_report();
        CHECK_EQ(calls_of(report, "files"), OPENS + OPENS_64);
        CHECK_EQ(calls_of(report, "all"), all);
        CHECK_EQ(calls_of(report, "own"), OWN_GETENV);
        CHECK_EQ(calls_of(report, "library"), LIBRARY_GETENV + OTHER_GETENV);
        CHECK_EQ(calls_of(report, "numbers"), SYSCALLS);
        CHECK_EQ(calls_of(report, "pattern"), THREAD_GETENV);
        CHECK_EQ(calls_of(report, "never"), 0);
        CHECK_EQ(json_int(rule_of(report, "all"), "threads"), 2);
        CHECK_EQ(json_int(rule_of(report, "all"), "app_stacks"), 4);
        CHECK(json_int(rule_of(report, "own"), "over_first_ns") > 0);
        CHECK_STR(json_text(report, "build"), "1.2.3");
        CHECK_STR(json_text(json_need(report, "device"), "id"), "device-4");
        CHECK_STR(json_text(json_need(report, "tags")->first->next, "key"), "case");
        CHECK_STR(json_text(json_need(report, "tags")->first->next, "value"), "7");
        CHECK_CONTAINS(run.out, "functions recorded, ");
        CHECK_CONTAINS(json_need(report, "notes")->first->text, "functions recorded, ");
        CHECK_CONTAINS(json_text(json_need(report, "processes")->first, "executable"), "/inside_");
        json_free(report);
        test_run_done(&run);
    }
}

/* Each pair of function and stack of the program's own frames once for each of its rules. */
TEST(new_calls_are_told_once)
{
    compile(ruled);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        struct test_run run = run_inside(programs[i], "ruled", NULL);
        struct json *report = read_report();
        int64_t stacks = 0;
        unsigned lines = 0;
        JSON_EACH(rule, json_need(report, "rules"))
        {
            stacks += json_int(rule, "app_stacks");
        }
        for (const char *at = run.out; (at = strstr(at, "new ")) != NULL; at++) {
            lines += at == run.out || at[-1] == '\n';
        }
        CHECK_EQ(lines, stacks);
        CHECK_CONTAINS(run.out,
                       "new 3 team/files [files|opens a file] open by ruled_main < act < main");
        CHECK_CONTAINS(run.out, "new 2 team/library [|] getenv by ask_in_library < ruled_main");
        CHECK_CONTAINS(run.out, " in [] sdk [lib] main\n");
        CHECK_CONTAINS(run.out, "new 2 team/pattern [|] getenv by in_thread in [] sdk [] other\n");
        json_free(report);
        test_run_done(&run);
    }
}

TEST(new_calls_are_told_while_the_app_runs)
{
    compile("[rule \"all\"]\napi = getenv\n");
    for (unsigned i = 0; i < PROGRAMS; i++) {
        struct test_run run = run_inside(programs[i], "wait", NULL);
        struct json *report = read_report();
        CHECK_CONTAINS(run.out, "told while it runs\n");
        CHECK_EQ(calls_of(report, "all"), 2);
        json_free(report);
        test_run_done(&run);
    }
}

static const char phases[] = "[rule \"all\"]\napi = getenv\nwhen = name ~ INSIDE\n"
                             "[rule \"early\"]\napi = getenv\nwhen = name ~ INSIDE\n"
                             "phase = before consent\n"
                             "[rule \"in\"]\napi = getenv\nwhen = name ~ INSIDE\nphase = consent\n"
                             "[rule \"play\"]\napi = getenv\nwhen = name ~ INSIDE\n"
                             "phase = playing\n";

TEST(phases_are_begun_from_inside_and_outside)
{
    compile(phases);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        struct test_run run = run_inside(programs[i], "phases", program_sonde());
        struct json *report = read_report();
        CHECK_EQ(calls_of(report, "all"), EARLY_CALLS + MARKED_CALLS + PLAYING_CALLS);
        CHECK_EQ(calls_of(report, "early"), EARLY_CALLS);
        CHECK_EQ(calls_of(report, "in"), MARKED_CALLS);
        CHECK_EQ(calls_of(report, "play"), PLAYING_CALLS);
        CHECK_CONTAINS(run.out, "team/play [|] getenv by ask < act < main < _start in [playing]");
        json_free(report);
        test_run_done(&run);
    }
}

TEST(a_phase_may_have_begun_before)
{
    compile(phases);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        struct test_run run = run_inside(programs[i], "begun", NULL);
        struct json *report = read_report();
        CHECK_EQ(calls_of(report, "in"), MARKED_CALLS);
        CHECK_EQ(calls_of(report, "early"), 0);
        const struct json *phase = json_need(report, "named_phases")->first;
        CHECK_STR(json_text(phase, "name"), "consent");
        CHECK_STR(json_text(phase, "consent"), "given");
        json_free(report);
        test_run_done(&run);
    }
}

TEST(a_fork_child_is_not_recorded)
{
    compile(phases);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        struct test_run run = run_inside(programs[i], "fork", NULL);
        struct json *report = read_report();
        CHECK_EQ(calls_of(report, "all"), PARENT_CALLS);
        CHECK(json_get(report, "named_phases") == NULL);
        CHECK_CONTAINS(run.out, "line 1 call made a process (fork,");
        json_free(report);
        test_run_done(&run);
    }
}

/* The audit keeps one open, for sonde mark. */
TEST(executed_programs_inherit_no_descriptor)
{
    compile(phases);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        struct test_run run = run_inside(programs[i], "exec", NULL);
        CHECK_CONTAINS(run.out, " 0 -> ");
        CHECK(strstr(run.out, "memfd") == NULL);
        CHECK(strstr(run.out, "audit.sonde") == NULL);
        test_run_done(&run);
    }
}

TEST(libraries_that_are_loaded_later_are_hooked)
{
    compile("[rule \"library\"]\napi = getenv\nfrom = module:libruled_late.so\n");
    for (unsigned i = 0; i < PROGRAMS; i++) {
        struct test_run run =
            run_inside(programs[i], "load", program_built("audit/libruled_late.so"));
        struct json *report = read_report();
        CHECK_EQ(calls_of(report, "library"), MARKED_CALLS);
        json_free(report);
        test_run_done(&run);
    }
}

TEST(what_cannot_start_is_refused)
{
    compile(phases);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        struct test_run run = run_inside(programs[i], "again", NULL);
        CHECK_CONTAINS(run.out,
                       "again BUSY\ndamaged CORRUPT\nnowhere OS\nnothing USAGE\ntags USAGE\n"
                       "none USAGE\n");
        CHECK_CONTAINS(run.out, "\nrefused\n");
        json_free(read_report());
        test_run_done(&run);
    }
}

TEST(a_limit_of_file_sizes_does_not_end_the_app)
{
    compile(phases);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        const char *const argv[] = {program_built(programs[i]), "full", compiled, report_path,
                                    NULL};
        struct test_run run = test_run(argv, NULL, NULL, 100);
        CHECK_EQ(run.status, 1); /* and not by SIGXFSZ */
        CHECK_CONTAINS(run.err, "the audit's report is not complete");
        test_run_done(&run);
    }
}
