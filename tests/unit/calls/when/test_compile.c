// SPDX-License-Identifier: Apache-2.0
/* Conditions as text, against the same condition in C. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "audit_when.h"
#include "os.h"
#include "test.h"

static struct sonde__when when;
static uint32_t argument; /* that a rule names by NAME:N */

static const char *compile(const char *text, const char *function, uint16_t *ret_node,
                           size_t *ret_at)
{
    struct sonde__audit_when to = {&when, 0};
    memset(&when, 0, sizeof when);
    return sonde__audit_when_compile(&to, text, function, argument, ret_node, ret_at);
}

static enum sonde__when_result result(const char *text, const char *function,
                                      const uint64_t *arguments)
{
    uint16_t node;
    size_t at;
    const char *wrong = compile(text, function, &node, &at);
    if (wrong != NULL) {
        FAIL("%s: %s at %zu", text, wrong, at);
    }
    CHECK(sonde__when_check(&when, 1));
    return sonde__when_holds(&when, node, arguments);
}

static bool holds(const char *text, const char *function, const uint64_t *arguments)
{
    return result(text, function, arguments) == SONDE__WHEN_YES;
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

/* open() and openat() of a path. */
static bool is_path(const char *condition, int folder, const char *path)
{
    const uint64_t open[6] = {(uint64_t)(uintptr_t)path};
    const uint64_t openat[6] = {(uint32_t)folder, (uint64_t)(uintptr_t)path};
    bool at = holds(condition, "openat", openat);
    if (folder == AT_FDCWD) {
        CHECK_EQ(holds(condition, "open", open), at);
    }
    return at;
}

TEST(paths_are_made_absolute)
{
    int etc = open("/etc", O_RDONLY | O_DIRECTORY), root = open("/", O_RDONLY | O_DIRECTORY);
    CHECK(etc >= 0 && root >= 0);
    char is_at[8];
    bool is_other = sonde__os_folder(root, is_at, sizeof is_at) != 1; /* emulators have their own */
    CHECK_EQ(chdir("/usr"), 0);
    char home[] = "HOME=/srv/kim/", *variables[] = {home, NULL}, **before = environ;
    environ = variables;
    CHECK(is_path("path ~ /etc/passwd", AT_FDCWD, "/etc/passwd"));
    CHECK(is_path("path ~ /etc/passwd", AT_FDCWD, "//etc/./x/..//passwd/"));
    CHECK(is_path("path ~ /etc/passwd", AT_FDCWD, "../etc/passwd"));
    CHECK(is_path("path ~ /usr/share/x", AT_FDCWD, "share/x"));
    CHECK(is_path("path ~ /etc/passwd", AT_FDCWD, "/../../etc/passwd"));
    CHECK(!is_path("path ~ /etc/passwd", AT_FDCWD, "passwd"));
    CHECK(!is_path("path ~ /etc/passwd", AT_FDCWD, "/etc/passwd.d"));
    CHECK(!is_path("path ~ /etc/passwd", AT_FDCWD, ""));
    CHECK(is_path("path ~ /etc/passwd", etc, "passwd"));
    CHECK(is_other || is_path("path ~ /etc/passwd", root, "etc/passwd"));
    CHECK(is_path("path ~ /usr/lib", etc, "../usr/lib"));
    CHECK(is_path("path ~ /etc", etc, ""));
    CHECK(!is_path("path ~ /usr/passwd", etc, "passwd"));
    CHECK(is_other || is_path("path ~ /", root, ".."));
    CHECK(is_path("path ~ /etc/*", etc, "a") && !is_path("path ~ /etc/*", etc, "a/b"));
    CHECK(is_path("path ~ /etc/**", etc, "a/b") && is_path("path ~ **/b", etc, "a/b"));
    CHECK(is_path("path ~ ~/.ssh/**", AT_FDCWD, "/srv/kim/.ssh/id"));
    CHECK(!is_path("path ~ ~/.ssh/**", AT_FDCWD, "/srv/lee/.ssh/id"));
    CHECK(is_path("path !~ /etc/**", AT_FDCWD, "x") && !is_path("path !~ /etc/**", etc, "x"));
    const uint64_t old[] = {1, (uint32_t)etc, (uint64_t)(uintptr_t) "a", 0, 0, 0};
    CHECK(holds("path ~ /etc/a", "__fxstatat", old));
    const uint64_t rename[] = {
        (uint32_t)root, (uint64_t)(uintptr_t) "a", (uint32_t)etc, (uint64_t)(uintptr_t) "b", 0, 0};
    CHECK(is_other ||
          holds("path ~ /a && to.path ~ /etc/b && arg4.path ~ /etc/b", "renameat", rename));
    close(etc);
    close(root);
    environ = before;
}

TEST(what_is_unknown_is_said)
{
    static char longest[SONDE__WHEN_STRING + 1];
    memset(longest, 'a', SONDE__WHEN_STRING);
    const uint64_t closed[6] = {999, (uint64_t)(uintptr_t) "a"};
    const uint64_t bad[6] = {(uint64_t)AT_FDCWD, 8},
                   too_long[6] = {0, (uint64_t)(uintptr_t)longest};
    const char *const conditions[] = {"path ~ /**", "path !~ /x", "!(path ~ /x)",
                                      "flags == 0 && path ~ /**"};
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        CHECK_EQ(result(conditions[i], "openat", closed), SONDE__WHEN_UNREAD);
        CHECK_EQ(result(conditions[i], "openat", bad), SONDE__WHEN_UNREAD);
        CHECK_EQ(result(conditions[i], "openat", too_long), SONDE__WHEN_UNREAD);
    }
    CHECK_EQ(result("path ~ /x || flags == 0", "openat", bad), SONDE__WHEN_YES);
    CHECK_EQ(result("flags == 1 && path ~ /x", "openat", bad), SONDE__WHEN_NO);
    CHECK_EQ(result("path ~ /x", "openat", (const uint64_t[6]){0}), SONDE__WHEN_NO);
}

