// SPDX-License-Identifier: Apache-2.0
/* MetricKit's diagnostics as reports: hangs with all stacks of their tree, from either end;
 * crashes; payloads without diagnostics. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foreign.h"
#include "imports.h"
#include "mem_heap.h"
#include "test.h"

#define FRAME(name, offset, count, more)                                                           \
    "{\"binaryUUID\":\"C42F630F-A71A-3EDC-9225-CF2C231A6669\","                                    \
    "\"offsetIntoBinaryTextSegment\":" #offset ",\"sampleCount\":" #count                          \
    ",\"binaryName\":\"" name "\",\"address\":4371867052" more "}"
#define SUB(...) ",\"subFrames\":[" __VA_ARGS__ "]"
#define ABOUT                                                                                      \
    "\"diagnosticMetaData\":{\"hangDuration\":\"20 "                                               \
    "sec\",\"appBuildVersion\":\"45\",\"appVersion\":"                                             \
    "\"1.2.3\",\"osVersion\":\"iPhone OS 17.5 (21F79)\",\"deviceType\":\"iPhone14,3\","            \
    "\"bundleIdentifier\":\"com.example.Shop\",\"platformArchitecture\":\"arm64e\","               \
    "\"exceptionType\":1,\"exceptionCode\":0,\"signal\":11}"
#define TREE(...)                                                                                  \
    "\"callStackTree\":{\"callStackPerThread\":false,\"callStacks\":[{\"threadAttributed\":false," \
    "\"callStackRootFrames\":[" FRAME("other", 1, 1, "") "]},{\"threadAttributed\":true,"          \
                                                         "\"callStackRootFrames\":[" __VA_ARGS__   \
                                                         "]}]}"
#define PAYLOAD(kind, tree)                                                                        \
    "{\"timeStampBegin\":\"2025-11-28 10:20:54\",\"timeStampEnd\":\"2025-11-29 10:20:54\",\"" kind \
    "\":[{\"version\":\"1.0.0\"," ABOUT "," tree "}]}"

/* dyld < main < save_all, three samples there and one in UIKit. */
#define OUTER_ROOT                                                                                 \
    TREE(FRAME("dyld", 10, 4,                                                                      \
               SUB(FRAME("Shop", 100, 4,                                                           \
                         SUB(FRAME("Shop", 200, 3,                                                 \
                                   SUB(FRAME("libsystem_kernel.dylib", 5, 3,                       \
                                             ""))) "," FRAME("UIKitCore", 7, 1, ""))))))
#define INNER_ROOT                                                                                 \
    TREE(FRAME(                                                                                    \
        "libsystem_kernel.dylib", 5, 3,                                                            \
        SUB(FRAME("Shop", 200, 3, SUB(FRAME("Shop", 100, 3, SUB(FRAME("dyld", 10, 3, ""))))))))

static uint64_t offset_of(const struct imported *read, const struct sonde__report_sample *sample,
                          unsigned index)
{
    uint32_t node = sample->stack;
    for (; index > 0; index--) {
        node = sonde__report_node(read->report, node)->parent;
    }
    return sonde__report_frame(read->report, sonde__report_node(read->report, node)->frame)->offset;
}

#define BASE ((uint64_t)1 << 32)

TEST(hang_is_a_stall_with_all_stacks)
{
    struct imported read =
        imports_read_text(IMPORT_METRICS, PAYLOAD("hangDiagnostics", OUTER_ROOT));
    CHECK_EQ(read.digest.kind, SONDE__REPORT_WATCH);
    CHECK_STR(read.digest.build, "1.2.3 (45)");
    CHECK_STR(read.digest.program, "Shop");
    CHECK_EQ(read.digest.time_ns, 1764411654000000000);
    CHECK_EQ(read.digest.events[0].total_ns, 20000000000);
    const struct sonde__report_stall *stall = sonde__report_stall(read.report, 0);
    CHECK_EQ(stall->sample_count, 2);
    CHECK_EQ(stall->samples[0].weight_ns, 15000000000);
    CHECK_EQ(stall->samples[1].weight_ns, 5000000000);
    CHECK_EQ(stall->samples[1].time_ns, 15000000000);
    CHECK_EQ(offset_of(&read, &stall->samples[0], 0), 5);
    CHECK_EQ(offset_of(&read, &stall->samples[0], 1), BASE + 200);
    CHECK_EQ(offset_of(&read, &stall->samples[0], 2), BASE + 100);
    CHECK_EQ(offset_of(&read, &stall->samples[0], 3), 10);
    CHECK_CONTAINS(read.digest.events[0].why,
                   "stall loop\nthread main\nfunction Shop+0x100000064\n");
    imports_done(&read);
}

