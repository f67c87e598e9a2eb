// SPDX-License-Identifier: Apache-2.0
/* The JSON writer in its two layouts. The texts are those that commands printed before they shared
 * it; Python's json module reads what the commands print (tests/integration). */
#include <string.h>

#include "report_json.h"
#include "test.h"

struct text {
    char bytes[4096];
    size_t size;
};

static bool add(void *ctx, const char *bytes, size_t size)
{
    struct text *text = ctx;
    if (size >= sizeof text->bytes - text->size) {
        return false;
    }
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = '\0';
    return true;
}

/* An object with all kinds of values. */
static void put_object(struct sonde__json *json)
{
    sonde__json_object(json, NULL);
    sonde__json_string(json, "text", "a\tb\n\x01\x7f\"\\\xc3\xa9\xff!");
    sonde__json_string(json, "none", NULL);
    sonde__json_array(json, "list");
    sonde__json_uint(json, NULL, 7);
    sonde__json_int(json, NULL, -7);
    sonde__json_hex(json, NULL, 0x1f);
    sonde__json_close(json);
    sonde__json_array(json, "empty");
    sonde__json_close(json);
    sonde__json_bool(json, "yes", true);
    sonde__json_close(json);
}

TEST(compact_values_are_on_one_line)
{
    static struct text text;
    struct sonde__report_out out;
    struct sonde__json json;
    sonde__report_out_init(&out, (struct sonde__report_sink){add, &text}, false);
    sonde__json_init_compact(&json, &out);
    put_object(&json);
    sonde__report_out_flush(&out);
    CHECK_STR(text.bytes, "{\"text\": \"a\\u0009b\\u000a\\u0001\x7f\\\"\\\\\xc3\xa9\\ufffd!\", "
                          "\"none\": null, \"list\": [7, -7, \"0x1f\"], \"empty\": [], "
                          "\"yes\": true}");
}

TEST(compact_values_begin_lines_on_request)
{
    static struct text text;
    struct sonde__report_out out;
    struct sonde__json json;
    sonde__report_out_init(&out, (struct sonde__report_sink){add, &text}, false);
    sonde__json_init_compact(&json, &out);
    sonde__json_array(&json, NULL);
    for (unsigned i = 0; i < 2; i++) {
        sonde__json_line(&json, 3);
        sonde__json_uint(&json, NULL, i);
        sonde__json_uint(&json, NULL, i);
    }
    sonde__json_close(&json);
    sonde__report_out_flush(&out);
    CHECK_STR(text.bytes, "[\n   0, 0,\n   1, 1]");
}

TEST(other_values_have_a_line_each)
{
    static struct text text;
    struct sonde__report_out out;
    struct sonde__json json;
    sonde__report_out_init(&out, (struct sonde__report_sink){add, &text}, false);
    sonde__json_init(&json, &out);
    put_object(&json);
    sonde__report_out_flush(&out);
    CHECK_STR(
        text.bytes,
        "{\n \"text\": \"a\\tb\\n\\u0001\\u007f\\\"\\\\\xc3\xa9\\ufffd!\",\n \"none\": null,\n"
        " \"list\": [\n  7,\n  -7,\n  \"0x1f\"\n ],\n \"empty\": [],\n \"yes\": true\n}");
}
