// SPDX-License-Identifier: Apache-2.0
/* Filters: what is idle and what is the system's, names, and that what they drop makes no group and
 * is counted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "import_model.h"
#include "report_write.h"
#include "stores.h"

/* --- names --- */

TEST(filters_are_words_or_names)
{
    struct sift sift = {.kind = SIFT_SDK, .pattern = "left"};
    char text[SIFT_TEXT], long_name[SIFT_PATTERN_MAX + 8] = "build=";
    static const char *const good[] = {"idle",    "system",    "build=1", "build=1.2*",
                                       "build=*", "sdk=stats", "sdk=a=b", "sdk=lib x.so*"};
    static const char *const bad[] = {"",        "idl",     "idle2",     "idle=1",   "build",
                                      "build=",  "sdk=a*b", "sdk=**",    "sdk=a\nb", "sdk=\x7f",
                                      "system ", "Build=1", "kind=call", "=x",       "sdk=*a"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_STR(sift_parse(bad[i], &sift) ? bad[i] : "", "");
    }
    CHECK(sift.kind == SIFT_SDK && strcmp(sift.pattern, "left") == 0);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK_STR(sift_parse(good[i], &sift) ? "good" : good[i], "good");
        sift_text(&sift, text);
        CHECK_STR(text, good[i]);
    }
    memset(long_name + 6, 'a', SIFT_PATTERN_MAX + 1);
    long_name[6 + SIFT_PATTERN_MAX + 1] = '\0';
    CHECK(!sift_parse(long_name, &sift));
    long_name[6 + SIFT_PATTERN_MAX] = '\0';
    CHECK(sift_parse(long_name, &sift));
}

static bool drops(const char *filter, const char *build, const struct digest_event *event)
{
    struct sift sift;
    CHECK(sift_parse(filter, &sift));
    return sift_drops(&sift, build, event);
}

TEST(filters_drop_what_they_name)
{
    struct digest_call call = {.sdk = "stats"}, own = {.sdk = ""};
    const struct digest_event plain = {.kind = DIGEST_STALL, .image = "libstats.so.2"};
    const struct digest_event of_sdk = {.kind = DIGEST_CALL, .call = &call};
    const struct digest_event of_none = {.kind = DIGEST_CALL, .call = &own, .image = "stats"};
    const struct digest_event system = {.kind = DIGEST_STALL, .is_system = true};
    const struct digest_event idle = {.kind = DIGEST_STALL, .is_system = true, .is_idle = true};
    CHECK(drops("build=1.2", "1.2", &plain) && !drops("build=1.2", "1.20", &plain));
    CHECK(drops("build=1.2*", "1.2", &plain) && drops("build=1.2*", "1.20", &plain));
    CHECK(!drops("build=1.2*", "1.1", &plain) && !drops("build=*", "", &plain));
    CHECK(!drops("build=*", NULL, &plain));
    CHECK(drops("sdk=libstats.so*", "1", &plain) && !drops("sdk=stats", "1", &plain));
    CHECK(drops("sdk=stats", "1", &of_sdk) && !drops("sdk=stat", "1", &of_sdk));
    CHECK(!drops("sdk=*", "1", &of_none) && !drops("sdk=*", "1", &system));
    CHECK(drops("system", "1", &system) && drops("system", "1", &idle));
    CHECK(drops("idle", "1", &idle) && !drops("idle", "1", &system));
    CHECK(!drops("system", "1", &plain) && !drops("idle", "1", &plain));
}

/* --- what is idle, and the system's --- */

enum { APP, LOOP, LIBC, OTHER, IMAGES };

struct frame {
    unsigned image;
    const char *name;
};

static uint32_t images[IMAGES];

static struct sonde__report *make_report(void)
{
    static const char *const paths[] = {"/opt/app/libstats.so.2", "/usr/lib/libglib-2.0.so.0",
                                        "/usr/lib/libc.so.6", "/usr/lib/libdbus-1.so.3"};
    struct sonde__report *report;
    CHECK_OK(sonde__report_create(&report));
    const struct sonde__report_header header = {
        .kind = SONDE__REPORT_WATCH, .executable = "/opt/app/app", .arch = "x86_64"};
    sonde__report_set_header(report, &header);
    for (unsigned i = 0; i < IMAGES; i++) {
        const struct sonde__report_image image = {.path = sonde__report_string(report, paths[i]),
                                                  .flags = i == APP ? SONDE__REPORT_IMAGE_APP
                                                                    : SONDE__REPORT_IMAGE_SYSTEM};
        images[i] = sonde__report_add_image(report, &image);
    }
    return report;
}

