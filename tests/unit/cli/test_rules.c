// SPDX-License-Identifier: Apache-2.0
/* Files of rules: what is read, and where errors are said to be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem_heap.h"
#include "report_model.h"
#include "rules.h"
#include "rules_ini.h"
#include "test.h"

static char said[8192];

static void print(void *ctx, const char *line)
{
    size_t used = strlen(said);
    (void)ctx;
    snprintf(said + used, sizeof said - used, "%s\n", line);
}

static bool use(void *ctx, const char *name, const struct sonde__rule_place *place)
{
    (void)ctx;
    char line[200];
    snprintf(line, sizeof line, "use %s at %u:%u", name, (unsigned)place->line,
             (unsigned)place->column);
    print(NULL, line);
    return true;
}

static const struct sonde__rules_use user = {use, NULL};

static void read_rules(struct sonde__rules *rules, const char *text)
{
    memset(rules, 0, sizeof *rules);
    rules->print = print;
    said[0] = '\0';
    CHECK(sonde__rules_read(rules, "my/team.ini", text, strlen(text), &user));
    sonde__rules_check(rules);
}

static const char whole[] = "\xef\xbb\xbf; rules\r\n"
                            "[pack]\r\n"
                            "use = linux-identity, ./more.ini\n"
                            "[Rule \"ssh \\\"key\\\"\"] # of a user\n"
                            "  API = open, openat:2,-[C m:n:] , syscall:openat\n"
                            "\tapi = ns::f(int, char), realpath@GLIBC_2.3, SSL_*:3\n"
                            "  when = path ~ \"~/.ssh/**\" && \\\n"
                            "         flags == 0\n"
                            "  class = secret\n"
                            "  severity = high\n"
                            "  keep = path, arg2\n"
                            "  keep = flags\n"
                            "  limit = 3/1.5s\n"
                            "  phase = before consent\n"
                            "  from = !module:libssh*.so, symbol: f \n"
                            "  message = reads a ; comment\n"
                            "[rule \"plain\"]\n"
                            "api = getenv\n"
                            "[sdk \"stat\"]\n"
                            "match = module:libstat*.so\n";

TEST(all_keys_are_read)
{
    struct sonde__rules rules;
    read_rules(&rules, whole);
    CHECK_STR(said, "use linux-identity at 3:7\nuse ./more.ini at 3:23\n");
    CHECK_EQ(rules.errors, 0);
    CHECK_EQ(rules.rule_count, 2);
    const struct sonde__rule *rule = &rules.rules[0];
    CHECK_STR(rule->name, "ssh \"key\"");
    CHECK_STR(rule->pack, "team");
    static const struct {
        const char *name;
        unsigned argument, line, column;
    } apis[] = {{"open", 0, 5, 9},
                {"openat", 2, 5, 15},
                {"-[C m:n:]", 0, 5, 24},
                {"syscall:openat", 0, 5, 36},
                {"ns::f(int, char)", 0, 6, 8},
                {"realpath@GLIBC_2.3", 0, 6, 26},
                {"SSL_*", 3, 6, 46}};
    CHECK_EQ(rule->api_count, sizeof apis / sizeof *apis);
    for (size_t i = 0; i < rule->api_count; i++) {
        CHECK_STR(rule->apis[i].name, apis[i].name);
        CHECK_EQ(rule->apis[i].argument, apis[i].argument);
        CHECK_EQ(rule->apis[i].place.line, apis[i].line);
        CHECK_EQ(rule->apis[i].place.column, apis[i].column);
    }
    CHECK_STR(rule->when.text, "path ~ ~/.ssh/** &&          flags == 0");
    CHECK_STR(rule->category, "secret");
    CHECK_EQ(rule->severity, SONDE__REPORT_SEVERITY_ERROR);
    CHECK_EQ(rule->keep_count, 3);
    CHECK_STR(rule->keeps[1].text, "arg2");
    CHECK_EQ(rule->keeps[1].place.column, 16);
    CHECK_STR(rule->keeps[2].text, "flags");
    CHECK_EQ(rule->limit_count, 3);
    CHECK_EQ(rule->limit_ns, 1500000000);
    CHECK_STR(rule->phase.text, "consent");
    CHECK(rule->is_before_phase);
    CHECK_EQ(rule->from.count, 2);
    CHECK(rule->from.items[0].is_not && !rule->from.items[0].is_symbol);
    CHECK_STR(rule->from.items[0].glob, "libssh*.so");
    CHECK(!rule->from.items[1].is_not && rule->from.items[1].is_symbol);
    CHECK_STR(rule->message, "reads a");
    CHECK_EQ(rule->place.line, 4);
    rule = &rules.rules[1];
    CHECK_EQ(rule->severity, SONDE__REPORT_SEVERITY_WARNING);
    CHECK(rule->when.text == NULL && rule->phase.text == NULL && rule->limit_count == 0);
    CHECK_STR(rule->category, "");
    CHECK_EQ(rules.sdk_count, 1);
    CHECK_STR(rules.sdks[0].match.items[0].glob, "libstat*.so");
    sonde__rules_done(&rules);
}

/* What is wrong, and where; each with one error. "%": the name of the file. */
static const struct {
    const char *text, *error;
} errors[] = {
    {"api = x\n", "1:1: expected a section before the first key: api"},
    {"[rules \"x\"]\napi = y\n", "1:1: expected [pack], [rule \"name\"] or [sdk \"name\"]"},
    {"[rule]\napi = y\n", "1:1: expected a name: [rule \"name\"]"},
    {"[pack \"x\"]\n", "1:1: expected [pack] without a name"},
    {"[rule \"x\"\napi = y\n", "1:10: expected a name in quotes, or ]"},
    {"[rule \"x]\n", "1:10: expected a \" at the end of the name"},
    {"[rule \"x\"] api = y\n", "1:12: expected the end of the line"},
    {"[rule \"x\"]\napi = y\nclass y\n", "3:7: expected = after the key"},
    {"[rule \"x\"]\napi = y\n= 1\n", "3:1: expected a section in brackets, or a key"},
    {"[rule \"x\"]\napi = y\nclass = a\001\n", "3:10: expected text, not a control character"},
    {"[rule \"x\"]\napi = y\nclass = \"a\n", "3:11: expected a \" at the end of the quoted text"},
    {"[rule \"x\"]\napi = y\nclass = a\\q\n",
     "3:11: expected \\\", \\\\, \\n, \\t, or \\ at the end of the line"},
    {"[rule \"x\"]\nclass = y\n", "1:1: expected a key api in the rule x"},
    {"[sdk \"x\"]\n", "1:1: expected a key match in the sdk x"},
    {"[rule \"x\"]\napi = y\nlimits = 1\n",
     "3:1: expected a key of [rule] (api, when, severity, class, message, keep, limit, "
     "phase, from): limits"},
    {"[rule \"x\"]\napi = y\nclass = a\nclass = b\n", "4:1: expected class only once in a section"},
    {"[rule \"x\"]\napi = y\n[rule \"x\"]\napi = z\n",
     "3:1: expected another name: x is also in my/team.ini:1"},
    {"[rule \"x\"]\napi =\n", "2:6: expected the name of a function"},
    {"[rule \"x\"]\napi = a,,b\n", "2:9: expected the name of a function: a,,b"},
    {"[rule \"x\"]\napi = a, 9b\n", "2:10: expected the name of a function: a, 9b"},
    {"[rule \"x\"]\napi = a, \\\n  b-c\n",
     "3:4: expected a letter, a digit, _ $ . * or ?: a,   b-c"},
    {"[rule \"x\"]\napi = open:7\n", "2:12: expected the number of an argument, 1 to 6: open:7"},
    {"[rule \"x\"]\napi = operator<, open\n",
     "2:16: expected ), ] or > before the comma: operator<, open"},
    {"[rule \"x\"]\napi = y\nseverity = bad\n",
     "3:12: expected note, warning or error (or low, medium, high): bad"},
    {"[rule \"x\"]\napi = y\nlimit = 1/2\n", "3:9: expected calls/time, as 1/2s or 100/1m: 1/2"},
    {"[rule \"x\"]\napi = y\nlimit = 0/2s\n", "3:9: expected calls/time, as 1/2s or 100/1m: 0/2s"},
    {"[rule \"x\"]\napi = y\nkeep = a, b, c, d, e\n",
     "3:20: expected at most 4 arguments: a, b, c, d, e"},
    {"[rule \"x\"]\napi = y\nkeep = \n",
     "3:8: expected the names of arguments (path, flags, arg1)"},
    {"[rule \"x\"]\napi = y\nphase = \n", "3:9: expected the name of a phase"},
    {"[rule \"x\"]\napi = y\nphase = before \n", "3:15: expected the name of a phase: before"},
    {"[rule \"x\"]\napi = y\nwhen = \n", "3:8: expected a condition"},
    {"[rule \"x\"]\napi = y\nfrom = !lib\n",
     "3:9: expected module:PATTERN or symbol:PATTERN: !lib"},
    {"[rule \"x\"]\napi = y\nfrom = module:a, symbol:\n",
     "3:25: expected a pattern: module:a, symbol:"},
    {"[rule \"x\"]\napi = y\n; \303\244\303\266 \n\303\244 = 1\n",
     "4:1: expected a section in brackets, or a key"},
    {"[rule \"\303\244\303\266\"] x\n", "1:13: expected the end of the line"},
};