/* connect(), sendto() and sendmsg() to an address. */
static enum sonde__when_result to_address(const char *condition, const void *address, uint32_t size)
{
    struct msghdr message = {.msg_name = (void *)(uintptr_t)address, .msg_namelen = size};
    const uint64_t at = (uint64_t)(uintptr_t)address;
    const uint64_t connect[6] = {3, at, size}, sendto[6] = {3, 0, 0, 0, at, size};
    const uint64_t sendmsg[6] = {3, (uint64_t)(uintptr_t)&message};
    enum sonde__when_result found = result(condition, "connect", connect);
    CHECK_EQ(result(condition, "bind", connect), found);
    CHECK_EQ(result(condition, "sendto", sendto), found);
    CHECK_EQ(result(condition, "sendmsg", sendmsg), found);
    return found;
}

static bool is_ip(const char *condition, const char *ip, uint16_t port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    bool is_ip4 = inet_pton(AF_INET, ip, &in.sin_addr) == 1;
    CHECK(is_ip4 || inet_pton(AF_INET6, ip, &in6.sin6_addr) == 1);
    return (is_ip4 ? to_address(condition, &in, sizeof in)
                   : to_address(condition, &in6, sizeof in6)) == SONDE__WHEN_YES;
}

TEST(addresses_are_in_networks)
{
    CHECK(is_ip("addr in (127.0.0.0/8, ::1)", "127.4.5.6", 1));
    CHECK(is_ip("addr in (127.0.0.0/8, ::1)", "::1", 1));
    CHECK(!is_ip("addr in (127.0.0.0/8, ::1)", "128.0.0.1", 1));
    CHECK(!is_ip("addr in (127.0.0.0/8, ::1)", "::2", 1));
    CHECK(is_ip("addr in (127.0.0.0/8)", "::ffff:127.0.0.1", 1));
    CHECK(is_ip("addr == ::ffff:10.0.0.0", "10.0.0.0", 1));
    CHECK(is_ip("!addr in (10.0.0.0/9)", "10.128.0.0", 1));
    CHECK(!is_ip("!addr in (10.0.0.0/9)", "10.127.255.255", 1));
    CHECK(is_ip("addr in (0.0.0.0/0)", "1.2.3.4", 1) && !is_ip("addr in (0.0.0.0/0)", "::1", 1));
    CHECK(is_ip("addr in (::/0)", "::1", 1) && !is_ip("addr in (::/0)", "1.2.3.4", 1));
    CHECK(is_ip("addr in (2001:db8::/33)", "2001:db8:7fff::", 1));
    CHECK(!is_ip("addr in (2001:db8::/33)", "2001:db8:8000::", 1));
    CHECK(is_ip("addr.port == 443 && addr.family == AF_INET6", "::1", 443));
    CHECK(!is_ip("addr.port == 443", "::1", 444) && is_ip("addr.port < 1024", "1.2.3.4", 1023));
    CHECK(is_ip("addr != 1.2.3.4", "1.2.3.5", 1) && !is_ip("addr != 1.2.3.4", "1.2.3.4", 1));
    CHECK(is_ip("addr.family in (AF_INET, AF_INET6) && !addr in (127.0.0.0/8, ::1)", "9.9.9.9", 1));
}

