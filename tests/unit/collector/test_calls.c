// SPDX-License-Identifier: Apache-2.0
/* What is read of an audit's calls: consent by the phases of the run, limits, SDKs, paths. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest_calls.h"
#include "digest_consent.h"
#include "mem_heap.h"
#include "test.h"

static struct sonde__report *make_report(uint32_t kind)
{
    struct sonde__report *report;
    CHECK_OK(sonde__report_create(&report));
    const struct sonde__report_header header = {.kind = kind, .executable = "/opt/app/app"};
    sonde__report_set_header(report, &header);
    return report;
}

static uint32_t add_phase(struct sonde__report *report, const char *name, uint64_t begin_ns,
                          uint32_t consent)
{
    const struct sonde__report_named_phase phase = {
        .name = sonde__report_string(report, name), .begin_ns = begin_ns, .consent = consent};
    return sonde__report_add_phase(report, &phase);
}

struct phases {
    const char *name;
    uint32_t consent;
};

/* The consents of a run with these phases, one a second, as digits: first that of no phase. */
static void check_consents(const struct phases *phases, unsigned count, const char *expected)
{
    char text[8] = "";
    uint8_t *consents;
    struct sonde__report *report = make_report(SONDE__REPORT_AUDIT);
    for (unsigned i = 0; i < count; i++) {
        (void)add_phase(report, phases[i].name, (i + 1) * 1000000000u, phases[i].consent);
    }
    CHECK_OK(digest_consents(report, &consents));
    for (unsigned i = 0; i <= count; i++) {
        text[i] = (char)('0' + consents[i]);
    }
    CHECK_STR(text, expected);
    sonde__mem_free(consents);
    sonde__report_destroy(report);
}

TEST(consent_is_that_of_the_phase_or_of_the_last_one_before)
{
    enum { UNKNOWN, BEFORE, GIVEN, REFUSED };
    check_consents(NULL, 0, "0");
    check_consents((struct phases[]){{"start", UNKNOWN}, {"play", UNKNOWN}}, 2, "000");
    check_consents((struct phases[]){{"start", UNKNOWN}, {"asked", GIVEN}, {"play", UNKNOWN}}, 3,
                   "1122");
    check_consents((struct phases[]){{"start", BEFORE}, {"login", UNKNOWN}, {"no", REFUSED}}, 3,
                   "1113");
    check_consents((struct phases[]){{"a", GIVEN}, {"b", REFUSED}, {"c", UNKNOWN}, {"d", GIVEN}}, 4,
                   "12332");
    check_consents((struct phases[]){{"start", UNKNOWN}, {"consent", UNKNOWN}}, 2, "112");
    check_consents((struct phases[]){{"consent", REFUSED}, {"consent", 99}}, 2, "133");
}

/* --- calls --- */

static uint32_t add_stack(struct sonde__report *report, unsigned depth)
{
    uint32_t node = 0;
    char name[16];
    const struct sonde__report_image image = {.path = sonde__report_string(report, "/opt/app/app"),
                                              .flags = SONDE__REPORT_IMAGE_APP | SONDE__IMAGE_MAIN};
    uint32_t id = sonde__report_add_image(report, &image);
    for (unsigned i = 0; i < depth; i++) {
        snprintf(name, sizeof name, "f%u", i);
        const struct sonde__report_frame frame = {.image = id,
                                                  .offset = 0x1000u * (i + 1),
                                                  .name = sonde__report_string(report, name),
                                                  .name_offset = 4,
                                                  .name_source = SONDE__REPORT_NAME_SYMTAB};
        node = sonde__report_add_node(report, node, sonde__report_add_frame(report, &frame));
    }
    return node;
}

static struct digest read_calls(const struct sonde__report *report)
{
    struct digest digest = {.kind = sonde__report_header(report)->kind};
    digest.events = sonde__mem_alloc_array(16, sizeof *digest.events);
    CHECK(digest.events != NULL);
    CHECK_OK(digest_read_calls(report, &digest));
    return digest;
}

TEST(calls_of_all_phases_are_one_event)
{
    struct sonde__report *report = make_report(SONDE__REPORT_AUDIT);
    uint32_t start = add_phase(report, "start", 1, SONDE__REPORT_CONSENT_BEFORE);
    uint32_t asked = add_phase(report, "asked", 9, SONDE__REPORT_CONSENT_GIVEN);
    uint32_t never = sonde__report_string(report, "never called");
    const struct sonde__report_rule rules[] = {
        {.name = sonde__report_string(report, "ids"), .severity = 3, .limit_count = 1},
        {.name = never}};
    uint32_t rule = sonde__report_add_rule(report, &rules[0]);
    (void)sonde__report_add_rule(report, &rules[1]);
    struct sonde__report_call call = {.function = sonde__report_string(report, "gethostname"),
                                      .stack = add_stack(report, 2),
                                      .rule = rule,
                                      .sdk = sonde__report_string(report, "stats"),
                                      .phase = start,
                                      .count = 2,
                                      .over_limit = 1};
    sonde__report_add_call(report, &call);
    call.phase = asked;
    call.count = 5;
    call.over_limit = 4;
    sonde__report_add_call(report, &call);
    struct digest digest = read_calls(report);
    CHECK_EQ(digest.event_count, 1);
    CHECK_EQ(digest.events[0].count, 7);
    CHECK_EQ(digest.events[0].severity, 3);
    const struct digest_call *read = digest.events[0].call;
    CHECK_EQ(read->before, 2);
    CHECK_EQ(read->given, 5);
    CHECK_EQ(read->refused, 0);
    CHECK_EQ(read->over, 5);
    CHECK(read->is_stable);
    CHECK_STR(read->rule, "ids");
    CHECK_STR(read->api, "gethostname");
    CHECK_STR(read->sdk, "stats");
    CHECK_STR(read->path, "f1\nf0");
    CHECK(digest.has_calls);
    CHECK_EQ(digest.listed_count, 2);
    CHECK_STR(digest.listed[1], "never called");
    digest_done(&digest);
    sonde__report_destroy(report);
}