/* frames: the outermost first. */
static uint32_t add_stack(struct sonde__report *report, const struct frame *frames)
{
    uint32_t node = 0;
    for (unsigned i = 0; frames[i].name != NULL; i++) {
        const struct sonde__report_frame frame = {.image = images[frames[i].image],
                                                  .offset = 0x1000u * (i + 1),
                                                  .name =
                                                      sonde__report_string(report, frames[i].name),
                                                  .name_offset = 4,
                                                  .name_source = SONDE__REPORT_NAME_SYMTAB};
        node = sonde__report_add_node(report, node, sonde__report_add_frame(report, &frame));
    }
    return node;
}

static enum sonde_status append(void *ctx, const void *bytes, size_t size)
{
    FILE *out = ctx;
    return fwrite(bytes, 1, size, out) == size ? SONDE_OK : SONDE_MEMORY;
}

/* What the store keeps of a report, which is destroyed. Ownership: digest_done(). */
static struct digest read_back(struct sonde__report *report)
{
    char *bytes = NULL;
    size_t size = 0;
    struct digest digest;
    struct sonde_error error;
    struct sonde__report_writer *writer;
    FILE *out = open_memstream(&bytes, &size);
    CHECK_OK(sonde__report_writer_create(NULL, append, out, &writer));
    CHECK_OK(sonde__report_writer_finish(writer, report));
    fclose(out);
    sonde__report_writer_destroy(writer);
    sonde__report_destroy(report);
    CHECK_OK(digest_read(bytes, size, NULL, &digest, &error));
    free(bytes);
    return digest;
}

enum { POLL = 7 + 1, NANOSLEEP = 35 + 1, FSYNC = 74 + 1 }; /* of x86-64, plus 1 */

/* The digest of a stall with these stacks, 50 ms each, in a call. */
static struct digest read_stall(const struct frame *const stacks[], int64_t call)
{
    struct sonde__report_sample samples[16] = {{0}};
    struct sonde__report *report = make_report();
    struct sonde__report_stall stall = {.main = true, .samples = samples};
    for (; stacks[stall.sample_count] != NULL; stall.sample_count++) {
        samples[stall.sample_count] =
            (struct sonde__report_sample){.weight_ns = 50000000,
                                          .stack = add_stack(report, stacks[stall.sample_count]),
                                          .phase = SONDE__REPORT_PHASE_BLOCKED,
                                          .syscall = call};
    }
    sonde__report_add_stall(report, &stall);
    struct digest digest = read_back(report);
    CHECK_EQ(digest.event_count, 1);
    return digest;
}

static const struct frame waits[] = {{APP, "main"}, {LOOP, "g_main_loop_run"}, {LIBC, "poll"}, {0}};

static void check_stacks(const struct frame *const stacks[], int64_t call, const char *expected)
{
    struct digest digest = read_stall(stacks, call);
    const struct digest_event *event = &digest.events[0];
    CHECK_STR(event->is_idle     ? (event->is_system ? "system, idle" : "idle")
              : event->is_system ? "system"
                                 : "own",
              expected);
    digest_done(&digest);
}

static void check_mark(const struct frame *stack, int64_t call, const char *expected)
{
    check_stacks((const struct frame *[]){stack, stack, NULL}, call, expected);
}

