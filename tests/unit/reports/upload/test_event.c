// SPDX-License-Identifier: Apache-2.0
/* Events for Sentry: what its documentation names differently than a report does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_model.h"
#include "test.h"
#include "upload_event.h"

struct text {
    char bytes[8192];
    size_t size;
};

static bool collect(void *ctx, const char *bytes, size_t size)
{
    struct text *text = ctx;
    CHECK(size < sizeof text->bytes - text->size);
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    return true;
}

static uint32_t push_script(struct sonde__report *r, uint32_t parent, const char *language,
                            const char *function)
{
    const struct sonde__report_frame frame = {.kind = SONDE__REPORT_FRAME_SCRIPT,
                                              .language = sonde__report_string(r, language),
                                              .name = sonde__report_string(r, function),
                                              .file = sonde__report_string(r, "/srv/app/file"),
                                              .line = 1};
    const struct sonde__report_node node = {.parent = parent,
                                            .frame = sonde__report_add_frame(r, &frame)};
    return sonde__report_add_node_value(r, &node);
}

/* The next platform of a frame in the text. */
static const char *platform_after(const char *text)
{
    return strstr(text, "\"platform\"");
}

/* Sentry takes other names than these for an unknown platform. */
TEST(the_language_of_a_script_is_named_as_sentry_names_it)
{
    static const struct sonde__upload_extent extent = {.frames_max = 10, .threads_max = 10};
    struct sonde__report *r;
    struct sonde__report_thread thread = {.tid = 1};
    struct text text = {.size = 0};
    struct sonde__report_out out;
    CHECK_OK(sonde__report_create(&r));
    thread.stack = push_script(r, push_script(r, 0, "Python", "outer"), "JavaScript", "middle");
    thread.stack = push_script(r, thread.stack, "Klingon", "inner");
    sonde__report_add_thread(r, &thread);
    const struct sonde__report_sink sink = {collect, &text};
    const struct sonde__upload_event event = {.report = r, .event_id = "1"};
    sonde__report_out_init(&out, sink, false);
    CHECK(sonde__upload_put_event(&out, &event, &extent));
    sonde__report_out_flush(&out);
    const char *outer = strstr(text.bytes, "\"outer\""), *middle = strstr(text.bytes, "\"middle\"");
    const char *inner = strstr(text.bytes, "\"inner\"");
    CHECK(outer != NULL && middle != NULL && inner != NULL && outer < middle && middle < inner);
    CHECK(platform_after(outer) == strstr(outer, "\"platform\": \"python\""));
    CHECK(platform_after(middle) == strstr(middle, "\"platform\": \"node\""));
    CHECK(platform_after(outer) != NULL && platform_after(outer) < middle);
    CHECK(platform_after(middle) != NULL && platform_after(middle) < inner);
    CHECK(platform_after(inner) == NULL);
    sonde__report_destroy(r);
}
