// SPDX-License-Identifier: Apache-2.0
/* Events of Sentry's SDKs as reports: hangs, errors, native and other frames. What our own sender
 * makes of a report, which tests/integration/upload holds against Sentry's reader, is read back. */
#include "imports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_collector.h"
#include "demangle.h"
#include "import_model.h"
#include "mem_heap.h"
#include "test.h"
#include "upload_envelope.h"

static struct imported read_event(const char *event)
{
    char *text = malloc(strlen(event) + 128);
    int size =
        sprintf(text, "{\"event_id\":\"" IMPORTS_ID "\"}\n{\"type\":\"event\"}\n%s\n", event);
    struct imported read = imports_read(IMPORT_ENVELOPE, text, (size_t)size);
    free(text);
    return read;
}

/* As @sentry/node-native sends it. */
#define NODE_FRAMES(line)                                                                          \
    "{\"filename\":\"node:internal/timers\",\"module\":\"timers\",\"function\":\"listOnTimeout\"," \
    "\"lineno\":581,\"colno\":17,\"in_app\":false},"                                               \
    "{\"filename\":\"/srv/app/server.js\",\"module\":\"server\",\"function\":\"onRequest\","       \
    "\"lineno\":12,\"in_app\":true},"                                                              \
    "{\"filename\":\"/srv/app/"                                                                    \
    "server.js\",\"module\":\"server\",\"function\":\"sumAll\",\"lineno\":" line                   \
    ",\"in_app\":true},"                                                                           \
    "{\"filename\":\"/srv/app/node_modules/big/index.js\",\"function\":\"add\",\"lineno\":3,"      \
    "\"in_app\":false}"
#define NODE_EVENT(line)                                                                           \
    "{\"event_id\":\"" IMPORTS_ID "\",\"timestamp\":1764411654.25,\"platform\":\"node\","          \
    "\"release\":\"shop@1.2.3\",\"environment\":\"production\",\"tags\":{\"area\":\"cart\"},"      \
    "\"sdk\":{\"name\":\"sentry.javascript.node\",\"version\":\"10.75.3\"},"                       \
    "\"server_name\":\"machine-7\",\"level\":\"error\",\"contexts\":{\"os\":{\"name\":\"Linux\","  \
    "\"version\":\"6.1\"},\"device\":{\"arch\":\"x64\"}},"                                         \
    "\"exception\":{\"values\":[{\"type\":\"EventLoopBlocked\",\"value\":\"Event Loop Blocked "    \
    "for "                                                                                         \
    "at least 1000 ms\",\"stacktrace\":{\"frames\":[" NODE_FRAMES(                                 \
        line) "]},\"mechanism\":{"                                                                 \
              "\"type\":\"ANR\"},\"thread_id\":\"0\"}]},\"threads\":{\"values\":[{\"id\":\"0\","   \
              "\"name\":"                                                                          \
              "\"main\",\"crashed\":true,\"current\":true,\"main\":true},{\"id\":\"2\",\"name\":"  \
              "\"worker-2\","                                                                      \
              "\"stacktrace\":{\"frames\":[{\"function\":\"idle\"}]}}]}}"

TEST(blocked_event_loop_is_a_stall_of_its_path)
{
    struct imported read = read_event(NODE_EVENT("20"));
    const struct digest *digest = &read.digest;
    CHECK_EQ(digest->kind, SONDE__REPORT_WATCH);
    CHECK_EQ(digest->time_ns, 1764411654250000000);
    CHECK_STR(digest->program, "shop");
    CHECK_STR(digest->build, "shop@1.2.3");
    CHECK_STR(digest->os, "Linux 6.1");
    CHECK_EQ(strlen(digest->device), 16);
    CHECK_EQ(digest->tag_count, 2);
    CHECK_STR(digest->tags[0].value, "production");
    CHECK_STR(digest->tags[1].name, "area");
    CHECK_EQ(digest->event_count, 1);
    CHECK_EQ(digest->events[0].kind, DIGEST_STALL);
    CHECK_EQ(digest->events[0].total_ns, 1000000000);
    CHECK_STR(digest->events[0].why, "stall loop\nthread main\nfunction onRequest\nfunction "
                                     "sumAll\n");
    CHECK_STR(digest->events[0].title, "sumAll");
    const struct sonde__report_stall *stall = sonde__report_stall(read.report, 0);
    CHECK_EQ(stall->thread_count, 2);
    CHECK_STR(sonde__report_header(read.report)->report_id, IMPORTS_ID);
    CHECK_STR(sonde__report_header(read.report)->tool, "sentry.javascript.node 10.75.3");
    imports_done(&read);
}

TEST(line_of_the_path_is_no_part_of_the_cause)
{
    struct imported one = read_event(NODE_EVENT("20")), other = read_event(NODE_EVENT("21"));
    CHECK_STR(one.digest.events[0].group, other.digest.events[0].group);
    imports_done(&one);
    imports_done(&other);
}