TEST(loop_that_waits_is_idle)
{
    static const struct frame in_loop[] = {{APP, "main"}, {LOOP, "wait"}, {0}};
    static const struct frame by_library[] = {
        {APP, "main"}, {LOOP, "dispatch"}, {OTHER, "dbus_call"}, {LIBC, "poll"}, {0}};
    static const struct frame by_app[] = {
        {APP, "main"}, {LOOP, "dispatch"}, {APP, "on_click"}, {LIBC, "poll"}, {0}};
    static const struct frame in_main[] = {{APP, "main"}, {0}};
    static const struct frame thread[] = {{LIBC, "start_thread"}, {LOOP, "worker"}, {0}};
    check_mark(waits, POLL, "system, idle");
    check_mark(waits, NANOSLEEP, "system, idle");
    check_mark(waits, FSYNC, "system");
    check_mark(waits, 0, "system");
    check_mark(in_loop, POLL, "system, idle");
    check_mark(thread, POLL, "system");
    check_mark(by_library, POLL, "system");
    check_mark(by_app, POLL, "own");
    check_mark(in_main, 0, "own");
}

/* No function has most of the time, and one in ten samples is enough. */
TEST(stacks_with_any_function_of_the_program_are_its_own)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    struct frame own[4][4];
    const struct frame *stacks[5] = {0};
    for (unsigned i = 0; i < 4; i++) {
        own[i][0] = (struct frame){APP, "main"};
        own[i][1] = (struct frame){APP, names[i]};
        own[i][2] = (struct frame){LIBC, "poll"};
        own[i][3] = (struct frame){0, NULL};
        stacks[i] = own[i];
    }
    check_stacks(stacks, POLL, "own");
    const struct frame *few[12] = {own[0]};
    for (unsigned i = 1; i < 11; i++) {
        few[i] = waits;
    }
    check_stacks(few, POLL, "own");
    few[0] = waits;
    check_stacks(few, POLL, "system, idle");
}

/* The file of the program's function with most of the time. */
TEST(stall_has_the_image_of_its_function)
{
    static const struct frame no_app[] = {{LOOP, "g_main_loop_run"}, {LIBC, "poll"}, {0}};
    struct digest digest = read_stall((const struct frame *[]){waits, no_app, NULL}, POLL);
    CHECK_STR(digest.events[0].image, "libstats.so.2");
    digest_done(&digest);
    digest = read_stall((const struct frame *[]){no_app, no_app, NULL}, POLL);
    CHECK_STR(digest.events[0].image, "");
    digest_done(&digest);
}

/* What is only counted is as the stall of its cause that the report has. */
TEST(counted_stalls_are_as_those_before)
{
    struct digest digest = read_stall((const struct frame *[]){waits, NULL}, POLL);
    char group[DIGEST_GROUP_TEXT];
    snprintf(group, sizeof group, "%s", digest.events[0].group);
    digest_done(&digest);
    struct sonde__report *report = make_report();
    const struct sonde__report_sample sample = {
        .weight_ns = 1, .stack = add_stack(report, waits), .syscall = POLL};
    const struct sonde__report_stall stall = {.main = true, .samples = &sample, .sample_count = 1};
    sonde__report_add_stall(report, &stall);
    const char *const counted[] = {group, "1:00112233445566778899aabbccddeeff"};
    for (unsigned i = 0; i < 2; i++) {
        const struct sonde__report_stall_count count = {
            .fingerprint = sonde__report_string(report, counted[i]), .count = 2};
        (void)sonde__report_add_stall_count(report, &count);
    }
    digest = read_back(report);
    CHECK_EQ(digest.event_count, 3);
    CHECK(digest.events[1].is_system && digest.events[1].is_idle);
    CHECK_STR(digest.events[1].image, "libstats.so.2");
    CHECK(!digest.events[2].is_system && !digest.events[2].is_idle);
    CHECK_STR(digest.events[2].image, "");
    digest_done(&digest);
}

static void check_error(const struct frame *stack, bool is_system)
{
    struct sonde__report *report = make_report();
    const struct sonde__report_thread thread = {
        .main = true,
        .stack = add_stack(report, stack),
        .note = sonde__report_string(report, IMPORT_CRASHED "SIGSEGV")};
    (void)sonde__report_add_thread(report, &thread);
    struct digest digest = read_back(report);
    CHECK_EQ(digest.event_count, 1);
    CHECK_EQ(digest.events[0].kind, DIGEST_ERROR);
    CHECK_EQ(digest.events[0].is_system, is_system);
    CHECK(!digest.events[0].is_idle);
    digest_done(&digest);
}

