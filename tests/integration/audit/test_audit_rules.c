// SPDX-License-Identifier: Apache-2.0
/* Findings of rules against the numbers of calls that the program makes (ruled.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "programs.h"
#include "ruled.h"
#include "test.h"

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return path;
}

static const char *write_rules(const char *text)
{
    const char *path = path_of("team.ini");
    test_write_file(path, text, strlen(text));
    return path;
}

/* The report of the program under these rules. */
static struct json *audit(const char *rules)
{
    char json[512];
    snprintf(json, sizeof json, "%s", path_of("audit.json"));
    const char *const argv[] = {program_sonde(),
                                "run",
                                "--audit",
                                write_rules(rules),
                                "--json",
                                json,
                                "--",
                                program_built("audit/ruled"),
                                NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 3);
    CHECK_STR(run.out, "output\n");
    test_run_done(&run);
    struct json *report = json_read(json);
    CHECK_STR(json_text(report, "kind"), "audit");
    return report;
}

/* Calls of a function that a rule found. */
static int64_t calls_of(const struct json *report, const char *rule, const char *function)
{
    int64_t calls = 0;
    JSON_EACH(call, json_get(report, "calls"))
    {
        if (json_get(call, "rule_name") != NULL &&
            strcmp(json_text(call, "rule_name"), rule) == 0 &&
            strcmp(json_text(call, "function"), function) == 0) {
            calls += json_int(call, "count");
        }
    }
    return calls;
}

static int64_t calls_of_rule(const struct json *report, const char *rule)
{
    int64_t calls = 0;
    JSON_EACH(call, json_get(report, "calls"))
    {
        if (json_get(call, "rule_name") != NULL &&
            strcmp(json_text(call, "rule_name"), rule) == 0) {
            calls += json_int(call, "count");
        }
    }
    return calls;
}

static const char forms[] = "[rule \"files\"]\n"
                            "api = open\n"
                            "class = files\n"
                            "severity = high\n"
                            "message = opens a file\n"
                            "[rule \"other-name\"]\n"
                            "api = open64\n"
                            "[rule \"numbers\"]\n"
                            "api = syscall:getppid\n"
                            "severity = note\n"
                            "[rule \"never\"]\n"
                            "api = gethostid, no_such_function\n";

TEST(a_function_is_recorded_by_all_its_names)
{
    struct json *report = audit(forms);
    CHECK_EQ(calls_of(report, "files", "open"), OPENS + OPENS_64);
    CHECK_EQ(calls_of(report, "other-name", "open64"), OPENS + OPENS_64);
    CHECK_EQ(calls_of_rule(report, "files"), OPENS + OPENS_64);
    CHECK_EQ(calls_of(report, "numbers", "syscall:getppid"), SYSCALLS);
    CHECK_EQ(calls_of_rule(report, "never"), 0);
    unsigned rules = 0;
    static const char *const severities[] = {"error", "warning", "note", "warning"};
    JSON_EACH(rule, json_need(report, "rules"))
    {
        CHECK_STR(json_text(rule, "severity"), severities[rules]);
        CHECK_STR(json_text(rule, "pack"), "team");
        CHECK_EQ(json_int(rule, "id"), ++rules);
    }
    CHECK_EQ(rules, 4);
    CHECK_STR(json_text(json_need(report, "rules")->first, "text"), "opens a file");
    CHECK_STR(json_text(json_need(report, "rules")->first, "category"), "files");
    json_free(report);
}

static const char callers[] = "[rule \"all\"]\napi = getenv\n"
                              "[rule \"library\"]\napi = getenv\nfrom = module:libruled*.so\n"
                              "[rule \"not-library\"]\napi = getenv\n"
                              "from = module:ruled, !module:libruled*\n"
                              "[rule \"asks\"]\napi = getenv\nfrom = symbol:ask_in_*\n"
                              "[rule \"both\"]\napi = getenv\n"
                              "from = symbol:ask_otherwise, symbol:ask_in_library\n"
                              "[rule \"path\"]\napi = getenv\nfrom = module:/**/libruled*\n"
                              "[rule \"nobody\"]\napi = getenv\nfrom = module:libother.so\n"
                              "[sdk \"lib\"]\nmatch = module:libruled*, !symbol:ask_otherwise\n"
                              "[sdk \"rest\"]\nmatch = symbol:main\n";

