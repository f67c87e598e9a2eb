// SPDX-License-Identifier: Apache-2.0
/* What builds call and declare: manifests in the store, and the comparison of sums with them. */
#include <stdio.h>
#include <string.h>

#include "declared.h"
#include "stores.h"

#define PREFIX "NSPrivacyAccessedAPICategory"
#define MANIFEST(name)                                                                             \
    "<plist><dict><key>NSPrivacyAccessedAPITypes</key><array><dict>"                               \
    "<key>NSPrivacyAccessedAPIType</key><string>" PREFIX name "</string>"                          \
    "<key>NSPrivacyAccessedAPITypeReasons</key><array><string>C617.1</string></array></dict>"      \
    "</array></dict></plist>"

static const struct store_actor me = {7, 50};
static const struct sonde__build_id wanted = {.size = 2, .bytes = {1, 2}};

/* Calls of one function and code. */
struct sent {
    const char *api, *code;
    uint64_t direct, system, unknown;
    const char *missed; /* of the function; null: nothing */
};

struct made {
    struct digest_event event;
    struct digest_call call;
    struct digest_api api;
    struct digest digest;
};

static const struct digest *make(const struct sent *sent, struct made *made)
{
    char *text = (char *)(uintptr_t) "x";
    *made = (struct made){.api = {(char *)(uintptr_t)sent->api, (char *)(uintptr_t)sent->missed}};
    made->call = (struct digest_call){.direct = sent->direct,
                                      .system = sent->system,
                                      .is_stable = true,
                                      .rule = "r",
                                      .api = sent->api,
                                      .path = "main",
                                      .sdk = "",
                                      .code = sent->code};
    made->event = (struct digest_event){.kind = DIGEST_FINDING,
                                        .count = sent->direct + sent->system + sent->unknown,
                                        .severity = 2,
                                        .call = &made->call};
    snprintf(made->event.group, sizeof made->event.group, "%s %s", sent->api, sent->code);
    made->digest = (struct digest){.kind = 5,
                                   .time_ns = 1,
                                   .program = text,
                                   .build = (char *)(uintptr_t) "1",
                                   .device = text,
                                   .os = text,
                                   .arch = text,
                                   .events = &made->event,
                                   .event_count = made->event.count != 0,
                                   .apis = &made->api,
                                   .api_count = 1,
                                   .has_calls = true};
    return &made->digest;
}

static uint8_t next_id;

static void add(struct store *store, const struct sent *sent, bool waits)
{
    struct made made;
    struct store_report report = {
        .project = 1, .received_ns = 9, .size_bytes = 1, .digest = make(sent, &made)};
    if (waits) {
        made.digest.wants.ids[made.digest.wants.count++] = wanted;
    }
    report.id.bytes[0] = ++next_id;
    report.blob.bytes[0] = next_id;
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(store_add_report(store, &report), STORE_OK);
    CHECK_EQ(store_commit(store, (struct journal_place){1, next_id}), STORE_OK);
}

static void give_at(struct store *store, uint32_t project, const char *build, const char *name,
                    const char *text, enum store_status expected, bool is_new)
{
    bool was_new = !is_new;
    const struct store_manifest manifest = {.name = name, .bytes = text, .size = strlen(text)};
    CHECK_EQ(store_set_manifest(store, &me, project, build, &manifest, &was_new), expected);
    CHECK(expected != STORE_OK || was_new == is_new);
}

static void give(struct store *store, const char *name, const char *text)
{
    give_at(store, 1, "1", name, text, STORE_OK, true);
}

static struct declared *compare(struct store *store, bool is_whole)
{
    struct declared *declared = declared_begin();
    CHECK(declared != NULL);
    CHECK_EQ(store_manifests(store, 1, "1", NULL, declared_add_manifest, declared), STORE_OK);
    CHECK_EQ(store_apis(store, 1, "1", declared_add_api, declared), STORE_OK);
    CHECK_EQ(store_uses(store, 1, "1", declared_add_call, declared), STORE_OK);
    CHECK(declared_compare(declared, is_whole));
    return declared;
}

