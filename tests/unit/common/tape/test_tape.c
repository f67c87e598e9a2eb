// SPDX-License-Identifier: Apache-2.0
/* JSON as a tape: its values, and texts that are none. (tests/unit/collector compares with another
 * reader.) */
#include "tape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem_heap.h"
#include "test.h"

static struct sonde__tape read_text(const char *text)
{
    struct sonde__tape tape;
    struct sonde_error error = {0};
    if (sonde__tape_read(text, strlen(text), 1000, &tape, NULL, &error) != SONDE_OK) {
        FAIL("%s: %s", text, error.what);
    }
    return tape;
}

static void check_string(const struct sonde__tape *tape, const char *path, const char *expected)
{
    char text[64];
    CHECK(sonde__tape_string(tape, sonde__tape_get(tape, 0, path), text, sizeof text));
    CHECK_STR(text, expected);
}

TEST(members_are_found_by_path)
{
    struct sonde__tape tape =
        read_text("{\"a\": {\"x\": [1, {\"b\": 0}], \"b\": {\"c\": \"deep\"}}, "
                  "\"c\": \"flat\", \"c\": \"second\", \"e\": {}}");
    check_string(&tape, "a.b.c", "deep");
    check_string(&tape, "c", "flat");
    CHECK_EQ(sonde__tape_get(&tape, 0, "b"), SONDE__TAPE_NONE);
    CHECK_EQ(sonde__tape_get(&tape, 0, "a.c"), SONDE__TAPE_NONE);
    CHECK_EQ(sonde__tape_get(&tape, sonde__tape_get(&tape, 0, "no"), "c"), SONDE__TAPE_NONE);
    CHECK_EQ(sonde__tape_first(&tape, sonde__tape_get(&tape, 0, "e")), SONDE__TAPE_NONE);
    CHECK_EQ(sonde__tape_first(&tape, sonde__tape_get(&tape, 0, "no")), SONDE__TAPE_NONE);
    sonde__tape_done(&tape);
}

TEST(elements_and_members_are_walked_in_order)
{
    struct sonde__tape tape = read_text("[[1,[2,3]],{},{\"k\":4,\"l\":[5]},\"x\",6]");
    unsigned kinds = 0, names = 0;
    SONDE__TAPE_EACH(at, &tape, 0)
    {
        kinds = kinds * 10 + sonde__tape_kind(&tape, at);
    }
    CHECK_EQ(kinds, SONDE__TAPE_ARRAY * 10000 + SONDE__TAPE_OBJECT * 1100 +
                        SONDE__TAPE_STRING * 10 + SONDE__TAPE_NUMBER);
    uint32_t object =
        sonde__tape_next(&tape, 0, sonde__tape_next(&tape, 0, sonde__tape_first(&tape, 0)));
    SONDE__TAPE_EACH(at, &tape, object)
    {
        names += sonde__tape_is(&tape, sonde__tape_key(at), names == 0 ? "k" : "l");
    }
    CHECK_EQ(names, 2);
    CHECK_EQ(sonde__tape_count(&tape, 0), 5);
    sonde__tape_done(&tape);
}

