// SPDX-License-Identifier: Apache-2.0
/* Lists of functions, as people and others write them. */
#include "audit_list.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "test.h"

static struct sonde__audit_list list;
static struct sonde_error error;

/* The text stays as long as the names. */
static enum sonde_status parse(const char *text)
{
    static char copy[32768];
    CHECK(strlen(text) < sizeof copy);
    strcpy(copy, text);
    return sonde__audit_list_parse(copy, NULL, &list, &error);
}

TEST(names_comments_and_spaces)
{
    CHECK_OK(parse("# all of them\n\n getenv \t\r\nopen64# and this\n\t_ZN3fooEv\n-[A b:c:]  # x\n"
                   "+[A b]\ngetenv\nlast.part$1"));
    CHECK_EQ(list.count, 6);
    static const char *const names[] = {"getenv",    "open64", "_ZN3fooEv",
                                        "-[A b:c:]", "+[A b]", "last.part$1"};
    for (uint32_t i = 0; i < list.count; i++) {
        CHECK_STR(list.names[i], names[i]);
    }
    CHECK_OK(parse("a\nb"));
}

TEST(invalid_names_are_reported_with_their_line)
{
    static const char *const bad[] = {"1st",   "two words", "a,b",     "a-b",    "-[A b",
                                      "[A b]", "a\x80",     "a;",      "a/b",    "-[A b c]",
                                      "\x01",  "a b # c",   "+[A b]c", "/bin/x", "@b"};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "getenv\n# c\n%s\nopen\n", bad[i]);
        CHECK_EQ(parse(text), SONDE_CORRUPT);
        CHECK_EQ(error.at, 3);
    }
    CHECK_EQ(parse(""), SONDE_ABSENT);
    CHECK_EQ(parse("\n\n#\n  \n"), SONDE_ABSENT);
}

/* One blank before each. */
TEST(columns_and_what_was_expected)
{
    static const struct {
        const char *line, *what;
    } flaws[] = {
        {" 1st", "column 2: expected the name of a function: 1st"},
        {"\ttwo words", "column 5: expected a letter, a digit, _ $ . * or ?: two words"},
        {"-[A b", "column 1: expected -[Class selector] or +[Class selector]: -[A b"},
        {"syscall:foo", "column 9: no system call of this name here: syscall:foo"},
        {"a@b@c", "column 2: expected a letter"},
        {"ns::f(int);", "column 11: expected a character of a C++ name, * or ?"},
    };
    for (unsigned i = 0; i < sizeof flaws / sizeof flaws[0]; i++) {
        CHECK_EQ(parse(flaws[i].line), SONDE_CORRUPT);
        CHECK_CONTAINS(error.what, flaws[i].what);
        CHECK_EQ(error.at, 1);
    }
}

static void ignore_flaw(void *ctx, uint64_t line, const char *what)
{
    (void)ctx, (void)line, (void)what;
}

static void count_flaw(void *ctx, uint64_t line, const char *what)
{
    CHECK(line == 2 || line == 4);
    CHECK(strncmp(what, "column ", 7) == 0);
    ++*(int *)ctx;
}

TEST(wrong_lines_are_left_out_on_request)
{
    char text[] = "getenv\n1st\nopen\na b\nclose\n";
    int count = 0;
    const struct sonde__audit_list_flaws flaws = {count_flaw, &count};
    CHECK_OK(sonde__audit_list_parse(text, &flaws, &list, &error));
    CHECK_EQ(list.count, 3);
    CHECK_EQ(count, 2);
    char none[] = "x y\n";
    const struct sonde__audit_list_flaws ignored = {ignore_flaw, NULL};
    CHECK_EQ(sonde__audit_list_parse(none, &ignored, &list, &error), SONDE_ABSENT);
}

TEST(versions_and_patterns)
{
    CHECK_OK(parse("realpath@GLIBC_2.3\nglob@@GLIBC_2.27 # c\nSSL_*\nns::f(int, char)\nf?\nopen"));
    CHECK_EQ(list.count, 6);
    CHECK_STR(list.names[0], "realpath@GLIBC_2.3");
    CHECK_STR(list.versions[0], "GLIBC_2.3");
    CHECK_STR(list.names[1], "glob@@GLIBC_2.27");
    CHECK_STR(list.versions[1], "GLIBC_2.27");
    for (uint32_t i = 2; i < list.count; i++) {
        CHECK(list.versions[i] == NULL);
        CHECK_EQ(sonde__audit_list_is_pattern(list.names[i]), i < 5);
    }
}

TEST(system_calls)
{
    CHECK_OK(parse("syscall:openat\nsyscall:futex # both\nopenat\nsyscall\nsyscall:openat\n"));
    CHECK_EQ(list.count, 4);
    CHECK_EQ(sonde__audit_list_number(list.names[0]), SYS_openat);
    CHECK_EQ(sonde__audit_list_number(list.names[1]), SYS_futex);
    CHECK_EQ(sonde__audit_list_number(list.names[2]), -1);
    CHECK_EQ(sonde__audit_list_number(list.names[3]), -1);
    static const char *const bad[] = {"syscall:", "syscall:no_such_call", "syscall:1",
                                      "syscall: openat", "syscall:openat "};
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQ(parse(bad[i]), SONDE_CORRUPT);
        CHECK_CONTAINS(error.what, "no system call of this name");
    }
    CHECK_OK(parse(bad[4]));
}

TEST(long_names)
{
    char text[600];
    memset(text, 'a', sizeof text);
    text[SONDE__AUDIT_NAME_MAX] = '\0';
    CHECK_OK(parse(text));
    text[SONDE__AUDIT_NAME_MAX] = 'a';
    text[SONDE__AUDIT_NAME_MAX + 1] = '\0';
    CHECK_EQ(parse(text), SONDE_CORRUPT);
    for (size_t size = SONDE__AUDIT_METHOD_MAX; size <= SONDE__AUDIT_METHOD_MAX + 1; size++) {
        memset(text, 'a', sizeof text);
        memcpy(text, "-[A ", 4);
        text[size - 1] = ']';
        text[size] = '\0';
        CHECK_EQ(parse(text), size == SONDE__AUDIT_METHOD_MAX ? SONDE_OK : SONDE_CORRUPT);
    }
}

TEST(many_names)
{
    static char text[SONDE__RECORD_FUNCTIONS * 16];
    for (unsigned count = SONDE__RECORD_FUNCTIONS; count <= SONDE__RECORD_FUNCTIONS + 1; count++) {
        size_t used = 0;
        for (unsigned i = 0; i < count; i++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "f%u\nf0\n", i);
        }
        enum sonde_status status = parse(text);
        CHECK_EQ(status, count == SONDE__RECORD_FUNCTIONS ? SONDE_OK : SONDE_LIMIT);
        CHECK_EQ(list.count, SONDE__RECORD_FUNCTIONS);
    }
    /* as many names as there may be, each as long as may be, have room in the shared page */
    CHECK(SONDE__RECORD_FUNCTIONS * (SONDE__AUDIT_METHOD_MAX + 1) <=
          sizeof((struct sonde__record_page *)0)->names);
}