TEST(errors_have_line_column_and_what_was_expected)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct sonde__rules rules;
        char expected[512];
        read_rules(&rules, errors[i].text);
        snprintf(expected, sizeof expected, "my/team.ini:%s\n", errors[i].error);
        CHECK_STR(said, expected);
        CHECK_EQ(rules.errors, 1);
        sonde__rules_done(&rules);
    }
}

TEST(reading_goes_on_after_an_error)
{
    struct sonde__rules rules;
    read_rules(&rules, "[rule \"a\"]\nseverity = loud\napi = 1x, good\nnonsense\n"
                       "[rule \"b\"]\napi = other\n");
    CHECK_EQ(rules.errors, 3);
    CHECK_EQ(rules.rule_count, 2);
    CHECK_EQ(rules.rules[0].api_count, 1);
    CHECK_STR(rules.rules[0].apis[0].name, "good");
    CHECK_STR(rules.rules[1].apis[0].name, "other");
    sonde__rules_done(&rules);
}

TEST(keys_of_a_wrong_section_are_of_no_other)
{
    struct sonde__rules rules;
    read_rules(&rules, "[rule \"a\"]\napi = x\n[rule \"b]\napi = y\nseverity = error\n");
    CHECK_EQ(rules.errors, 1);
    CHECK_EQ(rules.rule_count, 1);
    CHECK_EQ(rules.rules[0].api_count, 1);
    CHECK_EQ(rules.rules[0].severity, SONDE__REPORT_SEVERITY_WARNING);
    sonde__rules_done(&rules);
}