#define IMAGES                                                                                     \
    "\"debug_meta\":{\"images\":[{\"type\":\"macho\",\"code_file\":\"/private/var/App.app/App\","  \
    "\"debug_id\":\"C42F630F-A71A-3EDC-9225-CF2C231A6669\",\"image_addr\":\"0x102a08000\","        \
    "\"image_size\":32768},{\"type\":\"elf\",\"code_file\":\"/opt/app/libapp.so\",\"code_id\":"    \
    "\"d25a5a7b22ef7e02ad1fbf9e1ba42f06ac5bc9c2\",\"debug_id\":"                                   \
    "\"7b5a5ad2-ef22-027e-ad1f-bf9e1ba42f06\",\"image_addr\":4294967296}]}"

TEST(address_is_in_its_image)
{
    struct imported read = read_event(
        "{\"platform\":\"cocoa\",\"level\":\"fatal\"," IMAGES ",\"exception\":{\"values\":[{"
        "\"type\":\"Fatal App Hang Fully Blocked\",\"value\":\"The user terminated your app, or "
        "the "
        "OS watchdog terminated your app while the main thread was blocked for at least 2000 ms.\","
        "\"mechanism\":{\"type\":\"AppHang\"},\"stacktrace\":{\"frames\":[{\"function\":\"main\","
        "\"instruction_addr\":\"0x102a08010\",\"symbol_addr\":\"0x102a08000\",\"in_app\":true},{"
        "\"instruction_addr\":\"0x102a0c1a4\",\"in_app\":true},{\"instruction_addr\":"
        "\"0x100000020\"},{\"instruction_addr\":\"0x7\"}]}}]}}");
    CHECK(read.digest.events[0].is_fatal);
    CHECK_EQ(read.digest.events[0].total_ns, 2000000000);
    const struct sonde__report_stall *stall = sonde__report_stall(read.report, 0);
    const struct sonde__report_node *node =
        sonde__report_node(read.report, stall->samples[0].stack);
    CHECK_EQ(sonde__report_frame(read.report, node->frame)->image, 0);
    CHECK_EQ(sonde__report_frame(read.report, node->frame)->offset, 7);
    node = sonde__report_node(read.report, node->parent);
    const struct sonde__report_frame *frame = sonde__report_frame(read.report, node->frame);
    const struct sonde__report_image *image = sonde__report_image(read.report, frame->image);
    CHECK_EQ(frame->offset, 0x20);
    CHECK_EQ(image->build_id.size, 20);
    CHECK_EQ(image->build_id.bytes[0], 0xd2);
    node = sonde__report_node(read.report, node->parent);
    frame = sonde__report_frame(read.report, node->frame);
    image = sonde__report_image(read.report, frame->image);
    CHECK_EQ(frame->offset, 0x41a4);
    CHECK_EQ(image->build_id.size, 16);
    CHECK_EQ(image->build_id.bytes[0], 0xc4);
    CHECK_EQ(image->flags, SONDE__REPORT_IMAGE_APP);
    CHECK_STR(sonde__report_text(read.report, image->path), "/private/var/App.app/App");
    node = sonde__report_node(read.report, node->parent);
    CHECK_EQ(sonde__report_frame(read.report, node->frame)->name_offset, 0x10);
    imports_done(&read);
}

TEST(error_is_no_stall_but_has_a_group)
{
    struct imported read = read_event(
        "{\"exception\":{\"values\":[{\"type\":\"ValueError\",\"stacktrace\":{\"frames\":["
        "{\"function\":\"inner\",\"in_app\":true}]}},{\"type\":\"KeyError\",\"value\":"
        "\"'x'\",\"mechanism\":{\"type\":\"generic\",\"handled\":false},\"stacktrace\":{"
        "\"frames\":[{\"module\":\"shop\",\"function\":\"handle\",\"in_app\":true}]}}]}}");
    CHECK_EQ(read.digest.kind, SONDE__REPORT_STACKS);
    CHECK_EQ(read.digest.event_count, 1);
    CHECK_EQ(read.digest.events[0].kind, DIGEST_ERROR);
    CHECK(read.digest.events[0].is_fatal);
    CHECK_STR(read.digest.events[0].title, "KeyError in handle");
    CHECK_STR(read.digest.events[0].why, "error KeyError\nfunction handle\n");
    imports_done(&read);
}

static int decode_long(void *ctx, const char *name, char *text, size_t size)
{
    (void)ctx, (void)name;
    snprintf(text, size, "%0*d\xc3\xa9 and more", 196, 0); /* of the two bytes one has room */
    return 1;
}

/* As in the source; a long one is cut between characters, and what follows has room. */
TEST(title_has_decoded_names)
{
    static const struct sonde_demangler demangler = {.decode = decode_long};
    sonde__demangle_use(&demangler);
    struct imported read = read_event(
        "{\"exception\":{\"values\":[{\"type\":\"KeyError\",\"value\":\"x\",\"stacktrace\":{"
        "\"frames\":[{\"module\":\"shop\",\"function\":\"_ZN4shop4Cart4saveEv\",\"in_app\":true}]}}"
        "]}}");
    const char *title = read.digest.events[0].title;
    CHECK(strncmp(title, "KeyError in 000", 15) == 0);
    CHECK_STR(title + 12 + 196, "...");
    CHECK_CONTAINS(read.digest.events[0].why, "function _ZN4shop4Cart4saveEv");
    sonde__demangle_use(NULL);
    imports_done(&read);
}

