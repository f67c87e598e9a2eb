// SPDX-License-Identifier: Apache-2.0
/* Envelopes of Sentry: items with and without a length, ids, and what is none. */
#include "envelope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/status.h>

#include "test.h"

#define ID "0123456789abcdef0123456789abcdef"

static struct envelope read_text(const char *text)
{
    struct envelope envelope;
    struct sonde_error error = {0};
    if (!envelope_read(text, strlen(text), &envelope, &error)) {
        FAIL("%s: %s", text, error.what);
    }
    return envelope;
}

static void check_event(const struct envelope *envelope, const char *event)
{
    CHECK_EQ(envelope->event_size, strlen(event));
    CHECK(memcmp(envelope->event, event, strlen(event)) == 0);
}

static void check_id(const struct envelope *envelope, const char *expected)
{
    char text[IDS_REPORT_TEXT];
    ids_report_text(&envelope->id, text);
    CHECK_STR(text, expected);
}

TEST(item_with_a_length_may_have_newlines)
{
    struct envelope e =
        read_text("{\"event_id\":\"" ID "\"}\n{\"type\":\"event\",\"length\":5}\n{\n\n}"
                  "\n\n{\"type\":\"session\"}\n{\"sid\":1}\n");
    check_event(&e, "{\n\n}\n");
    check_id(&e, ID);
    CHECK_EQ(e.items, 2);
}

TEST(item_without_a_length_is_a_line)
{
    struct envelope e =
        read_text("{\"event_id\":\"01234567-89AB-cdef-0123-456789abcdef\"}\n"
                  "{\"type\":\"session\"}\n{}\n{\"type\":\"event\"}\n{\"level\":\"error\"}");
    check_event(&e, "{\"level\":\"error\"}");
    check_id(&e, ID);
}

TEST(id_is_the_events_or_a_hash_of_it)
{
    struct envelope e = read_text("{}\n{\"type\":\"event\"}\n{\"event_id\":\"" ID "\"}");
    check_id(&e, ID);
    struct envelope one = read_text("{}\n{\"type\":\"event\"}\n{\"a\":1}");
    struct envelope same = read_text("{\"sent_at\":\"x\"}\n{\"type\":\"event\"}\n{\"a\":1}\n");
    struct envelope other = read_text("{}\n{\"type\":\"event\"}\n{\"a\":2}");
    CHECK(memcmp(&one.id, &same.id, sizeof one.id) == 0);
    CHECK(memcmp(&one.id, &other.id, sizeof one.id) != 0);
}

TEST(envelope_without_an_event_is_one)
{
    struct envelope e = read_text("{}\n{\"type\":\"client_report\"}\n{}\n");
    CHECK(e.event == NULL);
    CHECK_EQ(e.items, 1);
    CHECK(read_text("{}").event == NULL);
}

TEST(what_is_no_envelope_is_refused)
{
    static const char *const texts[] = {
        "",
        "x",
        "[]\n",
        "{\n",
        "{}\nx\n",
        "{}\n[]\n{}\n",
        "{}\n{\"type\":\"event\",\"length\":9}\n{}",
        "{}\n{\"type\":\"event\",\"length\":-1}\n{}",
        "{}\n{\"type\":\"event\",\"length\":18446744073709551615}\n{}",
        "{}\n{\"type\":\"event\",\"length\":1}\n{}\n",
        "{}\n{\"type\":\"event\",\"length\":2}\n{}{}",
        "{}\n{\"type\":\"event\",\"length\":\"x\"}\n{}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct envelope envelope;
        struct sonde_error error = {0};
        if (envelope_read(texts[i], strlen(texts[i]), &envelope, &error)) {
            FAIL("taken: %s", texts[i]);
        }
        CHECK_CONTAINS(error.what, "this is no envelope: ");
    }
}

TEST(items_are_bounded)
{
    enum { ITEMS = ENVELOPE_ITEMS_MAX + 1, HEAD = 3, EACH = 6 };
    static char text[HEAD + ITEMS * EACH + 1];
    struct envelope envelope;
    struct sonde_error error = {0};
    for (size_t i = 0; i < sizeof text - 1; i++) {
        text[i] = "{}\n"[i % HEAD];
    }
    CHECK(!envelope_read(text, sizeof text - 1, &envelope, &error));
    CHECK_CONTAINS(error.what, "1,000 items");
}