TEST(errors_are_printed_up_to_a_limit)
{
    struct sonde__rules rules;
    char text[4096] = "[rule \"a\"]\napi = x\n";
    for (unsigned i = 0; i < 100; i++) {
        strcat(text, "bad = 1\n");
    }
    read_rules(&rules, text);
    CHECK_EQ(rules.errors, 100);
    unsigned count = 0;
    for (const char *c = said; *c != '\0'; c++) {
        count += *c == '\n';
    }
    CHECK_EQ(count, SONDE__RULES_ERRORS_MAX + 1);
    CHECK_CONTAINS(said, "more errors are not shown");
    sonde__rules_done(&rules);
}

TEST(too_many_rules_are_an_error)
{
    struct sonde__rules rules;
    size_t used = 0;
    char *text = malloc(40 * (SONDE__RULES_MAX + 2));
    for (unsigned i = 0; i <= SONDE__RULES_MAX; i++) {
        used += (size_t)sprintf(text + used, "[rule \"%u\"]\napi = x\n", i);
    }
    read_rules(&rules, text);
    CHECK_EQ(rules.rule_count, SONDE__RULES_MAX);
    CHECK_EQ(rules.errors, 1);
    CHECK_CONTAINS(said, "expected at most 512 rules");
    sonde__rules_done(&rules);
    free(text);
}

