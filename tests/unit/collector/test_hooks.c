// SPDX-License-Identifier: Apache-2.0
/* Hooks: signatures, ids and bodies of messages, and their queues in the transactions of events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "stores.h"
#include "test.h"

#define HOUR_NS (3600ull * 1000000000u)
#define DAY_NS  (24 * HOUR_NS)

/* --- messages --- */

/* The example of Standard Webhooks' libraries. Its secret has 24 bytes; HMAC fills keys with zeros.
 */
static const struct hook_secret example = {{0x31, 0xf2, 0x90, 0xf6, 0xbf, 0x06, 0x29, 0x8a,
                                            0xab, 0x4f, 0x08, 0xd4, 0x3c, 0x3f, 0x08, 0x2c,
                                            0xf6, 0x48, 0xa3, 0x62, 0xda, 0x2d, 0xa4, 0xb0}};

TEST(signature_is_that_of_the_specification)
{
    char text[HOOK_SIGNATURE_TEXT], secret[HOOK_SECRET_TEXT];
    hook_sign(&example, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, "{\"test\": 2432232314}", text);
    CHECK_STR(text, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    hook_secret_text(&example, secret);
    CHECK_STR(secret, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAAAAAAAAAAA=");
}

static const struct hook_message spike = {.event = HOOK_SPIKING,
                                          .time_ns = 1700000000000000000u,
                                          .project = "web",
                                          .group = 12,
                                          .kind = DIGEST_FINDING,
                                          .cause = "c",
                                          .title = "a \"title\"\n\xff",
                                          .summary = "s",
                                          .program = "p",
                                          .build = "1",
                                          .report = {{0xab}},
                                          .count = 30,
                                          .usual = 6};

TEST(body_is_json_of_what_happened)
{
    char *body = hook_message_body(&spike);
    CHECK(strchr(body, '\n') == NULL);
    struct json *json = json_parse(body);
    CHECK_STR(json_text(json, "type"), "group.spiking");
    CHECK_STR(json_text(json, "timestamp"), "2023-11-14T22:13:20.000000000Z");
    const struct json *data = json_need(json, "data");
    CHECK_STR(json_text(data, "project"), "web");
    CHECK_STR(json_text(data, "kind"), "finding");
    CHECK_STR(json_text(data, "title"), "a \"title\"\n\xef\xbf\xbd");
    CHECK_STR(json_text(data, "report"), "ab000000000000000000000000000000");
    CHECK_STR(json_text(data, "page"), "/projects/web/groups/12");
    CHECK_EQ(json_int(data, "hour_count"), 30);
    CHECK_EQ(json_int(data, "usual_count"), 6);
    json_free(json);
    free(body);
}

TEST(id_is_of_one_message)
{
    char one[HOOK_ID_TEXT], other[HOOK_ID_TEXT];
    struct hook_message message = spike;
    hook_message_id(&example, &spike, one);
    CHECK_EQ(strlen(one), HOOK_ID_TEXT - 1);
    message.group = 13; /* its number may be another one when the report is read again */
    message.title = "x";
    hook_message_id(&example, &message, other);
    CHECK_STR(one, other);
    message.event = HOOK_NEW;
    hook_message_id(&example, &message, other);
    CHECK(strcmp(one, other) != 0);
    message = spike;
    message.report.bytes[15] = 1;
    hook_message_id(&example, &message, other);
    CHECK(strcmp(one, other) != 0);
    message = spike;
    message.cause = "d";
    hook_message_id(&example, &message, other);
    CHECK(strcmp(one, other) != 0);
    hook_message_id(&(struct hook_secret){{1}}, &spike, other);
    CHECK(strcmp(one, other) != 0);
}

TEST(words_and_addresses_are_checked)
{
    uint32_t bits = 77;
    char text[HOOK_WORDS_TEXT];
    CHECK(hook_parse_events("spiking,new", &bits) && bits == (HOOK_NEW | HOOK_SPIKING));
    hook_events_text(bits, text);
    CHECK_STR(text, "new,spiking");
    static const char *const wrong[] = {"", "news", "new,", ",new", "new, regressed", "ne"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(!hook_parse_events(wrong[i], &bits));
    }
    CHECK_EQ(bits, HOOK_NEW | HOOK_SPIKING);
    CHECK(hook_parse_kinds("call", &bits) && bits == 1u << DIGEST_CALL);
    hook_kinds_text(hook_kinds_default(), text);
    CHECK_STR(text, "stall,finding,error");
    static const char *const good[] = {"http://a",         "https://a.example:8443/x/y?z=1&q=%20@",
                                       "http://[::1]:80/", "http://127.0.0.1/@",
                                       "http://[::1]",     "http://a:65535?x"};
    static const char *const bad[] = {"",
                                      "ftp://a",
                                      "file:///etc/passwd",
                                      "http://",
                                      "http:///x",
                                      "http://u:p@a/",
                                      "http://a/#x",
                                      "http://a b",
                                      "http://a\n",
                                      "http://\xc3\xa4",
                                      "//a",
                                      "HTTP://a",
                                      "http://:80/",
                                      "http://a:65536/",
                                      "http://a:0",
                                      "http://a:",
                                      "http://a:8x/",
                                      "http://::1/",
                                      "http://[::1",
                                      "http://[::1]80",
                                      "http://?"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK_STR(hook_is_url(good[i]) ? "good" : good[i], "good");
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_STR(hook_is_url(bad[i]) ? bad[i] : "", "");
    }
    char url[HOOK_URL_MAX + 2];
    memset(url, 'a', sizeof url);
    memcpy(url, "http://", 7);
    url[HOOK_URL_MAX + 1] = '\0';
    CHECK(!hook_is_url(url));
    url[HOOK_URL_MAX] = '\0';
    CHECK(hook_is_url(url));
}

/* --- the queue --- */

struct sent {
    const char *group, *build;
    uint64_t time_ns, count;
    uint32_t kind;       /* 0: a stall */
    bool is_dropped;     /* its transaction is rolled back */
    bool waits;          /* for symbols */
    uint64_t arrives_ns; /* 0: at time_ns */
};

static uint8_t next_id;

static void add(struct store *store, const struct sent *sent)
{
    struct digest_event event = {.kind = sent->kind != 0 ? sent->kind : DIGEST_STALL,
                                 .count = sent->count != 0 ? sent->count : 1,
                                 .total_ns = 100,
                                 .longest_ns = 100};
    snprintf(event.group, sizeof event.group, "%s", sent->group);
    snprintf(event.title, sizeof event.title, "title of %s", sent->group);
    struct digest digest = {.kind = 2,
                            .time_ns = sent->time_ns,
                            .program = (char *)(uintptr_t) "p",
                            .build = (char *)(uintptr_t)sent->build,
                            .device = (char *)(uintptr_t) "m",
                            .os = (char *)(uintptr_t) "o",
                            .arch = (char *)(uintptr_t) "a",
                            .events = &event,
                            .event_count = 1};
    if (sent->waits) {
        digest.wants = (struct digest_wants){.ids = {{.size = 1, .bytes = {7}}}, .count = 1};
    }
    struct store_report report = {.project = 1,
                                  .received_ns =
                                      sent->arrives_ns != 0 ? sent->arrives_ns : sent->time_ns,
                                  .size_bytes = 1,
                                  .digest = &digest};
    report.id.bytes[0] = sent->is_dropped ? (uint8_t)(next_id + 1) : ++next_id;
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(store_add_report(store, &report), STORE_OK);
    if (sent->is_dropped) {
        store_rollback(store);
    } else {
        CHECK_EQ(store_commit(store, (struct journal_place){1, next_id}), STORE_OK);
    }
}

static const struct store_actor me = {7, 5};

static int64_t add_hook(struct store *store, uint32_t project, uint32_t events, uint32_t kinds)
{
    int64_t number = 0;
    const struct store_hook hook = {.project = project,
                                    .url = "http://a/",
                                    .events = events,
                                    .kinds = kinds,
                                    .secret = {{(uint8_t)(events + kinds)}}};
    CHECK_EQ(store_add_hook(store, &me, &hook, &number), STORE_OK);
    return number;
}

static struct store *open_with_projects(void)
{
    uint32_t project;
    struct store *store = stores_open();
    CHECK_EQ(store_add_project(store, "one", 1, &project), STORE_OK);
    CHECK_EQ(store_add_project(store, "two", 1, &project), STORE_OK);
    CHECK_EQ(project, 2);
    return store;
}

struct queue {
    int64_t hooks[8], messages[8];
    unsigned count;
};

static void take_due(void *ctx, int64_t hook, int64_t message)
{
    struct queue *queue = ctx;
    CHECK(queue->count < 8);
    queue->hooks[queue->count] = hook;
    queue->messages[queue->count++] = message;
}

static struct queue due_at(struct store *store, uint64_t now_ns)
{
    struct queue queue = {.count = 0};
    CHECK_EQ(store_due_messages(store, now_ns, take_due, &queue), STORE_OK);
    return queue;
}

/* Take all messages of a hook; returns "TYPE GROUP BUILD" of each. ids: or null. */
static char *drain(struct store *store, int64_t hook, char (*ret_ids)[HOOK_ID_TEXT])
{
    static char text[400];
    text[0] = '\0';
    for (unsigned count = 0;; count++) {
        struct queue queue = due_at(store, INT64_MAX);
        struct store_message message;
        unsigned i = 0;
        while (i < queue.count && queue.hooks[i] != hook) {
            i++;
        }
        if (i == queue.count) {
            return text;
        }
        CHECK_EQ(store_claim_message(store, queue.messages[i], INT64_MAX, INT64_MAX, &message),
                 STORE_OK);
        CHECK(message.hook == hook && message.tries == 1);
        struct json *json = json_parse(message.body);
        const struct json *data = json_need(json, "data");
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s %s %s\n", json_text(json, "type"),
                 json_text(data, "cause"), json_text(data, "build"));
        if (ret_ids != NULL) {
            snprintf(ret_ids[count], HOOK_ID_TEXT, "%s", message.id);
        }
        json_free(json);
        bool is_disabled;
        const struct store_answer taken = {.what = STORE_MESSAGE_TAKEN, .now_ns = 9, .text = "200"};
        CHECK_EQ(store_settle_message(store, &message, &taken, &is_disabled), STORE_OK);
        CHECK(!is_disabled);
        store_free_message(&message);
    }
}

static const uint32_t all_kinds = 0x1e;

TEST_OF_STORES(new_groups_and_regressions_are_told_with_their_events)
{
    char ids[8][HOOK_ID_TEXT];
    struct store *store = open_with_projects();
    int64_t all = add_hook(store, 1, HOOK_EVENTS_ALL, all_kinds);
    int64_t back = add_hook(store, 1, HOOK_REGRESSED, all_kinds);
    int64_t calls = add_hook(store, 1, HOOK_EVENTS_ALL, 1u << DIGEST_CALL);
    int64_t other = add_hook(store, 2, HOOK_EVENTS_ALL, all_kinds);
    add(store, &(struct sent){"a", "1", HOUR_NS});
    add(store, &(struct sent){"x", "1", HOUR_NS, .is_dropped = true});
    CHECK_EQ(store_messages(store), 1);
    add(store, &(struct sent){"a", "1", 2 * HOUR_NS});
    add(store, &(struct sent){"b", "1", 2 * HOUR_NS, .kind = DIGEST_CALL});
    const struct state_mark mark = {.state = STATE_RESOLVED_IN, .since_ns = 1, .build = "2"};
    CHECK_EQ(store_set_state(store, &me, 1, 1, &mark), STORE_OK);
    add(store, &(struct sent){"a", "1", 3 * HOUR_NS});
    add(store, &(struct sent){"a", "2", 4 * HOUR_NS});
    add(store, &(struct sent){"a", "2", 5 * HOUR_NS});
    CHECK_STR(drain(store, all, ids), "group.new a 1\ngroup.new b 1\ngroup.regressed a 2\n");
    CHECK(strcmp(ids[0], ids[1]) != 0 && strcmp(ids[0], ids[2]) != 0);
    CHECK_STR(drain(store, back, NULL), "group.regressed a 2\n");
    CHECK_STR(drain(store, calls, NULL), "group.new b 1\n");
    CHECK_STR(drain(store, other, NULL), "");
    CHECK_EQ(store_messages(store), 0);
    store_close(store);
}

/* The same report, read again by a collector whose database lost it with its power. */
TEST(message_that_is_made_again_has_its_id)
{
    char one[8][HOOK_ID_TEXT], again[8][HOOK_ID_TEXT];
    struct store *store = open_with_projects();
    int64_t hook = add_hook(store, 1, HOOK_NEW, all_kinds);
    add(store, &(struct sent){"a", "1", HOUR_NS});
    CHECK_STR(drain(store, hook, one), "group.new a 1\n");
    store_close(store);
    char path[512];
    snprintf(path, sizeof path, "rm '%s'/collector.db*", test_folder());
    CHECK_EQ(system(path), 0);
    next_id--;
    store = open_with_projects();
    hook = add_hook(store, 1, HOOK_NEW, all_kinds);
    add(store, &(struct sent){"z", "1", HOUR_NS, .is_dropped = true});
    add(store, &(struct sent){"a", "1", HOUR_NS});
    CHECK_STR(drain(store, hook, again), "group.new a 1\n");
    CHECK_STR(one[0], again[0]);
    store_close(store);
}

/* Twenty in an hour, after hours of one, two and three; once in a day. */
TEST_OF_STORES(spikes_are_told_once)
{
    struct store *store = open_with_projects();
    int64_t hook = add_hook(store, 1, HOOK_SPIKING, all_kinds);
    for (unsigned hour = 1; hour <= 3; hour++) {
        add(store, &(struct sent){"a", "1", hour * HOUR_NS, .count = hour});
    }
    for (unsigned i = 0; i < 19; i++) {
        add(store, &(struct sent){"a", "2", 48 * HOUR_NS + i});
    }
    CHECK_STR(drain(store, hook, NULL), "");
    add(store, &(struct sent){"a", "2", 48 * HOUR_NS + 19, .is_dropped = true});
    CHECK_STR(drain(store, hook, NULL), "");
    for (unsigned i = 19; i < 40; i++) {
        add(store, &(struct sent){"a", "2", 48 * HOUR_NS + i});
    }
    CHECK_STR(drain(store, hook, NULL), "group.spiking a 2\n");
    add(store, &(struct sent){"a", "2", 71 * HOUR_NS, .count = 1000}); /* within a day */
    CHECK_STR(drain(store, hook, NULL), "");
    add(store, &(struct sent){"a", "2", 72 * HOUR_NS + HOUR_NS / 2, .count = 100});
    CHECK_STR(drain(store, hook, NULL), "group.spiking a 2\n");
    add(store, &(struct sent){"a", "2", 97 * HOUR_NS, .count = 104}); /* of 1 2 3 40 100 1000 */
    CHECK_STR(drain(store, hook, NULL), "");
    add(store, &(struct sent){"a", "3", 97 * HOUR_NS, .count = 10});
    CHECK_STR(drain(store, hook, NULL), "group.spiking a 3\n");
    add(store, &(struct sent){"a", "3", 300 * HOUR_NS, .count = 20}); /* all hours are old */
    CHECK_STR(drain(store, hook, NULL), "group.spiking a 3\n");
    store_close(store);
}

TEST_OF_STORES(late_and_ignored_events_are_no_spike)
{
    int64_t joint;
    struct store *store = open_with_projects();
    int64_t hook = add_hook(store, 1, HOOK_SPIKING, all_kinds);
    add(store, &(struct sent){"a", "1", HOUR_NS});
    add(store, &(struct sent){"b", "1", HOUR_NS});
    add(store, &(struct sent){"a", "1", 48 * HOUR_NS, .count = 100, .arrives_ns = 50 * HOUR_NS});
    CHECK_STR(drain(store, hook, NULL), "");
    const struct state_mark mark = {.state = STATE_IGNORED, .since_ns = 1, .build = ""};
    CHECK_EQ(store_set_state(store, &me, 1, 1, &mark), STORE_OK);
    add(store, &(struct sent){"a", "1", 60 * HOUR_NS, .count = 1000});
    CHECK_STR(drain(store, hook, NULL), "");
    const struct state_mark open = {.state = STATE_OPEN, .since_ns = 1, .build = ""};
    CHECK_EQ(store_set_state(store, &me, 1, 1, &open), STORE_OK);
    CHECK_EQ(store_join(store, &me, 1, 2, 1, &joint), STORE_OK);
    add(store, &(struct sent){"a", "1", 61 * HOUR_NS, .count = 250}); /* 1, 100 and 1000 before */
    CHECK_STR(drain(store, hook, NULL), "");
    add(store, &(struct sent){"b", "1", 61 * HOUR_NS, .count = 250});
    CHECK_STR(drain(store, hook, NULL), "group.spiking b 1\n");
    store_close(store);
}

static void take_waiting(void *ctx, const struct store_waiting *waiting)
{
    *(struct store_waiting *)ctx = *waiting;
}

/* A group that is made because symbols came has no new events. */
TEST_OF_STORES(groups_of_named_reports_are_not_told_again)
{
    struct store_waiting waiting = {.number = 0};
    static const struct sonde__build_id id = {.size = 1, .bytes = {7}};
    struct store *store = open_with_projects();
    int64_t hook = add_hook(store, 1, HOOK_NEW, all_kinds);
    add(store, &(struct sent){"a", "1", HOUR_NS, .waits = true});
    CHECK_STR(drain(store, hook, NULL), "group.new a 1\n");
    struct digest_event event = {.kind = DIGEST_STALL, .group = "named", .count = 1};
    const struct digest digest = {.kind = 2,
                                  .time_ns = HOUR_NS,
                                  .program = (char *)(uintptr_t) "p",
                                  .build = (char *)(uintptr_t) "1",
                                  .device = (char *)(uintptr_t) "m",
                                  .os = (char *)(uintptr_t) "o",
                                  .arch = (char *)(uintptr_t) "a",
                                  .events = &event,
                                  .event_count = 1};
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(store_waiting(store, 1, &id, 1, take_waiting, &waiting), STORE_OK);
    CHECK(waiting.number != 0);
    CHECK_EQ(store_regroup(store, &waiting, &digest), STORE_OK);
    CHECK_EQ(store_commit_change(store), STORE_OK);
    CHECK_STR(drain(store, hook, NULL), "");
    store_close(store);
}

static void take_hook(void *ctx, const struct store_hook *hook)
{
    struct store_hook *kept = ctx;
    if (hook->number == kept->number) {
        char *last = (char *)(uintptr_t)kept->last;
        snprintf(last, 100, "%s", hook->last);
        *kept = *hook;
        kept->last = last;
    }
}

static struct store_hook look(struct store *store, int64_t number, char last[100])
{
    struct store_hook hook = {.number = number, .last = last};
    last[0] = '\0';
    CHECK_EQ(store_hooks(store, 0, take_hook, &hook), STORE_OK);
    return hook;
}

static struct store_message claim(struct store *store, uint64_t now_ns, uint64_t until_ns)
{
    struct store_message message, same;
    struct queue queue = due_at(store, now_ns);
    CHECK_EQ(queue.count, 1);
    CHECK_EQ(store_claim_message(store, queue.messages[0], now_ns, until_ns, &message), STORE_OK);
    CHECK_EQ(store_claim_message(store, queue.messages[0], now_ns, until_ns, &same), STORE_ABSENT);
    CHECK_EQ(due_at(store, now_ns).count, 0);
    return message;
}

/* One collector has a message until it is due again; then another one may take it. */
TEST_OF_STORES(message_is_claimed_once)
{
    bool is_disabled;
    char last[100];
    struct store *store = open_with_projects();
    int64_t hook = add_hook(store, 1, HOOK_NEW, all_kinds);
    add(store, &(struct sent){"a", "1", HOUR_NS});
    CHECK_EQ(due_at(store, HOUR_NS - 1).count, 0);
    struct store_message message = claim(store, HOUR_NS, 2 * HOUR_NS);
    CHECK_EQ(message.tries, 1);
    store_free_message(&message);
    message = claim(store, 2 * HOUR_NS, 3 * HOUR_NS); /* the first did not come back */
    CHECK_EQ(message.tries, 2);
    store_free_message(&message);
    CHECK_EQ(store_release_messages(store), STORE_OK); /* a new start */
    message = claim(store, 2 * HOUR_NS, 3 * HOUR_NS);
    CHECK_EQ(message.tries, 3);
    const struct store_answer later = {.what = STORE_MESSAGE_LATER,
                                       .now_ns = 2 * HOUR_NS,
                                       .next_ns = 10 * HOUR_NS,
                                       .text = "status 500"};
    CHECK_EQ(store_settle_message(store, &message, &later, &is_disabled), STORE_OK);
    store_free_message(&message);
    CHECK_EQ(due_at(store, 10 * HOUR_NS - 1).count, 0);
    CHECK_EQ(due_at(store, 10 * HOUR_NS).count, 1);
    CHECK_EQ(look(store, hook, last).waiting, 1);
    CHECK_STR(last, "status 500");
    store_close(store);
}

/* It is due in two days, by a clock that is set back by a year then. */
TEST_OF_STORES(message_is_due_after_the_clock_was_set_back)
{
    const uint64_t year_ns = 365 * 24 * HOUR_NS;
    struct store *store = open_with_projects();
    (void)add_hook(store, 1, HOOK_NEW, all_kinds);
    add(store, &(struct sent){"a", "1", 2 * year_ns});
    struct store_message message = claim(store, 2 * year_ns, 2 * year_ns + 48 * HOUR_NS);
    store_free_message(&message);
    CHECK_EQ(due_at(store, 2 * year_ns - 6 * 24 * HOUR_NS).count, 0); /* it may wait for a week */
    message = claim(store, year_ns, year_ns + 48 * HOUR_NS);
    CHECK_EQ(message.tries, 2);
    store_free_message(&message);
    store_close(store);
}

TEST_OF_STORES(hook_that_takes_nothing_is_disabled)
{
    bool is_disabled = true;
    char last[100];
    struct store *store = open_with_projects();
    int64_t hook = add_hook(store, 1, HOOK_NEW, all_kinds);
    struct store_answer answer = {
        .what = STORE_MESSAGE_GIVEN_UP, .now_ns = 3 * HOUR_NS, .text = "no"};
    add(store, &(struct sent){"a", "1", HOUR_NS});
    struct store_message first = claim(store, HOUR_NS, 9 * HOUR_NS);
    add(store, &(struct sent){"b", "1", 2 * HOUR_NS});
    struct store_message second = claim(store, 2 * HOUR_NS, 9 * HOUR_NS);
    const struct store_answer taken = {
        .what = STORE_MESSAGE_TAKEN, .now_ns = 2 * HOUR_NS, .text = ""};
    CHECK_EQ(store_settle_message(store, &second, &taken, &is_disabled), STORE_OK);
    CHECK_EQ(store_settle_message(store, &first, &answer, &is_disabled), STORE_OK);
    CHECK(!is_disabled); /* it took the second one meanwhile */
    store_free_message(&first);
    store_free_message(&second);
    add(store, &(struct sent){"c", "1", 4 * HOUR_NS});
    first = claim(store, 4 * HOUR_NS, 9 * HOUR_NS);
    add(store, &(struct sent){"d", "1", 5 * HOUR_NS});
    CHECK_EQ(store_settle_message(store, &first, &answer, &is_disabled), STORE_OK);
    CHECK(is_disabled);
    store_free_message(&first);
    CHECK_EQ(store_messages(store), 0);
    CHECK_EQ(look(store, hook, last).given_up, 3);
    CHECK_EQ(look(store, hook, last).sent, 1);
    CHECK_EQ(look(store, hook, last).disabled_ns, 3 * HOUR_NS);
    add(store, &(struct sent){"e", "1", 6 * HOUR_NS});
    CHECK_EQ(store_messages(store), 0);
    CHECK_EQ(store_enable_hook(store, &me, 2, hook), STORE_ABSENT);
    add(store, &(struct sent){"f", "1", 7 * HOUR_NS});
    CHECK_EQ(store_messages(store), 0);
    CHECK_EQ(store_enable_hook(store, &me, 1, hook), STORE_OK);
    CHECK_EQ(look(store, hook, last).disabled_ns, 0);
    CHECK_EQ(store_messages(store), 0); /* what was missed is not sent */
    add(store, &(struct sent){"g", "1", 8 * HOUR_NS});
    CHECK_EQ(store_messages(store), 1);
    store_close(store);
}

TEST_OF_STORES(hook_that_is_gone_is_disabled)
{
    bool is_disabled = false;
    char id[HOOK_ID_TEXT];
    struct store *store = open_with_projects();
    int64_t hook = add_hook(store, 1, HOOK_NEW, all_kinds);
    const struct store_answer gone = {.what = STORE_MESSAGE_GONE, .now_ns = HOUR_NS, .text = "410"};
    CHECK_EQ(store_test_hook(store, &me, 2, hook, id), STORE_ABSENT);
    CHECK_EQ(store_test_hook(store, &me, 1, hook, id), STORE_OK);
    struct store_message message = claim(store, HOUR_NS, 2 * HOUR_NS);
    CHECK_STR(message.id, id);
    CHECK_CONTAINS(message.body, "\"type\"");
    CHECK_EQ(store_settle_message(store, &message, &gone, &is_disabled), STORE_OK);
    CHECK(is_disabled);
    store_free_message(&message);
    CHECK_EQ(store_test_hook(store, &me, 1, hook, id), STORE_ABSENT);
    CHECK_EQ(store_messages(store), 0);
    store_close(store);
}

TEST_OF_STORES(hooks_are_added_and_removed)
{
    int64_t number = 0;
    char last[100];
    struct store *store = open_with_projects();
    for (unsigned i = 0; i < STORE_HOOKS_MAX; i++) {
        number = add_hook(store, 1, HOOK_NEW, all_kinds);
    }
    const struct store_hook one_more = {.project = 1, .url = "http://a/", .events = HOOK_NEW};
    CHECK_EQ(store_add_hook(store, &me, &one_more, &number), STORE_UNFIT);
    add(store, &(struct sent){"a", "1", HOUR_NS});
    CHECK_EQ(store_messages(store), STORE_HOOKS_MAX);
    CHECK_EQ(store_remove_hook(store, &me, 2, number), STORE_ABSENT);
    CHECK_EQ(store_remove_hook(store, &me, 1, number), STORE_OK);
    CHECK_EQ(store_remove_hook(store, &me, 0, number), STORE_ABSENT);
    CHECK_EQ(store_messages(store), STORE_HOOKS_MAX - 1);
    CHECK(look(store, number, last).url == NULL);
    CHECK_EQ(look(store, number - 1, last).secret.bytes[0], HOOK_NEW + all_kinds);
    store_close(store);
}

/* What the queue has no room for is counted, and nothing waits for it. */
TEST_OF_STORES(queue_of_a_hook_is_bounded)
{
    char last[100], id[HOOK_ID_TEXT];
    struct store *store = open_with_projects();
    int64_t hook = add_hook(store, 1, HOOK_NEW, all_kinds);
    CHECK_EQ(store_begin(store), STORE_OK);
    for (unsigned i = 0; i < STORE_MESSAGES_MAX + 3; i += DIGEST_EVENTS_MAX) {
        static struct digest_event events[DIGEST_EVENTS_MAX];
        struct digest digest = {.kind = 2,
                                .program = (char *)(uintptr_t) "p",
                                .build = (char *)(uintptr_t) "1",
                                .device = (char *)(uintptr_t) "m",
                                .os = (char *)(uintptr_t) "o",
                                .arch = (char *)(uintptr_t) "a",
                                .events = events};
        struct store_report report = {
            .project = 1, .received_ns = HOUR_NS, .size_bytes = 1, .digest = &digest};
        report.id.bytes[0] = (uint8_t)(1 + i / DIGEST_EVENTS_MAX);
        for (unsigned k = i; k < STORE_MESSAGES_MAX + 3 && k - i < DIGEST_EVENTS_MAX; k++) {
            events[digest.event_count] =
                (struct digest_event){.kind = DIGEST_STALL, .count = 1, .total_ns = 1};
            snprintf(events[digest.event_count++].group, DIGEST_GROUP_TEXT, "g%u", k);
        }
        CHECK_EQ(store_add_report(store, &report), STORE_OK);
    }
    CHECK_EQ(store_commit_change(store), STORE_OK);
    CHECK_EQ(store_messages(store), STORE_MESSAGES_MAX);
    CHECK_EQ(look(store, hook, last).lost, 3);
    CHECK_EQ(due_at(store, HOUR_NS).count, 1);
    CHECK_EQ(store_test_hook(store, &me, 1, hook, id), STORE_OK);
    store_close(store);
}
