// SPDX-License-Identifier: Apache-2.0
/* Rules that keep arguments, against the values that the program passes (kept.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "kept.h"
#include "programs.h"
#include "test.h"

static const char *path_of(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, 512, "%s/%s", test_folder(), name);
    return path;
}

/* Run kept under rules; the report file is read by `sonde show`. text: what sonde printed, if
 * wanted. */
static struct json *audit(const char *rules, const char *option, char **ret_text)
{
    const char *path = path_of("rules.ini"), *file = path_of("audit.sonde");
    test_write_file(path, rules, strlen(rules));
    const char *const argv[] = {program_sonde(),
                                "run",
                                "--audit",
                                path,
                                "--report",
                                file,
                                "--top=all",
                                option,
                                "--",
                                program_built("audit/kept"),
                                NULL};
    const char *const show[] = {program_sonde(), "show", "--json", file, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 100);
    CHECK_EQ(run.status, 0);
    if (ret_text != NULL) {
        *ret_text = strdup(run.err);
    }
    test_run_done(&run);
    run = test_run(show, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    struct json *report = json_parse(run.out);
    test_run_done(&run);
    return report;
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

/* Calls with a value of an argument, in a rule or in one of its findings; value null: others. */
static int64_t calls_with(const struct json *of, const char *name, const char *value)
{
    int64_t calls = 0;
    const struct json *arguments = json_get(of, "arguments");
    if (arguments != NULL) {
        JSON_EACH(argument, arguments)
        {
            const struct json *text = json_get(argument, "value");
            bool is_it =
                value == NULL ? text == NULL : text != NULL && strcmp(text->text, value) == 0;
            if (is_it && strcmp(json_text(argument, "name"), name) == 0) {
                calls += json_int(argument, "count");
            }
        }
    }
    return calls;
}

/* Of the first kept value of an argument. */
static int64_t position_of(const struct json *report, const char *rule, const char *name)
{
    JSON_EACH(argument, json_need(rule_named(report, rule), "arguments"))
    {
        if (strcmp(json_text(argument, "name"), name) == 0) {
            return json_int(argument, "position");
        }
    }
    FAIL("no argument %s", name);
    return 0;
}

static int64_t calls_of(const struct json *report, const char *rule, const char *name,
                        const char *value)
{
    return calls_with(rule_named(report, rule), name, value);
}

/* In a rule or finding: the calls of the values of each argument are all of its calls. */
static void check_sums(const struct json *of, const char *calls)
{
    JSON_EACH(argument, json_get(of, "arguments"))
    {
        int64_t sum = 0;
        JSON_EACH(other, json_get(of, "arguments"))
        {
            bool is_same = strcmp(json_text(other, "name"), json_text(argument, "name")) == 0;
            sum += is_same ? json_int(other, "count") : 0;
        }
        CHECK_EQ(sum, json_int(of, calls));
    }
}

static void check_all_sums(const struct json *report)
{
    JSON_EACH(rule, json_need(report, "rules"))
    {
        check_sums(rule, "calls");
    }
    JSON_EACH(call, json_need(report, "calls"))
    {
        check_sums(call, "count");
    }
}

static const char values[] =
    "[rule \"files\"]\napi = open\nwhen = path ~ /dev/*\nkeep = path, flags\n"
    "[rule \"from-folder\"]\napi = openat\nwhen = file ~ full\nkeep = path, file\n"
    "[rule \"numbers\"]\napi = syscall:openat\nwhen = path ~ /dev/null\nkeep = path\n"
    "[rule \"number-limit\"]\napi = syscall:openat\nlimit = 2/10h\n"
    "[rule \"sockets\"]\napi = connect\nkeep = addr, addr.port, addr.family\n"
    "[rule \"sizes\"]\napi = lseek\nwhen = arg1 == -1\nkeep = arg2.long, arg3\n"
    "[rule \"limited\"]\napi = open:1\nwhen = path ~ /dev/null\nlimit = 1/10h\nkeep = arg\n";

TEST(values_are_kept)
{
    char *text;
    struct json *report = audit(values, "-q", NULL);
    CHECK_EQ(calls_of(report, "files", "path", "/dev/null"), NULL_OPENS);
    CHECK_EQ(calls_of(report, "files", "path", "/dev/zero"), ZERO_OPENS);
    CHECK_EQ(calls_of(report, "files", "flags", "0"), NULL_OPENS);
    CHECK_EQ(calls_of(report, "files", "flags", "1"), ZERO_OPENS);
    CHECK_EQ(calls_of(report, "files", "path", NULL), 0);
    CHECK_EQ(position_of(report, "files", "path"), 1);
    CHECK_EQ(position_of(report, "files", "flags"), 2);
    CHECK_EQ(position_of(report, "from-folder", "file"), 2);
    CHECK_EQ(calls_of(report, "from-folder", "path", "/dev/full"), FOLDER_OPENS);
    CHECK_EQ(calls_of(report, "from-folder", "file", "full"), FOLDER_OPENS);
    CHECK_EQ(calls_of(report, "numbers", "path", "/dev/null"), NUMBER_OPENS);
    CHECK_EQ(calls_of(report, "limited", "arg", "/dev/null"), NULL_OPENS);
    int64_t over = 0;
    JSON_EACH(call, json_need(report, "calls"))
    {
        if (strcmp(json_text(call, "rule_name"), "number-limit") == 0) {
            over += json_int(call, "over_limit");
        }
    }
    CHECK_EQ(over, NUMBER_OPENS - 2);
    CHECK_EQ(calls_of(report, "sockets", "addr", "192.0.2.1:9"), IP_CONNECTS);
    CHECK_EQ(calls_of(report, "sockets", "addr", "[::1]:8"), 1);
    CHECK_EQ(calls_of(report, "sockets", "addr", "/no/such/socket"), 1);
    CHECK_EQ(calls_of(report, "sockets", "addr", "@hidden"), 1);
    CHECK_EQ(calls_of(report, "sockets", "addr", "@two@parts"), 1);
    CHECK_EQ(calls_of(report, "sockets", "addr", "(unnamed)"), 1);
    CHECK_EQ(calls_of(report, "sockets", "addr", "(an address of family 16)"), 1);
    CHECK_EQ(calls_of(report, "sockets", "addr.family", "16"), 1);
    CHECK_EQ(calls_of(report, "sockets", "addr.family", "2"), IP_CONNECTS);
    CHECK_EQ(calls_of(report, "sockets", "addr.port", "(none)"), 6); /* without IP */
    CHECK_EQ(calls_of(report, "sizes", "arg2.long", "0x123456789a"), 1);
    CHECK_EQ(calls_of(report, "sizes", "arg3", "-7"), 1);
    CHECK_EQ(calls_of(report, "sockets", "addr", "(none)"), 1);
    CHECK_EQ(calls_of(report, "sockets", "addr", "(could not be read)"), 1);
    CHECK_EQ(calls_of(report, "sockets", "addr.port", "9"), IP_CONNECTS);
    check_all_sums(report);
    json_free(report);
    report = audit(values, "--color=never", &text);
    CHECK_CONTAINS(text, "; each counts once for each rule with when, limit or keep\n");
    CHECK_CONTAINS(text, "\n    path: /dev/null  (3 calls)\n    flags: 0  (3 calls)\n");
    CHECK_CONTAINS(text, "\n  path: /dev/null  (3 calls), /dev/zero  (2 calls)\n  flags: 0  (3 ");
    free(text);
    json_free(report);
}

static const char many[] =
    "[rule \"many\"]\napi = getenv\nwhen = name ~ MANY_*\nkeep = name\n"
    "[rule \"long\"]\napi = getenv\nwhen = name ~ LONG_*\nkeep = name\n"
    "[rule \"edge\"]\napi = getenv\nwhen = name ~ EDGE_*\nkeep = name\n"
    "[rule \"weights\"]\napi = getenv\nwhen = name ~ WEIGHT_*\nkeep = name\n"
    "[rule \"odd\"]\napi = getenv\nwhen = name ~ ODD_*\nkeep = name\n"
    "[rule \"empty\"]\napi = getenv:1\nwhen = name !~ ?*\nkeep = arg\n"
    "[rule \"threads\"]\napi = getenv\nwhen = name ~ THREAD_*\nkeep = name\n";

/* A text that just fits, and one that is a byte longer. */
static void check_edge(const struct json *arguments)
{
    unsigned whole = 0, cut = 0;
    JSON_EACH(argument, arguments)
    {
        const char *value = json_text(argument, "value");
        whole += strlen(value) == EDGE_SIZE && value[EDGE_SIZE - 1] == 'y';
        cut += strlen(value) == EDGE_SIZE + 3 && strcmp(value + EDGE_SIZE, "...") == 0;
    }
    CHECK_EQ(whole, 1);
    CHECK_EQ(cut, 1);
}

/* Of a finding, the most frequent value comes first. */
static void check_order(const struct json *report, const char *rule)
{
    unsigned findings = 0;
    JSON_EACH(call, json_need(report, "calls"))
    {
        int64_t count = WEIGHTS;
        if (strcmp(json_text(call, "rule_name"), rule) == 0) {
            JSON_EACH(argument, json_need(call, "arguments"))
            {
                CHECK_EQ(json_int(argument, "count"), count--);
            }
            findings++;
        }
    }
    CHECK_EQ(findings, 1);
}

TEST(many_values_are_bounded_and_counted)
{
    struct json *report = audit(many, "-q", NULL);
    unsigned kept = 0;
    JSON_EACH(argument, json_need(rule_named(report, "many"), "arguments"))
    {
        kept += json_get(argument, "value") != NULL;
    }
    CHECK_EQ(kept, 15);
    CHECK_EQ(calls_of(report, "many", "name", NULL), MANY_NAMES - 15);
    const struct json *longest = json_need(rule_named(report, "long"), "arguments")->first;
    CHECK_EQ(json_int(longest, "count"), LONG_NAMES);
    size_t size = strlen(json_text(longest, "value"));
    CHECK(size > 200 && size < 250);
    CHECK_STR(json_text(longest, "value") + size - 3, "...");
    check_edge(json_need(rule_named(report, "edge"), "arguments"));
    check_order(report, "weights");
    CHECK_EQ(json_int(json_need(rule_named(report, "odd"), "arguments")->first, "count"), 1);
    CHECK_EQ(calls_of(report, "empty", "arg", "\"\""), 1);
    for (unsigned i = 0; i < 10; i++) {
        char name[32];
        snprintf(name, sizeof name, "THREAD_%u", i);
        CHECK_EQ(calls_of(report, "threads", "name", name), THREADS * THREAD_ASKS / 10);
    }
    check_all_sums(report);
    json_free(report);
}

static const char hostile[] =
    "[rule \"bad\"]\napi = access\nkeep = file, path\n"
    "[rule \"raced\"]\napi = faccessat\nkeep = path, file\n"
    "[rule \"raced-if\"]\napi = faccessat\nwhen = file ~ RACE_1\nkeep = file\n";

TEST(pointers_that_cannot_be_read_are_values_too)
{
    char *text;
    struct json *report = audit(hostile, "--color=never", &text);
    CHECK_EQ(calls_of(report, "bad", "file", "(none)"), BAD_ACCESSES);
    CHECK_EQ(calls_of(report, "bad", "file", "(could not be read)"), 2 * BAD_ACCESSES);
    CHECK_EQ(calls_of(report, "bad", "path", "(none)"), BAD_ACCESSES);
    CHECK_EQ(json_int(rule_named(report, "raced"), "calls"), RACED_ACCESSES);
    CHECK(json_int(rule_named(report, "raced-if"), "calls") <= RACED_ACCESSES);
    check_all_sums(report);
    free(text);
    json_free(report);
}

/* As all texts of a report, values are without what its rules of privacy remove. */
TEST(values_are_scrubbed)
{
    static const char rules[] = "[rule \"s\"]\napi = connect\nkeep = addr\n"
                                "[rule \"t\"]\napi = getenv\nwhen = name ~ SECRET_*\nkeep = name\n";
    struct json *report = audit(rules, "--scrub=ip", NULL);
    CHECK_EQ(calls_of(report, "s", "addr", "192.0.2.1:9"), 0);
    CHECK_EQ(calls_of(report, "s", "addr", "<ip>:9"), IP_CONNECTS);
    CHECK_EQ(calls_of(report, "t", "name", "SECRET_token=***"), 1);
    check_all_sums(report);
    json_free(report);
}

TEST(sarif_has_the_values)
{
    struct json *report = audit(values, "-q", NULL);
    json_free(report);
    const char *const export[] = {
        program_sonde(),        "export", "--format", "sarif", "--no-network",
        path_of("audit.sonde"), NULL};
    struct test_run exported = test_run(export, NULL, NULL, 60);
    CHECK_EQ(exported.status, 0);
    CHECK_CONTAINS(exported.out, "/dev/zero");
    report = json_parse(exported.out);
    int64_t results = 0, rules = 0;
    const struct json *run = json_need(report, "runs")->first;
    JSON_EACH(result, json_need(run, "results"))
    {
        const struct json *arguments = json_get(json_need(result, "properties"), "arguments");
        results += arguments != NULL && arguments->count != 0;
    }
    JSON_EACH(rule, json_need(json_need(json_need(run, "tool"), "driver"), "rules"))
    {
        rules += json_get(json_need(rule, "properties"), "arguments") != NULL;
    }
    CHECK(results >= 5);
    CHECK_EQ(rules, 6);
    json_free(report);
    test_run_done(&exported);
}

TEST(words_that_are_not_known_are_refused)
{
    static const struct {
        const char *rule, *error;
    } wrong[] = {
        {"api = open\nkeep = path, paths\n", ":3:14: expected an argument that is known of open "},
        {"api = open, connect\nkeep = path\n",
         ":3:8: expected an argument that is known of connect"},
        {"api = f\nkeep = arg7\n", ":3:8: expected an argument that is known of f "},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[200];
        const char *path = path_of("rules.ini");
        snprintf(text, sizeof text, "[rule \"x\"]\n%s", wrong[i].rule);
        test_write_file(path, text, strlen(text));
        const char *const argv[] = {program_sonde(), "audit", "compile", path, NULL};
        struct test_run run = test_run(argv, NULL, NULL, 60);
        CHECK_EQ(run.status, 6);
        CHECK_CONTAINS(run.err, wrong[i].error);
        test_run_done(&run);
    }
}
