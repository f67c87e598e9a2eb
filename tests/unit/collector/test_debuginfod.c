// SPDX-License-Identifier: Apache-2.0
/* Which debuginfod servers there are, when an id is asked for again, and what is asked for first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asked.h"
#include "servers.h"
#include "stores.h"
#include "test.h"

#define SECOND_NS ((uint64_t)1000000000u)
#define DAY_NS    (86400 * SECOND_NS)

/* --- servers --- */

TEST(servers_are_http_addresses)
{
    struct servers servers;
    char name[SERVERS_NAME];
    CHECK(servers_parse("", &servers) == NULL);
    CHECK_EQ(servers.count, 0);
    CHECK(servers_parse(" https://a.example/,http://x:p%40@b:8002/sub//  https://c", &servers) ==
          NULL);
    CHECK_EQ(servers.count, 3);
    CHECK_STR(servers.urls[0], "https://a.example");
    CHECK_STR(servers.urls[1], "http://x:p%40@b:8002/sub");
    CHECK_STR(servers.urls[2], "https://c");
    servers_name(&servers, 1, name);
    CHECK_STR(name, "b:8002");
    static const char *const bad[] = {
        "file:///etc/passwd", "ftp://a",        "a.example",    "http://",       "https:///",
        "http://x:y@",        "http://x@/path", "http://a?b=c", "http://a#b",    "http://a\tb",
        "http://a\nb",        "http://a\"b",    "HTTP://a",     "http://a http", "http://:80"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(servers_parse(bad[i], &servers) != NULL);
    }
}

TEST(servers_are_few_and_short)
{
    char text[SERVERS_URL + 64] = "http://";
    struct servers servers;
    CHECK(servers_parse("http://1,http://2,http://3,http://4,http://5,http://6,http://7,http://8,",
                        &servers) == NULL);
    CHECK_EQ(servers.count, SERVERS_MAX);
    CHECK(servers_parse("http://1,http://2,http://3,http://4,http://5,http://6,http://7,http://8,"
                        "http://9",
                        &servers) != NULL);
    memset(text + 7, 'a', SERVERS_URL - 8);
    CHECK(servers_parse(text, &servers) == NULL);
    CHECK_EQ(strlen(servers.urls[0]), SERVERS_URL - 1);
    text[SERVERS_URL - 1] = 'a';
    CHECK(servers_parse(text, &servers) != NULL);
}

/* --- what was asked --- */

static struct sonde__build_id id_of(uint32_t number)
{
    struct sonde__build_id id = {.size = ASKED_ID};
    memcpy(id.bytes, &number, sizeof number);
    return id;
}

TEST(absent_id_is_asked_again_after_a_day)
{
    struct asked *asked = asked_begin(60);
    const struct sonde__build_id id = id_of(1), other = id_of(1 + ASKED_SETS);
    uint32_t absent = 7;
    CHECK(asked_is_due(asked, &id, 5, &absent));
    CHECK_EQ(absent, 0);
    asked_keep_absent(asked, &id, 5);
    CHECK(!asked_is_due(asked, &id, 5 + DAY_NS - 1, &absent));
    CHECK(asked_is_due(asked, &other, 5, &absent)); /* the same place, not the same id */
    CHECK(asked_is_due(asked, &id, 5 + DAY_NS, &absent));
    CHECK_EQ(absent, 0);
    asked_end(asked);
}

TEST(failed_id_is_asked_again_later_and_later)
{
    struct asked *asked = asked_begin(60);
    const struct sonde__build_id id = id_of(1);
    uint64_t now_ns = 5;
    uint32_t absent;
    for (uint32_t i = 0; i < 40; i++) {
        uint64_t wait_s = i < 11 ? (uint64_t)60 << i : 86400;
        asked_keep_failed(asked, &id, now_ns, 6);
        CHECK(!asked_is_due(asked, &id, now_ns + wait_s * SECOND_NS - 1, &absent));
        now_ns += wait_s * SECOND_NS;
        CHECK(asked_is_due(asked, &id, now_ns, &absent));
        CHECK_EQ(absent, 6);
    }
    asked_keep_absent(asked, &id, now_ns);
    asked_keep_failed(asked, &id, now_ns, 1); /* its failures are counted anew */
    CHECK(asked_is_due(asked, &id, now_ns + 60 * SECOND_NS, &absent));
    asked_end(asked);
    CHECK_EQ(asked_wait_s(60, UINT32_MAX, 3600), 3600);
    CHECK_EQ(asked_wait_s(7200, 1, 3600), 3600);
    CHECK_EQ(asked_wait_s(60, 0, 3600), 60);
}