TEST(callers_decide)
{
    struct json *report = audit(callers);
    int64_t all = OWN_GETENV + LIBRARY_GETENV + OTHER_GETENV + THREAD_GETENV;
    CHECK_EQ(calls_of_rule(report, "all"), all);
    CHECK_EQ(calls_of_rule(report, "library"), LIBRARY_GETENV + OTHER_GETENV);
    CHECK_EQ(calls_of_rule(report, "not-library"), OWN_GETENV + THREAD_GETENV);
    CHECK_EQ(calls_of_rule(report, "asks"), LIBRARY_GETENV);
    CHECK_EQ(calls_of_rule(report, "both"), LIBRARY_GETENV + OTHER_GETENV);
    CHECK_EQ(calls_of_rule(report, "path"), LIBRARY_GETENV + OTHER_GETENV);
    CHECK_EQ(calls_of_rule(report, "nobody"), 0);
    int64_t lib = 0, rest = 0, none = 0;
    JSON_EACH(call, json_get(report, "calls"))
    {
        if (json_get(call, "rule_name") == NULL ||
            strcmp(json_text(call, "rule_name"), "all") != 0) {
            continue;
        }
        const char *sdk = json_get(call, "sdk") != NULL ? json_text(call, "sdk") : "";
        int64_t *sum = strcmp(sdk, "lib") == 0 ? &lib : strcmp(sdk, "rest") == 0 ? &rest : &none;
        *sum += json_int(call, "count");
    }
    CHECK_EQ(lib, LIBRARY_GETENV);
    CHECK_EQ(rest, OWN_GETENV + OTHER_GETENV);
    CHECK_EQ(none, THREAD_GETENV);
    json_free(report);
}

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

TEST(each_rule_has_the_sum_of_its_findings)
{
    struct json *report = audit(callers);
    const struct json *all = rule_named(report, "all"), *nobody = rule_named(report, "nobody");
    int64_t first = json_int(all, "first_ns"), last = json_int(all, "last_ns");
    CHECK_EQ(json_int(all, "calls"), OWN_GETENV + LIBRARY_GETENV + OTHER_GETENV + THREAD_GETENV);
    CHECK_EQ(json_int(all, "app_stacks"), 4);
    CHECK_EQ(json_int(all, "threads"), 2);
    CHECK_EQ(json_int(rule_named(report, "asks"), "threads"), 1);
    CHECK(first > 0 && first <= last);
    bool has_lib = false, has_rest = false;
    JSON_EACH(sdk, json_need(all, "sdks"))
    {
        has_lib |= strcmp(sdk->text, "lib") == 0;
        has_rest |= strcmp(sdk->text, "rest") == 0;
    }
    CHECK(has_lib && has_rest);
    CHECK_EQ(json_need(all, "sdks")->count, 2);
    CHECK_EQ(json_need(rule_named(report, "asks"), "sdks")->count, 1);
    CHECK_EQ(json_int(nobody, "calls"), 0);
    CHECK_EQ(json_int(nobody, "app_stacks"), 0);
    CHECK(json_get(nobody, "threads") == NULL && json_get(nobody, "first_ns") == NULL);
    int64_t main_tid = 0, other_tid = 0;
    JSON_EACH(call, json_get(report, "calls"))
    {
        if (json_get(call, "rule") != NULL && json_int(call, "rule") == 1) {
            bool is_main = json_int(call, "count") != THREAD_GETENV;
            *(is_main ? &main_tid : &other_tid) = json_int(call, "tid");
            CHECK(json_int(call, "first_ns") >= first && json_int(call, "last_ns") <= last);
            CHECK_EQ(json_int(call, "threads"), 1);
        }
    }
    CHECK_EQ(main_tid, json_int(report, "pid"));
    CHECK(other_tid > main_tid);
    json_free(report);
}

