// SPDX-License-Identifier: Apache-2.0
/* The option parser. What it answers is written as a line: "1 2=20 <4711> end". */
#include <string.h>

#include "cli.h"
#include "test.h"

const struct sonde__cli_program sonde__cli_program = {.name = "sonde", .about = ""};

static char answer[256];

/* "2=5 ": the option by its number, and its value. */
static const char *note(const struct sonde__cli_option *option, const char *value, void *member)
{
    size_t used = strlen(answer);
    (void)member;
    snprintf(answer + used, sizeof answer - used, "%u%s%s ", (unsigned)option->min,
             value != NULL ? "=" : "", value != NULL ? value : "");
    return NULL;
}

static const struct sonde__cli_option options[] = {
    {"json", 'j', NULL, "a flag", note, .min = 1},
    {"depth", 'd', "N", "takes a value", note, .min = 2},
    {"deep", 0, NULL, "begins as the other one", note, .min = 3},
    {0},
};
static const struct sonde__cli_command plain = {
    .name = "plain", .usage = "", .about = "", .options = options};
static const struct sonde__cli_command before = {
    .name = "before", .usage = "", .about = "", .options = options, .options_before_operand = true};

static const char *parse(const struct sonde__cli_command *command, const char *line)
{
    static char words[256];
    char *argv[16] = {words};
    int argc = 0;
    struct sonde__cli_operands operands;
    answer[0] = '\0';
    strcpy(words, line);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    int exit_code = sonde__cli_parse(command, argc, argv, answer, &operands);
    for (unsigned i = 0; i < operands.count; i++) {
        size_t used = strlen(answer);
        snprintf(answer + used, sizeof answer - used, "<%s> ", operands.list[i]);
    }
    size_t used = strlen(answer);
    if (exit_code == SONDE__CLI_GO_ON) {
        CHECK(operands.list[operands.count] == NULL);
        snprintf(answer + used, sizeof answer - used, "end");
    } else {
        snprintf(answer + used, sizeof answer - used, "stop=%d", exit_code);
    }
    return answer;
}

TEST(options_in_every_spelling)
{
    CHECK_STR(parse(&plain, "v"), "end");
    CHECK_STR(parse(&plain, "v --json"), "1 end");
    CHECK_STR(parse(&plain, "v --depth 5 --depth=6 -d 7 -d8"), "2=5 2=6 2=7 2=8 end");
    CHECK_STR(parse(&plain, "v --depth="), "2= end");
    CHECK_STR(parse(&plain, "v --depth=a=b"), "2=a=b end");
    CHECK_STR(parse(&plain, "v --deep"), "3 end");
    CHECK_STR(parse(&plain, "v -jj -jd9 -jd 10"), "1 1 1 2=9 1 2=10 end");
    CHECK_STR(parse(&plain, "v 4711 --json x"), "1 <4711> <x> end");
    CHECK_STR(parse(&plain, "v - -- --json -j --"), "<-> <--json> <-j> <--> end");
    CHECK_STR(parse(&plain, "v --depth -- -j"), "2=-- 1 end");
}

TEST(options_end_at_the_first_operand_of_run)
{
    CHECK_STR(parse(&before, "v -j cmd -j --depth"), "1 <cmd> <-j> <--depth> end");
    CHECK_STR(parse(&before, "v -j -- -cmd -j"), "1 <-cmd> <-j> end");
    CHECK_STR(parse(&before, "v cmd -- x"), "<cmd> <--> <x> end");
}

TEST(wrong_options_stop)
{
    CHECK_STR(parse(&plain, "v --dep 3"), "stop=2");
    CHECK_STR(parse(&plain, "v --json=1"), "stop=2");
    CHECK_STR(parse(&plain, "v --depth"), "stop=2");
    CHECK_STR(parse(&plain, "v -d"), "stop=2");
    CHECK_STR(parse(&plain, "v -jx"), "1 stop=2");
    CHECK_STR(parse(&plain, "v --=3"), "stop=2");
    CHECK_STR(parse(&plain, "v ---json"), "stop=2");
}

TEST(numbers)
{
    uint64_t value = 77;
    CHECK(sonde__cli_parse_uint("0", 0, &value));
    CHECK_EQ(value, 0);
    CHECK(sonde__cli_parse_uint("18446744073709551615", UINT64_MAX, &value));
    CHECK_EQ(value, UINT64_MAX);
    CHECK(!sonde__cli_parse_uint("18446744073709551616", UINT64_MAX, &value));
    CHECK(!sonde__cli_parse_uint("99999999999999999999999", UINT64_MAX, &value));
    CHECK(sonde__cli_parse_uint("10", 10, &value));
    CHECK_EQ(value, 10);
    CHECK(!sonde__cli_parse_uint("11", 10, &value));
    CHECK(!sonde__cli_parse_uint("7", 3, &value));
    CHECK(!sonde__cli_parse_uint("", 10, &value));
    CHECK(!sonde__cli_parse_uint("-1", 10, &value));
    CHECK(!sonde__cli_parse_uint("+1", 10, &value));
    CHECK(!sonde__cli_parse_uint(" 1", 10, &value));
    CHECK(!sonde__cli_parse_uint("1 ", 10, &value));
    CHECK(!sonde__cli_parse_uint("0x1", 10, &value));
    CHECK_EQ(value, 10);
}

TEST(durations)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {{"0s", 0},
                {"1ns", 1},
                {"250ms", 250000000},
                {"1.5s", 1500000000},
                {"0.25ms", 250000},
                {"2m", 120000000000},
                {"1h", 3600000000000},
                {"10us", 10000},
                {"1.000000001s", 1000000001},
                {"2562047h", 2562047 * 3600000000000u}};
    static const char *const bad[] = {"",
                                      "s",
                                      "5",
                                      "5 s",
                                      "-5s",
                                      "5S",
                                      "1.2.3s",
                                      ".5s",
                                      "1e3s",
                                      "5ss",
                                      "0x5s",
                                      "5124096h",
                                      "18446744073709551616ns",
                                      "99999999999999999999s"};
    uint64_t ns = 7;
    for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (!sonde__cli_parse_duration(good[i].text, &ns) || ns != good[i].ns) {
            FAIL("%s: %llu", good[i].text, (unsigned long long)ns);
        }
    }
    ns = 7;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (sonde__cli_parse_duration(bad[i], &ns) || ns != 7) {
            FAIL("%s was taken: %llu", bad[i], (unsigned long long)ns);
        }
    }
}