/* Without rules the functions are what was looked for, called or not; long paths are cut. */
TEST(recording_lists_functions_and_cuts_paths)
{
    struct sonde__report *report = make_report(SONDE__REPORT_CALLS);
    struct sonde__report_call call = {.function = sonde__report_string(report, "open"),
                                      .stack = add_stack(report, 20),
                                      .count = 2};
    sonde__report_add_call(report, &call);
    call = (struct sonde__report_call){.function = sonde__report_string(report, "uncalled")};
    sonde__report_add_call(report, &call);
    struct digest digest = read_calls(report);
    CHECK_EQ(digest.event_count, 1);
    const struct digest_call *read = digest.events[0].call;
    CHECK_EQ(read->before + read->given + read->refused, 0);
    CHECK_STR(read->rule, "");
    CHECK_STR(read->path,
              "f19\nf18\nf17\nf16\nf15\nf14\nf13\nf12\nf11\nf10\nf9\nf8\nf7\nf6\nf5\nf4\n"
              "...");
    CHECK_EQ(digest.listed_count, 2);
    CHECK_STR(digest.listed[1], "uncalled");
    digest_done(&digest);
    sonde__report_destroy(report);
}

/* --- who makes calls --- */

/* A stack of frames of these images, outermost first; "/lib" ones are of the system. */
static uint32_t add_path(struct sonde__report *report, const char *const *paths)
{
    uint32_t node = 0;
    for (unsigned i = 0; paths[i] != NULL; i++) {
        bool is_app = strncmp(paths[i], "/lib", 4) != 0;
        const struct sonde__report_image image = {.path = sonde__report_string(report, paths[i]),
                                                  .flags = is_app ? SONDE__REPORT_IMAGE_APP : 0};
        const struct sonde__report_frame frame = {
            .image = sonde__report_add_image(report, &image),
            .offset = 0x1000u * (i + 1),
            .name = sonde__report_string(report, is_app ? "own" : "of_system"),
            .name_source = SONDE__REPORT_NAME_SYMTAB};
        node = sonde__report_add_node(report, node, sonde__report_add_frame(report, &frame));
    }
    return node;
}

#define APP       "/opt/Foo.app/Foo"
#define FRAMEWORK "/opt/Foo.app/Frameworks/Stat.framework/Stat"

TEST(calls_are_of_the_code_that_makes_them)
{
    struct sonde__report *report = make_report(SONDE__REPORT_CALLS);
    const struct {
        const char *function;
        const char *const *path;
        uint64_t count;
    } calls[] = {
        {"statvfs", (const char *const[]){APP, NULL}, 1},
        {"statvfs", (const char *const[]){APP, "/lib/libfoundation.so", NULL}, 2},
        {"statvfs", (const char *const[]){APP, FRAMEWORK, NULL}, 4},
        {"statvfs", (const char *const[]){FRAMEWORK, APP, NULL}, 8},
        {"gethostname", (const char *const[]){APP, NULL}, 16},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const struct sonde__report_call call = {.function =
                                                    sonde__report_string(report, calls[i].function),
                                                .stack = add_path(report, calls[i].path),
                                                .count = calls[i].count};
        sonde__report_add_call(report, &call);
    }
    struct digest digest = read_calls(report);
    char text[400] = "";
    for (uint32_t i = 0; i < digest.event_count; i++) {
        const struct digest_call *call = digest.events[i].call;
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s '%s' %d: %d %d;", call->api,
                 call->code, (int)digest.events[i].count, (int)call->direct, (int)call->system);
    }
    /* the keys are of names alone: what comes of another framework to one key is counted for nobody
     */
    CHECK_STR(text, "statvfs '' 15: 9 2;gethostname '' 16: 0 0;");
    digest_done(&digest);
    sonde__report_destroy(report);
}

TEST(functions_that_need_reasons_are_noted_once)
{
    struct sonde__report *report = make_report(SONDE__REPORT_CALLS);
    const char *const names[] = {"stat", "stat", "open", "statvfs", "stat"};
    const char *const missed[] = {NULL, "direct calls inside /lib/libc.so.6",
                                  "direct calls inside /opt/a", NULL, "direct calls inside /opt/a"};
    for (unsigned i = 0; i < 5; i++) {
        const struct sonde__report_call call = {
            .function = sonde__report_string(report, names[i]),
            .missed = missed[i] != NULL ? sonde__report_string(report, missed[i]) : 0};
        sonde__report_add_call(report, &call);
    }
    struct digest digest = read_calls(report);
    CHECK_EQ(digest.api_count, 2);
    CHECK_STR(digest.apis[0].name, "stat");
    CHECK_STR(digest.apis[0].missed, "direct calls inside /opt/a");
    CHECK_STR(digest.apis[1].name, "statvfs");
    CHECK(digest.apis[1].missed == NULL);
    digest_done(&digest);
    sonde__report_destroy(report);
}