/* "CODE CATEGORY: STATE OWN SYSTEM UNKNOWN|…", without those that are neither; then what is checked
 * against `expected`. */
static void check_whole(struct store *store, bool is_whole, const char *expected)
{
    char text[4096] = "";
    size_t used = 0;
    struct declared *declared = compare(store, is_whole);
    for (uint32_t p = 0; p < declared->part_count; p++) {
        const struct declared_part *part = declared->parts[p];
        for (uint32_t i = 0; i < part->result.count; i++) {
            const struct sonde__manifest_line *line = &part->result.lines[i];
            if (line->state != SONDE__MANIFEST_NEITHER) {
                used += (size_t)snprintf(
                    text + used, sizeof text - used, "%s%s%s%s: %s %d %d %d", used != 0 ? "|" : "",
                    part->code, *part->code != '\0' ? " " : "", line->category + strlen(PREFIX),
                    declared_state_text(part, line), (int)line->calls, (int)line->system_calls,
                    (int)declared_unknown(part, line->category));
            }
        }
    }
    declared_end(declared);
    CHECK_STR(text, expected);
}

static void check(struct store *store, const char *expected)
{
    check_whole(store, true, expected);
}

/* --- manifests --- */

static void put_manifest(void *ctx, const struct store_manifest *manifest)
{
    char *text = ctx;
    snprintf(text + strlen(text), 400 - strlen(text), "%s=%.*s by %d at %d;", manifest->name,
             (int)manifest->size, (const char *)manifest->bytes, (int)manifest->secret,
             (int)manifest->made_ns);
}

static void check_manifests(struct store *store, const char *name, const char *expected)
{
    char text[400] = "";
    CHECK_EQ(store_manifests(store, 1, "1", name, put_manifest, text), STORE_OK);
    CHECK_STR(text, expected);
}

/* They need no report, are of one build of one project, and stay when the store is opened again. */
TEST_OF_STORES(manifests_are_kept_replaced_and_removed)
{
    struct store *store = stores_open();
    give(store, "b", "one\xff");
    give(store, "a", "two");
    give_at(store, 1, "2", "a", "of another build", STORE_OK, true);
    give_at(store, 2, "1", "a", "of another project", STORE_OK, true);
    give_at(store, 1, "1", "a", "three", STORE_OK, false);
    check_manifests(store, NULL, "a=three by 7 at 50;b=one\xff by 7 at 50;");
    check_manifests(store, "b", "b=one\xff by 7 at 50;");
    CHECK_EQ(store_remove_manifest(store, &me, 1, "1", "c"), STORE_ABSENT);
    CHECK_EQ(store_remove_manifest(store, &me, 1, "3", "a"), STORE_ABSENT);
    CHECK_EQ(store_remove_manifest(store, &me, 1, "1", "b"), STORE_OK);
    store_close(store);
    store = stores_open();
    check_manifests(store, NULL, "a=three by 7 at 50;");
    store_close(store);
}

static void put_action(void *ctx, const struct store_action *action)
{
    char *text = ctx;
    snprintf(text + strlen(text), 400 - strlen(text), "%d: %s;", (int)action->secret, action->what);
}

TEST_OF_STORES(manifests_of_a_build_are_bounded)
{
    char name[16], actions[400] = "";
    struct store *store = stores_open();
    for (unsigned i = 0; i < STORE_MANIFESTS_MAX; i++) {
        snprintf(name, sizeof name, "%u", i);
        give(store, name, "x");
    }
    give_at(store, 1, "1", "one more", "x", STORE_UNFIT, true);
    give_at(store, 1, "1", "5", "y", STORE_OK, false);
    give_at(store, 1, "2", "one more", "x", STORE_OK, true);
    CHECK_EQ(store_remove_manifest(store, &me, 1, "1", "5"), STORE_OK);
    give(store, "one more", "x");
    CHECK_EQ(store_actions(store, 1, 2, put_action, actions), STORE_OK);
    CHECK_STR(actions, "7: build 1: manifest one more given;7: build 1: manifest 5 removed;");
    store_close(store);
}