TEST(without_memory_nothing_is_leaked)
{
    struct sonde__rules rules = {0};
    unsigned failed = 0;
    for (uint64_t index = 0; index < 64; index++) {
        memset(&rules, 0, sizeof rules);
        sonde__mem_fail_from(index);
        bool is_whole = sonde__rules_read(&rules, "f", whole, sizeof whole - 1, &user);
        sonde__mem_fail_from(UINT64_MAX);
        sonde__rules_done(&rules);
        failed += !is_whole;
        if (is_whole) {
            break;
        }
    }
    CHECK(failed > 3 && failed < 64);
}

/* The oracle of the syntax: git prints "section.name.key\nvalue\0". */
TEST(values_are_those_of_git)
{
    static const char text[] = "[a \"b c\"]\n"
                               "one = plain  text \n"
                               "two = \" kept \" ; not\n"
                               "three = a\"#;\"b # not\n"
                               "four = x\\t\\\"\\\\y\n"
                               "five = first \\\n   second\n"
                               "six =\n"
                               "SEVEN=1\n"
                               "eight = \"a\\\nb\"\n"
                               "nine = end\t \r\n";
    char path[512];
    snprintf(path, sizeof path, "%s/rules.ini", test_folder());
    test_write_file(path, text, sizeof text - 1);
    const char *const argv[] = {"git", "config", "-f", path, "--list", "-z", NULL};
    struct test_run run = test_run(argv, NULL, NULL, 20);
    CHECK_EQ(run.status, 0);
    struct sonde__ini ini = {.text = text, .size = sizeof text - 1};
    static struct sonde__ini_item item;
    const char *git = run.out;
    char line[4200];
    CHECK(sonde__ini_next(&ini, &item) && item.kind == SONDE__INI_SECTION);
    CHECK_STR(item.value, "b c");
    unsigned count = 0;
    while (sonde__ini_next(&ini, &item)) {
        CHECK_EQ(item.kind, SONDE__INI_KEY);
        snprintf(line, sizeof line, "a.b c.%s\n%s", item.word, item.value);
        CHECK_STR(line, git);
        git += strlen(git) + 1;
        count++;
    }
    CHECK_EQ(count, 9);
    CHECK_EQ(git - run.out, (int64_t)run.out_size);
    test_run_done(&run);
}

TEST(every_pack_is_read_together_with_the_others)
{
    static const char *const names[] = {"linux-identity", "linux-secrets", "linux-network",
                                        "linux-devices",  "linux-process", "apple-required-reason",
                                        "ios-privacy"};
    struct sonde__rules rules = {.print = print};
    said[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        size_t size = 0;
        snprintf(path, sizeof path, "%s/packs/%s.ini", test_source_dir(), names[i]);
        char *text = test_read_file(path, &size);
        size_t before = rules.rule_count;
        CHECK(sonde__rules_read(&rules, names[i], text, size, &user));
        CHECK(rules.rule_count > before);
        free(text);
    }
    sonde__rules_check(&rules);
    CHECK_STR(said, "");
    for (size_t i = 0; i < rules.rule_count; i++) {
        CHECK(rules.rules[i].category[0] != '\0' && rules.rules[i].message[0] != '\0');
    }
    sonde__rules_done(&rules);
}