TEST(strings_are_decoded)
{
    struct sonde__tape tape = read_text(
        "{\"a\":\"q\\\"\\\\\\/\\b\\f\\n\\r\\t\",\"b\":\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\","
        "\"c\":\"\\ud83dx\\udc00\",\"d\":\"a\\u0000b\",\"e\":\"\xc3\xa9\"}");
    check_string(&tape, "a", "q\"\\/\b\f\n\r\t");
    check_string(&tape, "b", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    check_string(&tape, "c", "\xef\xbf\xbdx\xef\xbf\xbd");
    check_string(&tape, "d", "a");
    check_string(&tape, "e", "\xc3\xa9");
    char room[4];
    CHECK(sonde__tape_string(&tape, sonde__tape_get(&tape, 0, "b"), room, sizeof room));
    CHECK_STR(room, "A\xc3\xa9"); /* no part of a character */
    sonde__tape_done(&tape);
}

TEST(numbers_are_whole_or_scaled)
{
    struct sonde__tape tape = read_text(
        "{\"a\":18446744073709551615,\"b\":18446744073709551616,\"c\":\"0xfFfF0000\",\"d\":-1,"
        "\"e\":1764411654.123456789,\"f\":1e3,\"g\":\"12\",\"h\":\"12x\",\"i\":0.5}");
    uint64_t value = 7;
    CHECK(sonde__tape_uint(&tape, sonde__tape_get(&tape, 0, "a"), &value));
    CHECK(value == UINT64_MAX);
    CHECK(sonde__tape_uint(&tape, sonde__tape_get(&tape, 0, "c"), &value));
    CHECK_EQ(value, 0xffff0000u);
    CHECK(sonde__tape_uint(&tape, sonde__tape_get(&tape, 0, "g"), &value));
    CHECK_EQ(value, 12);
    static const char *const none[] = {"b", "d", "e", "f", "h", "no"};
    for (unsigned i = 0; i < sizeof none / sizeof *none; i++) {
        CHECK(!sonde__tape_uint(&tape, sonde__tape_get(&tape, 0, none[i]), &value));
    }
    CHECK(sonde__tape_scaled(&tape, sonde__tape_get(&tape, 0, "e"), 1000000000, &value));
    CHECK_EQ(value, 1764411654123456789);
    CHECK(sonde__tape_scaled(&tape, sonde__tape_get(&tape, 0, "i"), 1000000000, &value));
    CHECK_EQ(value, 500000000);
    CHECK(!sonde__tape_scaled(&tape, sonde__tape_get(&tape, 0, "a"), 1000000000, &value));
    CHECK(!sonde__tape_scaled(&tape, sonde__tape_get(&tape, 0, "f"), 1000000000, &value));
    sonde__tape_done(&tape);
}

TEST(texts_that_are_no_json_are_refused)
{
    static const char *const texts[] = {
        "",        " ",   "{",       "[",           "[1,]",   "[,1]",      "{\"a\":1,}", "{\"a\"}",
        "{a:1}",   "01",  "1.",      ".5",          "-",      "1e",        "+1",         "tru",
        "nul",     "\"a", "\"\\x\"", "\"\\u12g4\"", "\"\n\"", "[1 2]",     "{} {}",      "]",
        "{\"a\":", "[1}", "{1:2}",   "'a'",         "[\"\\",  "{\"a\" 1}", "NaN",        "1 x"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct sonde__tape tape;
        struct sonde_error error = {0};
        if (sonde__tape_read(texts[i], strlen(texts[i]), 1000, &tape, NULL, &error) !=
            SONDE_CORRUPT) {
            FAIL("taken: %s", texts[i]);
        }
        CHECK_CONTAINS(error.what, "JSON: ");
    }
}

/* The value ends where the next text begins. */
TEST(a_value_may_be_followed_by_another)
{
    struct sonde__tape tape;
    size_t used = 0;
    CHECK_OK(sonde__tape_read("{\"a\":[1]}\n{}", 12, 1000, &tape, &used, NULL));
    CHECK_EQ(used, 9);
    sonde__tape_done(&tape);
}

TEST(values_and_levels_are_bounded)
{
    enum { SIZE = 100000 };
    static char text[SIZE];
    struct sonde__tape tape;
    struct sonde_error error = {0};
    memset(text, '[', sizeof text);
    CHECK_EQ(sonde__tape_read(text, sizeof text, UINT32_MAX, &tape, NULL, &error), SONDE_LIMIT);
    CHECK_CONTAINS(error.what, "levels");
    for (unsigned i = 0; i < SIZE; i++) {
        text[i] = i == 0 ? '[' : i % 2 != 0 ? '1' : ',';
    }
    text[SIZE - 1] = ']';
    text[SIZE - 2] = '1';
    text[SIZE - 3] = ' ';
    text[SIZE - 4] = ',';
    CHECK_EQ(sonde__tape_read(text, sizeof text, 1000, &tape, NULL, &error), SONDE_LIMIT);
    CHECK_CONTAINS(error.what, "values");
    CHECK_OK(sonde__tape_read(text, sizeof text, SIZE, &tape, NULL, &error));
    sonde__tape_done(&tape);
}

TEST(no_memory_is_an_answer)
{
    struct sonde__tape tape;
    sonde__mem_fail_from(0);
    enum sonde_status status = sonde__tape_read("[1]", 3, 10, &tape, NULL, NULL);
    sonde__mem_fail_from(UINT64_MAX);
    CHECK_EQ(status, SONDE_MEMORY);
}