static void check_call(const struct frame *stack, bool is_system)
{
    struct sonde__report *report = make_report();
    const struct sonde__report_call call = {.function = sonde__report_string(report, "open"),
                                            .stack = add_stack(report, stack),
                                            .count = 1};
    sonde__report_add_call(report, &call);
    struct digest digest = read_back(report);
    CHECK_EQ(digest.event_count, 1);
    CHECK_EQ(digest.events[0].kind, DIGEST_CALL);
    CHECK_EQ(digest.events[0].is_system, is_system);
    digest_done(&digest);
}

TEST(errors_and_calls_are_of_the_system_too)
{
    static const struct frame own[] = {{APP, "main"}, {APP, "f"}, {LIBC, "open"}, {0}};
    static const struct frame library[] = {
        {LIBC, "start_thread"}, {LOOP, "f"}, {LIBC, "open"}, {0}};
    static const struct frame in_main[] = {{APP, "main"}, {0}};
    check_error(own, false);
    check_error(library, true);
    check_error(waits, true);
    check_error(in_main, false);
    check_call(own, false);
    check_call(library, true);
    check_call(waits, false);
}

/* --- in the store --- */

static const struct store_actor me = {7, 5};

static int64_t filter(struct store *store, uint32_t project, const char *text)
{
    struct sift sift;
    int64_t number = 0;
    CHECK(sift_parse(text, &sift));
    CHECK_EQ(store_add_sift(store, &me, project, &sift, &number), STORE_OK);
    return number;
}

static struct store *open_with_projects(void)
{
    uint32_t project;
    struct store *store = stores_open();
    CHECK_EQ(store_add_project(store, "one", 1, &project), STORE_OK);
    CHECK_EQ(store_add_project(store, "two", 1, &project), STORE_OK);
    return store;
}

/* A report of two stalls: of the groups "own" and "other". */
struct sent {
    uint8_t id;
    const char *build;
    bool is_system; /* the second one; and so idle */
    bool waits, is_damaged;
    uint32_t project; /* 0: 1 */
};

struct made {
    struct digest_event events[2];
    struct digest digest;
};

static const struct digest *make(const struct sent *sent, struct made *made)
{
    static char text[] = "x";
    *made = (struct made){{{.kind = DIGEST_STALL, .count = 2, .total_ns = 7, .group = "own"},
                           {.kind = DIGEST_STALL,
                            .count = 3,
                            .total_ns = 100,
                            .group = "other",
                            .is_system = sent->is_system}},
                          {.kind = 2,
                           .program = text,
                           .build = (char *)(uintptr_t)sent->build,
                           .device = text,
                           .os = text,
                           .arch = text,
                           .events = made->events,
                           .event_count = 2}};
    if (sent->waits) {
        made->digest.wants = (struct digest_wants){.ids = {{.size = 1, .bytes = {7}}}, .count = 1};
    }
    if (sent->is_damaged) {
        snprintf(made->digest.loss, sizeof made->digest.loss, "cut");
    }
    return &made->digest;
}

static void put(struct store *store, const struct sent *sent)
{
    struct made made;
    struct store_report report = {.project = sent->project != 0 ? sent->project : 1,
                                  .received_ns = 1000,
                                  .size_bytes = 1,
                                  .digest = make(sent, &made)};
    report.id.bytes[0] = sent->id;
    CHECK_EQ(store_add_report(store, &report), STORE_OK);
}

static void add(struct store *store, const struct sent *sent)
{
    CHECK_EQ(store_begin(store), STORE_OK);
    put(store, sent);
    CHECK_EQ(store_commit(store, (struct journal_place){1, sent->id}), STORE_OK);
}

struct text {
    char at[1024];
};

static void say(struct text *text, const char *line)
{
    size_t used = strlen(text->at);
    snprintf(text->at + used, sizeof text->at - used, "%s\n", line);
}

static void say_group(void *ctx, const struct store_group *group)
{
    char line[128];
    snprintf(line, sizeof line, "%s %llu %llu", group->group, (unsigned long long)group->count,
             (unsigned long long)group->total_ns);
    say(ctx, line);
}

