// SPDX-License-Identifier: Apache-2.0
/* Conditions as text, against the same condition in C. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "audit_when.h"
#include "test.h"

static struct sonde__when when;

static const char *compile(const char *text, const char *function, uint16_t *ret_node,
                           size_t *ret_at)
{
    struct sonde__audit_when to = {&when, 0};
    memset(&when, 0, sizeof when);
    return sonde__audit_when_compile(&to, text, function, ret_node, ret_at);
}

static bool holds(const char *text, const char *function, const uint64_t *arguments)
{
    uint16_t node;
    size_t at;
    const char *wrong = compile(text, function, &node, &at);
    if (wrong != NULL) {
        FAIL("%s: %s at %zu", text, wrong, at);
    }
    CHECK(sonde__when_check(&when, 1));
    return sonde__when_holds(&when, node, arguments) == SONDE__WHEN_YES;
}

/* All values of three small arguments. */
#define AGREES(text, condition)                                                                    \
    do {                                                                                           \
        unsigned yes = 0;                                                                          \
        for (int a = -3; a < 4; a++) {                                                             \
            for (int b = 0; b < 5; b++) {                                                          \
                for (int c = 0; c < 3; c++) {                                                      \
                    const uint64_t arguments[SONDE__WHEN_ARGUMENTS] = {                            \
                        (uint32_t)a | 0xabcd00000000u, (uint64_t)b, (uint64_t)c};                  \
                    CHECK_EQ(holds(text, "f", arguments), (condition));                            \
                    yes += (condition);                                                            \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        CHECK(yes > 0 && yes < 7 * 5 * 3);                                                         \
    } while (0)

TEST(conditions_mean_what_they_mean_in_c)
{
    AGREES("arg1 == -2", a == -2);
    AGREES("arg1 != 2", a != 2);
    AGREES("arg1 < 1", a < 1);
    AGREES("arg1 <= 1", a <= 1);
    AGREES("arg1 > -1", a > -1);
    AGREES("arg1>=-1", a >= -1);
    AGREES("arg2 & 3 == 1", (b & 3) == 1);
    AGREES("arg2 & 3 <= 1", (b & 3) <= 1);
    AGREES("arg2 & 4", (b & 4) != 0);
    AGREES("arg2", b != 0);
    AGREES("!arg2", !b);
    AGREES("arg2 in (1, 3 , 0x4)", b == 1 || b == 3 || b == 4);
    AGREES("!(arg2 in (1,3))", !(b == 1 || b == 3));
    AGREES("arg1 == 1 && arg2 == 2 || arg3 == 1", (a == 1 && b == 2) || c == 1);
    AGREES("arg1 == 1 || arg2 == 2 && arg3 == 1", a == 1 || (b == 2 && c == 1));
    AGREES("(arg1 == 1 || arg2 == 2) && arg3 == 1", (a == 1 || b == 2) && c == 1);
    AGREES("!(arg1 == 1 && !(arg2 > 2 || arg3 < 1))", !(a == 1 && !(b > 2 || c < 1)));
    AGREES("arg1.long == 0xabcd00000002", a == 2);
}

TEST(words_are_arguments_of_the_function)
{
    const char name[] = "AWS_TOKEN";
    const uint64_t open[] = {(uint64_t)(uintptr_t)name, O_RDWR | O_CREAT, 0, 0, 0, 0};
    CHECK(holds("flags & O_ACCMODE == O_RDWR", "open", open));
    CHECK(!holds("flags & O_ACCMODE == O_RDONLY", "open", open));
    CHECK(holds("flags & O_CREAT|O_TRUNC", "open", open));
    CHECK(holds("file ~ AWS_*", "open", open));
    CHECK(!holds("file !~ *TOK*", "open", open));
    CHECK(holds("(name ~ *TOKEN*)&&arg2==2||name ~ *_T*", "getenv", open));
    CHECK(holds("arg1.text ~ AWS?TOKEN", "anything", open));
    const uint64_t old[] = {1, (uint64_t)(uintptr_t)name, 7, 0, 0, 0};
    CHECK(holds("file ~ AWS*", "__xstat", old));
    CHECK(holds("arg1.text ~ AWS* && arg2 == 7", "__xstat", old));
    CHECK(holds("file ~ AWS*", "__lxstat64", old));
    const uint64_t at[] = {1, 3, (uint64_t)(uintptr_t)name, 0, AT_SYMLINK_NOFOLLOW, 0};
    CHECK(holds("file ~ AWS* && flags == 256 && arg1 == 3", "__fxstatat", at));
    CHECK(holds("fd == 3 && arg1 == 3", "__fxstat64", at));
    CHECK(holds("fd == 3", "fstat", at + 1));
    const uint64_t socket[] = {AF_INET6, SOCK_DGRAM, 0, 0, 0, 0};
    CHECK(holds("family in (AF_INET, AF_INET6) && type == SOCK_DGRAM", "socket", socket));
}

static const struct {
    const char *text, *function;
    size_t at;
    const char *expected;
} errors[] = {
    {"", "f", 0, "expected the name of an argument"},
    {"arg7 == 1", "f", 0, "expected an argument that is known"},
    {"flags == 1", "f", 0, "expected an argument that is known"},
    {"arg1 = 1", "f", 5, "expected && or ||, or the end"},
    {"arg1 == ", "f", 8, "expected a number"},
    {"arg1 == 1x", "f", 8, "expected a number"},
    {"arg1 == O_NOTHING", "f", 8, "expected a number, or a constant"},
    {"arg1 == 18446744073709551616", "f", 8, "expected a number of at most 64 bits"},
    {"arg1 == -9223372036854775809", "f", 8, "expected a number of at most 64 bits"},
    {"arg1 == 1 && ", "f", 13, "expected the name of an argument"},
    {"(arg1 == 1", "f", 10, "expected && or || or )"},
    {"arg1 == 1)", "f", 9, "expected && or ||, or the end"},
    {"arg1 in 1", "f", 8, "expected ("},
    {"arg1 in (1 2)", "f", 11, "expected a comma or )"},
    {"arg1.text == 1", "f", 10, "expected ~ or !~"},
    {"arg1.text ~ ", "f", 12, "expected a pattern"},
    {"arg1.long <= 0x7fffffffffffffff", "f", 13, "expected a smaller number"},
};

TEST(errors_say_where_and_what)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        uint16_t node;
        size_t at;
        const char *wrong = compile(errors[i].text, errors[i].function, &node, &at);
        CHECK(wrong != NULL);
        CHECK_CONTAINS(wrong, errors[i].expected);
        CHECK_EQ(at, errors[i].at);
    }
}

TEST(long_and_deep_conditions_are_refused)
{
    static char text[8000];
    uint16_t node;
    size_t at;
    for (unsigned i = 0; i < 300; i++) {
        strcat(text, i == 0 ? "arg1 == 1" : " || arg1 == 1");
    }
    CHECK_CONTAINS(compile(text, "f", &node, &at), "expected a shorter condition");
    memset(text, '(', 100);
    text[100] = '\0';
    CHECK_CONTAINS(compile(text, "f", &node, &at), "expected fewer parentheses");
}