static const char conditions[] =
    "[rule \"own\"]\napi = getenv\nwhen = name ~ OW?\n"
    "[rule \"all\"]\napi = getenv\n"
    "[rule \"two\"]\napi = getenv\nwhen = name ~ OWN || name ~ *BR*\n"
    "[rule \"library\"]\napi = getenv\nwhen = name !~ OWN\nfrom = module:libruled*\n"
    "[rule \"none\"]\napi = getenv\nwhen = name ~ own\n"
    "[rule \"to-read\"]\napi = open\n"
    "when = flags & O_ACCMODE == O_RDONLY && flags & O_CLOEXEC\n"
    "[rule \"no-flags\"]\napi = open\nwhen = flags == 0 && file ~ /dev/nul*\n"
    "[rule \"file\"]\napi = open:1\nwhen = path ~ /dev/null && arg ~ *null\n"
    "[rule \"other-file\"]\napi = open\nwhen = path ~ /dev/nul\n"
    "[rule \"to-write\"]\napi = open\nwhen = flags & O_ACCMODE in (O_WRONLY, O_RDWR)\n";

TEST(conditions_decide)
{
    struct json *report = audit(conditions);
    CHECK_EQ(calls_of_rule(report, "own"), OWN_GETENV);
    CHECK_EQ(calls_of_rule(report, "all"),
             OWN_GETENV + LIBRARY_GETENV + OTHER_GETENV + THREAD_GETENV);
    CHECK_EQ(calls_of_rule(report, "two"), OWN_GETENV + LIBRARY_GETENV);
    CHECK_EQ(calls_of_rule(report, "library"), LIBRARY_GETENV + OTHER_GETENV);
    CHECK_EQ(calls_of_rule(report, "none"), 0);
    CHECK_EQ(calls_of(report, "to-read", "open"), OPENS_64);
    CHECK_EQ(calls_of(report, "no-flags", "open"), OPENS);
    CHECK_EQ(calls_of(report, "file", "open"), OPENS + OPENS_64);
    CHECK_EQ(calls_of_rule(report, "other-file"), 0);
    CHECK_EQ(calls_of_rule(report, "to-write"), 0);
    json_free(report);
}

static int64_t over_limit_of(const struct json *report, const char *rule)
{
    int64_t over = 0;
    JSON_EACH(call, json_get(report, "calls"))
    {
        if (json_get(call, "rule_name") != NULL && json_get(call, "over_limit") != NULL &&
            strcmp(json_text(call, "rule_name"), rule) == 0) {
            over += json_int(call, "over_limit");
        }
    }
    return over;
}

/* No machine is so slow that the times matter. */
static const char limits[] = "[rule \"own\"]\napi = getenv\nwhen = name ~ OWN\nlimit = 2/10h\n"
                             "[rule \"just\"]\napi = getenv\nlimit = 18/10h\n"
                             "[rule \"one-more\"]\napi = getenv\nlimit = 17/10h\n"
                             "[rule \"joint\"]\napi = open, getenv\nlimit = 20/10h\n"
                             "[rule \"plain\"]\napi = getenv\n";

TEST(limits_are_counted)
{
    int64_t all = OWN_GETENV + LIBRARY_GETENV + OTHER_GETENV + THREAD_GETENV;
    CHECK_EQ(all, 18);
    struct json *report = audit(limits);
    CHECK_EQ(calls_of_rule(report, "own"), OWN_GETENV);
    CHECK_EQ(over_limit_of(report, "own"), OWN_GETENV - 2);
    CHECK_EQ(calls_of_rule(report, "just"), all);
    CHECK_EQ(over_limit_of(report, "just"), 0);
    CHECK_EQ(calls_of_rule(report, "one-more"), all);
    CHECK_EQ(over_limit_of(report, "one-more"), 1);
    CHECK_EQ(calls_of_rule(report, "joint"), all + OPENS + OPENS_64);
    CHECK_EQ(over_limit_of(report, "joint"), all + OPENS + OPENS_64 - 20);
    CHECK_EQ(calls_of_rule(report, "plain"), all);
    unsigned exceeded = 0;
    JSON_EACH(rule, json_need(report, "rules"))
    {
        bool has_times = json_get(rule, "over_first_ns") != NULL;
        CHECK(!has_times || json_int(rule, "over_first_ns") <= json_int(rule, "over_last_ns"));
        exceeded += has_times;
    }
    CHECK_EQ(exceeded, 3);
    json_free(report);
}