static void say_sift(void *ctx, const struct store_sift *sift)
{
    char line[256], text[SIFT_TEXT];
    sift_text(&sift->sift, text);
    snprintf(line, sizeof line, "%s %s %llu %llu %llu %llu", sift->project_name, text,
             (unsigned long long)sift->reports, (unsigned long long)sift->events,
             (unsigned long long)sift->count, (unsigned long long)sift->total_ns);
    say(ctx, line);
}

static void say_row(void *ctx, const struct store_row *row)
{
    say(ctx, row->note);
}

static void say_action(void *ctx, const struct store_action *action)
{
    say(ctx, action->what);
}

static void check_groups(struct store *store, uint32_t project, const char *expected)
{
    struct text text = {""};
    const struct store_filter all = {.order = STORE_BY_COUNT, .limit = 10};
    CHECK_EQ(store_groups(store, project, &all, say_group, &text), STORE_OK);
    CHECK_STR(text.at, expected);
}

static void check_sifts(struct store *store, uint32_t project, const char *expected)
{
    struct text text = {""};
    CHECK_EQ(store_sifts(store, project, say_sift, &text), STORE_OK);
    CHECK_STR(text.at, expected);
}

/* The notes of all reports, the newest first. */
static void check_notes(struct store *store, const char *expected)
{
    struct text text = {""};
    CHECK_EQ(store_reports(store, 1, 0, false, 10, say_row, &text), STORE_OK);
    CHECK_STR(text.at, expected);
}

TEST_OF_STORES(what_filters_drop_makes_no_group_and_is_counted)
{
    struct store *store = open_with_projects();
    int64_t first = filter(store, 1, "system");
    filter(store, 1, "build=n*");
    filter(store, 2, "build=1*");
    add(store, &(struct sent){1, "1", .is_system = true});
    check_groups(store, 1, "own 2 7\n");
    check_sifts(store, 1, "one system 1 1 3 100\none build=n* 0 0 0 0\n");
    add(store, &(struct sent){2, "night", .is_system = true, .is_damaged = true});
    add(store, &(struct sent){3, "1", .is_damaged = true});
    add(store, &(struct sent){4, "night", .is_system = true, .project = 2});
    check_groups(store, 1, "own 4 14\nother 3 100\n");
    check_groups(store, 2, "other 3 100\nown 2 7\n");
    check_sifts(store, 0, "one system 2 2 6 200\none build=n* 1 1 2 7\ntwo build=1* 0 0 0 0\n");
    check_notes(store, "cut\ncut; filtered: 2\nfiltered: 1\n");
    store_close(store);
    store = stores_open();
    CHECK_EQ(store_remove_sift(store, &me, 2, first), STORE_ABSENT);
    CHECK_EQ(store_remove_sift(store, &me, 1, first), STORE_OK);
    CHECK_EQ(store_remove_sift(store, &me, 1, first), STORE_ABSENT);
    add(store, &(struct sent){5, "1", .is_system = true});
    check_groups(store, 1, "own 6 21\nother 6 200\n");
    check_sifts(store, 1, "one build=n* 1 1 2 7\n");
    store_close(store);
}

/* What is rolled back was not dropped; a report that is known is not counted again. */
TEST_OF_STORES(what_is_dropped_is_counted_with_its_report)
{
    struct made made;
    struct store *store = open_with_projects();
    filter(store, 1, "system");
    struct store_report report = {.project = 1, .received_ns = 1000};
    report.digest = make(&(struct sent){2, "1", .is_system = true}, &made);
    report.id.bytes[0] = 2;
    CHECK_EQ(store_begin(store), STORE_OK);
    put(store, &(struct sent){1, "1", .is_system = true});
    store_rollback(store);
    check_sifts(store, 1, "one system 0 0 0 0\n");
    CHECK_EQ(store_begin(store), STORE_OK);
    put(store, &(struct sent){2, "1", .is_system = true});
    CHECK_EQ(store_add_report(store, &report), STORE_KNOWN);
    put(store, &(struct sent){3, "1", .is_system = true, .project = 2});
    put(store, &(struct sent){4, "1", .is_system = true});
    CHECK_EQ(store_commit(store, (struct journal_place){1, 4}), STORE_OK);
    check_sifts(store, 1, "one system 2 2 6 200\n");
    check_groups(store, 1, "own 4 14\n");
    store_close(store);
}