/* --- the comparison --- */

/* Without a manifest it is not known what is declared, and all that is called is said. */
TEST_OF_STORES(calls_without_a_manifest_are_not_undeclared)
{
    struct store *store = stores_open();
    add(store, &(struct sent){.api = "statvfs", .code = "", .direct = 2, .system = 5}, false);
    add(store, &(struct sent){.api = "gethostname", .code = "", .unknown = 9}, false);
    check(store, "DiskSpace: called, and no manifest was given 2 5 0");
    give(store, "App.app", MANIFEST("FileTimestamp"));
    check(store, "DiskSpace: called but undeclared 2 5 0|FileTimestamp: not known 0 0 0");
    give_at(store, 1, "1", "App.app", MANIFEST("DiskSpace"), STORE_OK, false);
    check(store, "DiskSpace: declared and called 2 5 0");
    store_close(store);
}

/* Each framework declares for itself; manifests of the others count together. */
TEST_OF_STORES(frameworks_declare_for_themselves)
{
    struct store *store = stores_open();
    add(store, &(struct sent){.api = "stat", .code = "Stat.framework", .direct = 3}, false);
    add(store, &(struct sent){.api = "statvfs", .code = "Bare.framework", .direct = 1}, false);
    add(store, &(struct sent){.api = "statvfs", .code = "", .direct = 4}, false);
    give(store, "App.app", MANIFEST("FileTimestamp"));
    give(store, "App.app:Kit.bundle", MANIFEST("DiskSpace"));
    give(store, "Stat.framework", MANIFEST("SystemBootTime"));
    check(store,
          "FileTimestamp: declared but never called 0 0 0|DiskSpace: declared and called 4 0 0|"
          "Stat.framework FileTimestamp: called but undeclared 3 0 0|"
          "Stat.framework SystemBootTime: not known 0 0 0|"
          "Bare.framework DiskSpace: called, and no manifest was given 1 0 0");
    give(store, "Stat.framework:Resources", MANIFEST("FileTimestamp"));
    give(store, "Bare.framework", "<plist><dict/></plist>"); /* it declares nothing */
    check(store,
          "FileTimestamp: declared but never called 0 0 0|DiskSpace: declared and called 4 0 0|"
          "Bare.framework DiskSpace: called but undeclared 1 0 0|"
          "Stat.framework SystemBootTime: not known 0 0 0|"
          "Stat.framework FileTimestamp: declared and called 3 0 0");
    store_close(store);
}

/* What is declared was never called only if all calls are known. */
TEST_OF_STORES(never_called_needs_all_calls)
{
    struct store *store = stores_open();
    const struct sent uncalled = {.api = "mach_absolute_time", .code = ""};
    struct sent missed = uncalled;
    missed.missed = "direct calls inside /opt/app";
    give(store, "App.app", MANIFEST("SystemBootTime"));
    check(store, "SystemBootTime: not known 0 0 0"); /* it was not recorded */
    add(store, &uncalled, false);
    check(store, "SystemBootTime: declared but never called 0 0 0");
    check_whole(store, false, "SystemBootTime: not known 0 0 0");
    add(store, &(struct sent){.api = "mach_absolute_time", .code = "", .system = 1}, false);
    check(store, "SystemBootTime: declared but never called 0 1 0");
    add(store, &missed, false);
    add(store, &uncalled, false);
    check(store, "SystemBootTime: not known 0 1 0");
    struct declared *declared = compare(store, true);
    CHECK_STR(declared->apis[0].missed, "direct calls inside /opt/app");
    declared_end(declared);
    store_close(store);
}

