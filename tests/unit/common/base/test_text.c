// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base_status.h"
#include "base_text.h"
#include "test.h"

TEST(formats_numbers)
{
    char data[64];
    struct sonde__text text;
    sonde__base_text_init(&text, data, sizeof data);
    sonde__base_text_dec(&text, UINT64_MAX);
    sonde__base_text_char(&text, ' ');
    sonde__base_text_hex(&text, 0xbeef, 8);
    sonde__base_text_char(&text, ' ');
    sonde__base_text_hex(&text, 0, 0);
    CHECK_STR(data, "18446744073709551615 0000beef 0");
    CHECK(!text.cut);
}

TEST(truncates_text_at_the_end)
{
    char data[5];
    struct sonde__text text;
    sonde__base_text_init(&text, data, sizeof data);
    sonde__base_text_str(&text, "abcdef");
    CHECK_STR(data, "abcd");
    CHECK(text.cut);
}

TEST(file_name_is_what_follows_the_last_slash)
{
    CHECK_STR(sonde__base_file_name("/usr/lib/libc.so.6"), "libc.so.6");
    CHECK_STR(sonde__base_file_name("libc.so.6"), "libc.so.6");
    CHECK_STR(sonde__base_file_name("/usr/lib/"), "");
    CHECK_STR(sonde__base_file_name(""), "");
}

TEST(status_has_names_and_texts)
{
    struct sonde_error error;
    char detail[400];
    memset(detail, 'x', sizeof detail - 1);
    detail[sizeof detail - 1] = '\0';
    CHECK_STR(sonde_status_name(SONDE_DENIED), "DENIED");
    CHECK_STR(sonde_status_name((enum sonde_status)999), "UNKNOWN");
    CHECK_EQ(sonde__base_fail(&error, SONDE_CORRUPT, "file", "bad", 5, 9), SONDE_CORRUPT);
    CHECK_STR(error.what, "file: bad");
    CHECK_EQ(error.os_error, 5);
    CHECK_EQ(error.at, 9);
    CHECK_EQ(sonde__base_fail(&error, SONDE_OS, "file", detail, 0, 0), SONDE_OS);
    CHECK_EQ(strlen(error.what), sizeof error.what - 1);
    CHECK_EQ(sonde__base_fail(NULL, SONDE_OS, "x", NULL, 0, 0), SONDE_OS);
}

static void check_end(const char *whole, size_t room, const char *expected)
{
    char buffer[32];
    struct sonde__text text;
    sonde__base_text_init(&text, buffer, room);
    sonde__base_text_str(&text, whole);
    sonde__base_text_end_whole(&text);
    CHECK_STR(buffer, expected);
    CHECK_EQ(text.length, strlen(expected));
}

TEST(a_cut_leaves_no_part_of_a_letter)
{
    check_end("lon\xc3\xbc", 6, "lon\xc3\xbc");
    check_end("lon\xc3\xbc", 5, "lon");
    check_end("ab\xe2\x82\xac", 5, "ab");
    check_end("ab\xe2\x82\xac", 4, "ab");
    check_end("ab\xe2\x82\xac", 6, "ab\xe2\x82\xac");
    check_end("\xf0\x9f\x98\x80z", 5, "\xf0\x9f\x98\x80");
    check_end("\xf0\x9f\x98\x80z", 4, "");
    check_end("plain", 4, "pla");
    check_end("", 4, "");
    check_end("\x80\x80\x80\x80", 5, "\x80\x80\x80\x80"); /* no letter was cut */
}