TEST_OF_STORES(sums_of_dropped_events_are_bounded)
{
    struct made made;
    struct store *store = open_with_projects();
    filter(store, 1, "system");
    for (uint8_t i = 1; i <= 3; i++) {
        make(&(struct sent){i, "1", .is_system = true}, &made);
        for (unsigned j = 0; j < 2; j++) {
            made.events[j].is_system = true;
            made.events[j].count = made.events[j].total_ns = (uint64_t)1 << 63;
        }
        struct store_report report = {.project = 1, .received_ns = 1000, .digest = &made.digest};
        report.id.bytes[0] = i;
        CHECK_EQ(store_begin(store), STORE_OK);
        CHECK_EQ(store_add_report(store, &report), STORE_OK);
        CHECK_EQ(store_commit(store, (struct journal_place){1, i}), STORE_OK);
    }
    check_sifts(store, 1, "one system 3 6 9000000000000000000 9000000000000000000\n");
    store_close(store);
}

TEST_OF_STORES(filters_of_a_project_are_bounded_and_written_down)
{
    char name[32], expected[80];
    int64_t number = 77, last = 0;
    struct text text = {""};
    struct store *store = open_with_projects();
    int64_t first = filter(store, 1, "idle");
    const struct sift idle = {.kind = SIFT_IDLE};
    CHECK_EQ(store_add_sift(store, &me, 1, &idle, &number), STORE_UNFIT);
    CHECK_CONTAINS(store_error(), "has this filter");
    for (unsigned i = 1; i < STORE_SIFTS_MAX; i++) {
        snprintf(name, sizeof name, "sdk=%u", i);
        last = filter(store, 1, name);
    }
    const struct sift more = {.kind = SIFT_SDK, .pattern = "more"};
    CHECK_EQ(store_add_sift(store, &me, 1, &more, &number), STORE_UNFIT);
    CHECK_CONTAINS(store_error(), "as many filters");
    filter(store, 2, "idle");
    CHECK_EQ(store_remove_sift(store, &me, 0, first), STORE_OK);
    CHECK_EQ(store_actions(store, 1, 2, say_action, &text), STORE_OK);
    snprintf(expected, sizeof expected, "filter %lld: removed\nfilter %lld: added, sdk=31\n",
             (long long)first, (long long)last);
    CHECK_STR(text.at, expected);
    store_close(store);
}

/* --- reports that get their symbols later --- */

static void take_waiting(void *ctx, const struct store_waiting *waiting)
{
    *(struct store_waiting *)ctx = *waiting;
}

static void regroup(struct store *store, const struct sent *now)
{
    struct made made;
    struct store_waiting waiting = {.number = 0};
    const struct sonde__build_id id = {.size = 1, .bytes = {7}};
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(store_waiting(store, 1, &id, 1, take_waiting, &waiting), STORE_OK);
    CHECK_EQ(waiting.id.bytes[0], now->id);
    CHECK_EQ(store_regroup(store, &waiting, make(now, &made)), STORE_OK);
    CHECK_EQ(store_commit_change(store), STORE_OK);
}

TEST_OF_STORES(report_that_gets_symbols_is_filtered_anew)
{
    struct store *store = open_with_projects();
    filter(store, 1, "system");
    add(store, &(struct sent){1, "1", .is_system = true});
    add(store, &(struct sent){2, "1", .is_system = true, .waits = true});
    check_sifts(store, 1, "one system 2 2 6 200\n");
    regroup(store, &(struct sent){2, "1", .waits = true});
    check_sifts(store, 1, "one system 1 1 3 100\n");
    check_groups(store, 1, "own 4 14\nother 3 100\n");
    check_notes(store, "\nfiltered: 1\n");
    regroup(store, &(struct sent){2, "1", .is_system = true});
    check_sifts(store, 1, "one system 2 2 6 200\n");
    check_groups(store, 1, "own 4 14\n");
    check_notes(store, "filtered: 1\nfiltered: 1\n");
    store_close(store);
}