/* Calls of which it is not known who makes them, as of older reports, are no claim. */
TEST_OF_STORES(calls_of_unknown_callers_are_not_known)
{
    struct store *store = stores_open();
    add(store, &(struct sent){.api = "statvfs", .code = "", .unknown = 3}, false);
    check(store, "DiskSpace: not known 0 0 3");
    give(store, "App.app", MANIFEST("DiskSpace"));
    check(store, "DiskSpace: not known 0 0 3");
    add(store, &(struct sent){.api = "statvfs", .code = "", .direct = 1}, false);
    check(store, "DiskSpace: declared and called 1 0 3");
    store_close(store);
}

static void keep_waiting(void *ctx, const struct store_waiting *waiting)
{
    *(struct store_waiting *)ctx = *waiting;
}

static void keep_callers(void *ctx, const struct store_build *build)
{
    *(uint64_t *)ctx = build->callers;
}

/* A report that gets names leaves its old sums with its callers, and stays one report. */
TEST_OF_STORES(callers_leave_with_their_report)
{
    struct made made;
    uint64_t callers = 0;
    struct store_waiting waiting = {.number = 0};
    struct store *store = stores_open();
    const struct sent bare = {.api = "statvfs", .code = "", .direct = 2, .system = 1, .unknown = 4};
    const struct sent named = {.api = "statvfs", .code = "A.framework", .direct = 2, .system = 5};
    add(store, &bare, true);
    add(store, &(struct sent){.api = "statvfs", .code = "", .direct = 10, .system = 20}, false);
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(store_waiting(store, 1, &wanted, 1, keep_waiting, &waiting), STORE_OK);
    CHECK_EQ(store_regroup(store, &waiting, make(&named, &made)), STORE_OK);
    CHECK_EQ(store_commit_change(store), STORE_OK);
    check(store, "DiskSpace: called, and no manifest was given 10 20 0|"
                 "A.framework DiskSpace: called, and no manifest was given 2 5 0");
    CHECK_EQ(store_build(store, 1, "1", keep_callers, &callers), STORE_OK);
    CHECK_EQ(callers, 2);
    store_close(store);
}

/* --- without a store --- */

TEST(manifest_names_say_for_whom)
{
    static const struct {
        const char *name, *code;
    } cases[] = {{"App.app", ""},
                 {"Stat.framework", "Stat.framework"},
                 {"Stat.framework:Kit.bundle", "Stat.framework"},
                 {"App.app:Stat.framework", ""},
                 {".framework", ""},
                 {"framework", ""},
                 {"", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = 99;
        const char *code = declared_code(cases[i].name, &size);
        CHECK_EQ(size, strlen(cases[i].code));
        CHECK(memcmp(code, cases[i].code, size) == 0);
    }
}

/* Frameworks beyond the bound are counted, and one manifest that a newer version refuses is said.
 */
TEST(declared_parts_are_bounded)
{
    struct declared *declared = declared_begin();
    char code[32];
    const struct store_call call = {.api = "statvfs"};
    const struct store_call_sum sum = {.count = 3};
    const struct store_manifest bad = {.name = "App.app", .bytes = "x", .size = 1};
    CHECK(declared != NULL);
    declared_add_manifest(declared, &bad);
    for (unsigned i = 0; i < 2 * DECLARED_PARTS_MAX; i++) {
        snprintf(code, sizeof code, "%u.framework", i);
        const struct store_caller caller = {.code = code, .direct = 3};
        declared_add_call(declared, &call, &sum, &caller);
    }
    CHECK(declared_compare(declared, true));
    CHECK_EQ(declared->part_count, DECLARED_PARTS_MAX);
    CHECK_EQ(declared->left_out, 3 * (DECLARED_PARTS_MAX + 1));
    CHECK_CONTAINS(declared->parts[0]->error, "App.app: line 1: not a property list");
    CHECK(declared_part_of(declared, "511.framework") == NULL);
    declared_end(declared);
    declared_end(NULL);
}