TEST(addresses_that_are_none)
{
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct sockaddr_in in = {.sin_family = AF_INET};
    CHECK_EQ(to_address("addr.family == AF_UNIX", &path, sizeof path), SONDE__WHEN_YES);
    CHECK_EQ(to_address("!addr in (1.2.3.4)", &path, sizeof path), SONDE__WHEN_YES);
    CHECK_EQ(to_address("addr.port != 7", &path, sizeof path), SONDE__WHEN_NO);
    const char *const both[] = {"addr in (0.0.0.0/0)", "!addr in (0.0.0.0/0)", "addr.port == 0",
                                "addr.port != 0", "addr.family != AF_INET"};
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        CHECK_EQ(to_address(both[i], NULL, sizeof in), SONDE__WHEN_NO);
        CHECK_EQ(to_address(both[i], &in, 0), SONDE__WHEN_NO);
        CHECK_EQ(to_address(both[i], &in, 1), SONDE__WHEN_UNREAD);
        CHECK_EQ(to_address(both[i], &in, 7), SONDE__WHEN_UNREAD);
        CHECK_EQ(to_address(both[i], (void *)8, sizeof in), SONDE__WHEN_UNREAD);
    }
    const uint64_t no_message[6] = {3, 8};
    CHECK_EQ(result("addr in (::/0)", "sendmsg", no_message), SONDE__WHEN_UNREAD);
}

TEST(an_argument_may_be_named_by_number)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(53)};
    const uint64_t open[6] = {(uint64_t)(uintptr_t) "/etc/x", O_RDWR};
    const uint64_t connect[6] = {3, (uint64_t)(uintptr_t)&in, sizeof in};
    argument = 1;
    CHECK(holds("arg ~ /etc/* && arg.path ~ /etc/x", "open", open));
    CHECK(holds("arg.text ~ /etc/*", "anything", open));
    CHECK(holds("arg ~ /etc/*", "__xstat", (const uint64_t[6]){1, open[0]}));
    argument = 2;
    CHECK(holds("arg == O_RDWR", "open", open) && !holds("arg == O_RDONLY", "open", open));
    CHECK(holds("arg.port == 53 && arg in (0.0.0.0/8)", "connect", connect));
    argument = 0;
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
    {"path ~ x", "getenv", 0, "expected an argument that is known"},
    {"path ~ x*", "open", 7, "expected a path's pattern, which begins with"},
    {"path ~ /x/", "open", 7, "without //"},
    {"path ~ /x/../y", "open", 7, "without //"},
    {"path == 1", "open", 5, "expected ~ or !~"},
    {"arg1.path ~ /x", "someat", 0, "expected an argument that is known"},
    {"path ~ /x", "dlopen", 0, "expected an argument that is known"},
    {"arg == 1", "open", 0, "expected an argument that is known"},
    {"flags.port == 1", "open", 0, "expected an argument that is known"},
    {"addr", "connect", 4, "expected ==, != or in"},
    {"addr == 1.2.3", "connect", 8, "expected an address or a network"},
    {"addr in 1.2.3.4", "connect", 8, "expected ("},
    {"addr in (1.2.3.4/33)", "connect", 17, "expected 0 to 32 bits"},
    {"addr in (1.2.3.4/)", "connect", 17, "expected 0 to 32 bits"},
    {"addr in (::/129)", "connect", 12, "expected 0 to 128 bits"},
    {"addr in (10.0.0.1/8)", "connect", 9, "expected a network whose other bits are 0"},
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