TEST(text_has_each_rule_with_its_calls)
{
    const char *const argv[] = {program_sonde(),
                                "run",
                                "--audit",
                                write_rules(forms),
                                "--",
                                program_built("audit/ruled"),
                                NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    char line[100];
    CHECK_EQ(run.status, 3);
    CHECK_STR(run.out, "output\n");
    CHECK_CONTAINS(run.err, "error  files  files  opens a file  pack team\n");
    snprintf(line, sizeof line, "  %d calls from 2 stacks\n", OPENS + OPENS_64);
    CHECK_CONTAINS(run.err, line);
    snprintf(line, sizeof line, "  open  %d calls  ", OPENS_64);
    CHECK_CONTAINS(run.err, line);
    CHECK_CONTAINS(run.err, "no calls: never\n");
    CHECK_CONTAINS(run.err, "  2 different stacks of the program's own frames, first ");
    CHECK_CONTAINS(run.err, " after the start, 1 thread\n");
    CHECK_CONTAINS(run.err, "recording took about ");
    test_run_done(&run);
}

TEST(a_report_file_is_shown_alike)
{
    char report[512];
    snprintf(report, sizeof report, "%s", path_of("audit.sonde"));
    const char *const argv[] = {program_sonde(),
                                "run",
                                "-q",
                                "--audit",
                                write_rules(forms),
                                "--report",
                                report,
                                "--",
                                program_built("audit/ruled"),
                                NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 3);
    const char *const show[] = {program_sonde(), "show", report, NULL};
    struct test_run shown = test_run(show, NULL, NULL, 60);
    CHECK_EQ(shown.status, 0);
    CHECK_CONTAINS(shown.out, "error  files  files  opens a file  pack team\n");
    const char *in_run = strstr(run.err, "error  files"),
               *in_show = strstr(shown.out, "error  files");
    size_t size = strcspn(in_run, "#"); /* up to the first frame */
    CHECK(strncmp(in_run, in_show, size) == 0);
    test_run_done(&run);
    test_run_done(&shown);
}

/* What cannot be evaluated is refused; the program is not run. */
TEST(keys_that_are_not_evaluated_are_refused)
{
    static const struct {
        const char *key, *error;
    } keys[] = {
        {"when = path ~ etc/*", ":3:15: expected a path's pattern, which begins with /"},
        {"when = addr in (::1)", ":3:8: expected an argument that is known of this function"},
        {"when = arg1 == 1 && \\\n flags & O_X", ":4:10: expected a number, or a constant"},
        {"limit = 1001/2s", ":3:9: expected at most 1000 calls"},
        {"from = symbol:x\nlimit = 1/2s",
         ":4:9: limit cannot be combined with from: a limit is counted while"},
        {"keep-args = 4", ":3:1: expected a key of [rule]"},
        {"api = open:2", ":3:7: expected one argument of a function in a rule: open"},
        {"sevrity = low", ":3:1: expected a key of [rule]"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char text[200];
        snprintf(text, sizeof text, "[rule \"x\"]\napi = open\n%s\n", keys[i].key);
        const char *const argv[] = {program_sonde(),
                                    "run",
                                    "--audit",
                                    write_rules(text),
                                    "--",
                                    program_built("audit/ruled"),
                                    NULL};
        struct test_run run = test_run(argv, NULL, NULL, 60);
        CHECK_EQ(run.status, 125);
        CHECK_STR(run.out, "");
        CHECK_CONTAINS(run.err, keys[i].error);
        test_run_done(&run);
    }
}

TEST(options_that_do_not_fit_are_refused)
{
    static const char *const wrong[][3] = {
        {"--record=x", NULL, "--record and --audit: give one"},
        {"--blocks", NULL, "--blocks and --audit cannot be combined yet"},
        {"--app-only", NULL, "--app-only needs --record"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *const argv[] = {program_sonde(), "run", "--audit", "x.ini",
                                    wrong[i][0],     "--",  "true",    NULL};
        struct test_run run = test_run(argv, NULL, NULL, 60);
        CHECK_EQ(run.status, 2);
        CHECK_CONTAINS(run.err, wrong[i][2]);
        test_run_done(&run);
    }
}