TEST(message_without_an_exception_has_no_event)
{
    struct imported read = read_event("{\"message\":\"hello\",\"level\":\"info\"}");
    CHECK_EQ(read.digest.event_count, 0);
    imports_done(&read);
}

/* The path of the stack with the most time is that of the stall, so its functions are the same. */
TEST(stall_that_sonde_sends_to_sentry_is_read_back)
{
    size_t size, envelope_size;
    void *bytes = bench_report(3, 0, &size), *envelope;
    struct sonde__report *report;
    struct digest digest;
    CHECK_OK(sonde__report_read(bytes, size, &report, NULL, NULL));
    CHECK_OK(digest_read(bytes, size, NULL, &digest, NULL));
    const struct sonde__upload_event event = {
        .report = report, .stall = sonde__report_stall(report, 0), .event_id = IMPORTS_ID};
    CHECK_OK(sonde__upload_envelope(&event, &envelope, &envelope_size));
    struct imported read = imports_read(IMPORT_ENVELOPE, envelope, envelope_size);
    CHECK_STR(read.digest.build, digest.build);
    CHECK_EQ(read.digest.events[0].total_ns, 400000000);
    size_t common = strlen("stall loop\nthread main\n");
    CHECK(strncmp(read.digest.events[0].why, digest.events[0].why, common) == 0);
    const char *functions = read.digest.events[0].why + common;
    CHECK(strncmp(functions, "function ", 9) == 0);
    /* all of ours is in it: one stack has a longer path than eight in common */
    const char *blocked = strstr(digest.events[0].why, "blocked in");
    CHECK(blocked != NULL);
    CHECK(strncmp(functions, digest.events[0].why + common,
                  (size_t)(blocked - digest.events[0].why) - common) == 0);
    imports_done(&read);
    digest_done(&digest);
    sonde__report_destroy(report);
    sonde__mem_free(envelope);
    free(bytes);
}

TEST(times_and_lengths_are_read)
{
    CHECK_EQ(import_time("2025-11-29T10:20:54Z"), 1764411654000000000);
    CHECK_EQ(import_time("2025-11-29 11:20:54.1234 +0100"), 1764411654000000000);
    CHECK_EQ(import_time("2025-11-29 05:20:54 -05:00"), 1764411654000000000);
    CHECK_EQ(import_time("1970-01-01T00:00:01Z"), 1000000000);
    CHECK_EQ(import_time("2024-02-29T00:00:00Z"), 1709164800000000000);
    CHECK_EQ(import_time("2000-03-01T00:00:00Z"), 951868800000000000);
    CHECK_EQ(import_time("2025-13-29T10:20:54Z"), 0);
    CHECK_EQ(import_time("yesterday"), 0);
    CHECK_EQ(import_time("2025-11-29"), 0);
    CHECK_EQ(import_duration("App hanging for at least 2000 ms."), 2000000000);
    CHECK_EQ(import_duration("App hanging between 2.5 and 2.9 seconds."), 2500000000);
    CHECK_EQ(import_duration("20 sec"), 20000000000);
    CHECK_EQ(import_duration("Thread 7 was blocked for 1 min"), 60000000000);
    CHECK_EQ(import_duration("ANR"), 0);
    CHECK_EQ(import_duration("4711"), 0);
}

TEST(what_cannot_be_read_has_a_reason)
{
    static const struct {
        const char *event, *what;
    } events[] = {{"{\"exception\":", "JSON: "}, {"[]", "no JSON object"}, {"", "JSON: "}};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        char text[256];
        void *bytes;
        size_t size;
        struct sonde_error error = {0};
        int length = sprintf(text, "{}\n{\"type\":\"event\",\"length\":%zu}\n%s",
                             strlen(events[i].event), events[i].event);
        CHECK_EQ(
            import_read(IMPORT_ENVELOPE, text, (size_t)length, IMPORTS_ID, &bytes, &size, &error),
            SONDE_CORRUPT);
        CHECK_CONTAINS(error.what, events[i].what);
    }
}

/* Damaged anywhere: a report, or a reason; no crash (ASan runs this, too). */
TEST_TIMEOUT(damaged_events_do_no_harm, 60)
{
    static char text[] = "{}\n{\"type\":\"event\"}\n" NODE_EVENT("20");
    static const char bytes_put[] = {'"', '{', '}', '[', ']', '0', '9', '\\', '\n', ','};
    struct sonde_error error;
    for (size_t i = 0; i < sizeof text - 1; i++) {
        for (size_t j = 0; j < sizeof bytes_put; j++) {
            char before = text[i];
            void *bytes;
            size_t size;
            text[i] = bytes_put[j];
            error.what[0] = '\0';
            if (import_read(IMPORT_ENVELOPE, text, sizeof text - 1, IMPORTS_ID, &bytes, &size,
                            &error) == SONDE_OK) {
                sonde__mem_free(bytes);
            } else {
                CHECK(error.what[0] != '\0');
            }
            text[i] = before;
        }
    }
}