/* More ids than it has room for: all are remembered or forgotten, and the table stays right. */
TEST(table_of_asked_ids_is_bounded)
{
    struct asked *asked = asked_begin(60);
    uint32_t absent, known = 0, many = 3 * ASKED_SETS * ASKED_WAYS;
    for (uint32_t i = 0; i < many; i++) {
        const struct sonde__build_id id = id_of(i);
        asked_keep_absent(asked, &id, 1 + i);
    }
    for (uint32_t i = 0; i < many; i++) {
        const struct sonde__build_id id = id_of(i);
        bool is_known = !asked_is_due(asked, &id, 1 + many, &absent);
        CHECK_EQ(is_known, i >= many - ASKED_SETS * ASKED_WAYS); /* the last ones */
        known += is_known;
    }
    CHECK_EQ(known, ASKED_SETS * ASKED_WAYS);
    asked_end(asked);
}

/* --- what is waited for --- */

struct wants {
    unsigned count;
    uint8_t first[64];
    uint64_t reports[64];
};

static void take(void *ctx, const struct sonde__build_id *id, uint64_t reports)
{
    struct wants *wants = ctx;
    CHECK(wants->count < 64);
    wants->first[wants->count] = id->bytes[0];
    wants->reports[wants->count++] = reports;
}

/* A report of a project that waits for some ids, which are given as their first bytes. */
static void add(struct store *store, uint32_t project, uint8_t number, const char *ids)
{
    struct digest digest = {.kind = 2,
                            .program = (char *)(uintptr_t) "p",
                            .build = (char *)(uintptr_t) "b",
                            .device = (char *)(uintptr_t) "",
                            .os = (char *)(uintptr_t) "o",
                            .arch = (char *)(uintptr_t) "a"};
    struct store_report report = {.project = project, .received_ns = 1, .digest = &digest};
    for (; *ids != '\0'; ids++) {
        digest.wants.ids[digest.wants.count++] =
            (struct sonde__build_id){.size = ASKED_ID, .bytes = {(uint8_t)*ids}};
    }
    report.id.bytes[0] = report.blob.bytes[0] = number;
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(store_add_report(store, &report), STORE_OK);
    CHECK_EQ(store_commit(store, (struct journal_place){1, number}), STORE_OK);
}

static void check_wants(struct store *store, uint32_t limit, int64_t *at, const char *expected)
{
    struct wants wants = {.count = 0};
    char text[64 * 24] = "";
    CHECK_EQ(store_wants_of_all(store, limit, at, take, &wants), STORE_OK);
    for (unsigned i = 0; i < wants.count; i++) {
        size_t size = strlen(text);
        snprintf(text + size, sizeof text - size, "%c%llu ", wants.first[i],
                 (unsigned long long)wants.reports[i]);
    }
    CHECK_STR(text, expected);
}

TEST_OF_STORES(newest_wants_of_all_projects_come_first)
{
    struct store *store = stores_open();
    uint32_t one, two;
    int64_t at = 0;
    CHECK_EQ(store_add_project(store, "one", 1, &one), STORE_OK);
    CHECK_EQ(store_add_project(store, "two", 1, &two), STORE_OK);
    check_wants(store, 5, &at, "");
    CHECK_EQ(at, 0);
    add(store, one, 1, "abc");
    add(store, two, 2, "bd");
    add(store, one, 3, "d");
    add(store, two, 4, "de");
    check_wants(store, 100, &at, "d3 b2 a1 c1 e1 ");
    CHECK_EQ(at, 0);
    check_wants(store, 4, &at, "d3 e1 "); /* of the second report it has d only */
    CHECK(at != 0);
    check_wants(store, 4, &at, "b2 c1 d1 ");
    CHECK(at != 0);
    check_wants(store, 4, &at, "a1 b1 c1 ");
    CHECK_EQ(at, 0);
    store_close(store);
}