TEST(tree_from_the_innermost_frame_is_the_same_stack)
{
    struct imported read =
        imports_read_text(IMPORT_METRICS, PAYLOAD("hangDiagnostics", INNER_ROOT));
    const struct sonde__report_stall *stall = sonde__report_stall(read.report, 0);
    CHECK_EQ(stall->sample_count, 1);
    CHECK_EQ(offset_of(&read, &stall->samples[0], 0), 5);
    CHECK_EQ(offset_of(&read, &stall->samples[0], 1), BASE + 200);
    CHECK_EQ(offset_of(&read, &stall->samples[0], 2), BASE + 100);
    CHECK_EQ(offset_of(&read, &stall->samples[0], 3), 10);
    CHECK_STR(read.digest.events[0].why, "stall loop\nthread main\nfunction Shop+0x100000064\n"
                                         "function Shop+0x1000000c8\n");
    imports_done(&read);
}

TEST(crash_is_an_error)
{
    struct imported read =
        imports_read_text(IMPORT_METRICS, PAYLOAD("crashDiagnostics", INNER_ROOT));
    CHECK_EQ(read.digest.kind, SONDE__REPORT_STACKS);
    CHECK_EQ(read.digest.event_count, 1);
    CHECK_EQ(read.digest.events[0].kind, DIGEST_ERROR);
    CHECK_CONTAINS(read.digest.events[0].title, "exception 1, signal 11 in Shop");
    imports_done(&read);
}

TEST(launch_is_a_stall_of_its_kind)
{
    struct imported read =
        imports_read_text(IMPORT_METRICS, PAYLOAD("appLaunchDiagnostics", OUTER_ROOT));
    CHECK_CONTAINS(read.digest.events[0].why, "stall launch\n");
    CHECK_EQ(read.digest.events[0].total_ns, 0); /* it does not say how long */
    imports_done(&read);
}

TEST(other_diagnostics_are_noted)
{
    struct imported read =
        imports_read_text(IMPORT_METRICS, PAYLOAD("cpuExceptionDiagnostics", OUTER_ROOT));
    CHECK_EQ(read.digest.event_count, 0);
    CHECK_STR(sonde__report_note(read.report, 0), "1 of cpuExceptionDiagnostics are not read");
    imports_done(&read);
}

TEST(payload_without_diagnostics_has_a_reason)
{
    static const char text[] = "{\"timeStampEnd\":\"2025-11-29 10:20:54\",\"cpuMetrics\":{}}";
    void *bytes;
    size_t size;
    struct sonde_error error = {0};
    CHECK_EQ(foreign_form(text, sizeof text - 1), IMPORT_METRICS);
    CHECK_EQ(import_read(IMPORT_METRICS, text, sizeof text - 1, IMPORTS_ID, &bytes, &size, &error),
             SONDE_CORRUPT);
    CHECK_CONTAINS(error.what, "it has no diagnostics");
}

/* A tree as deep as the reader of JSON allows, and one that is wide: bounded frames. */
TEST_TIMEOUT(large_trees_are_bounded, 60)
{
    enum { DEEP = 1900, WIDE = 60000 };
    static const char begin[] =
        "{\"hangDiagnostics\":[{" ABOUT ",\"callStackTree\":{\"callStacks\":"
        "[{\"threadAttributed\":true,\"callStackRootFrames\":[";
    static const char deeper[] = "{\"binaryName\":\"a\",\"subFrames\":[", leaf[] = "{},";
    char *text = malloc(sizeof begin + DEEP * (sizeof deeper + 2) + WIDE * sizeof leaf + 16);
    char *to = text + sprintf(text, "%s", begin);
    for (unsigned i = 0; i < DEEP; i++) {
        to += sprintf(to, "%s", deeper);
    }
    for (unsigned i = 0; i < WIDE; i++) {
        to += sprintf(to, "%s", leaf);
    }
    to += sprintf(to, "{}");
    for (unsigned i = 0; i < DEEP; i++) {
        to += sprintf(to, "]}");
    }
    (void)sprintf(to, "]}]}}]}");
    struct imported read = imports_read_text(IMPORT_METRICS, text);
    CHECK(sonde__report_stall(read.report, 0)->sample_count < 200);
    free(text);
    imports_done(&read);
}

TEST_TIMEOUT(damaged_payloads_do_no_harm, 60)
{
    static char text[] = PAYLOAD("hangDiagnostics", OUTER_ROOT);
    static const char bytes_put[] = {'"', '{', '}', '[', ']', '0', '9', '\\', '\n', ' '};
    for (size_t i = 0; i < sizeof text - 1; i++) {
        for (size_t j = 0; j < sizeof bytes_put; j++) {
            struct sonde_error error = {0};
            char before = text[i];
            void *bytes;
            size_t size;
            text[i] = bytes_put[j];
            if (import_read(IMPORT_METRICS, text, sizeof text - 1, IMPORTS_ID, &bytes, &size,
                            &error) == SONDE_OK) {
                sonde__mem_free(bytes);
            } else {
                CHECK(error.what[0] != '\0');
            }
            text[i] = before;
        }
    }
}
