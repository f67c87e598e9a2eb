// SPDX-License-Identifier: Apache-2.0
/* What each answer means. */
#include "upload_answer.h"

#include <stdio.h>
#include <string.h>

#include "test.h"
#include "upload_json.h"

#define ID "0123456789abcdef0123456789abcdef"

static struct sonde__upload_reply reply;
static struct sonde__upload_verdict verdict;

static const struct sonde__upload_address collector = {.protocol = SONDE__UPLOAD_COLLECTOR};
static const struct sonde__upload_address sentry = {.protocol = SONDE__UPLOAD_SENTRY};

static void header(const char *line)
{
    reply.to.header(&reply.to, line, strlen(line));
}

/* As a transport would pass it on; headers: lines, or null. */
static void judge(const struct sonde__upload_address *address, int32_t status, const char *headers,
                  const char *body)
{
    sonde__upload_reply_clear(&reply, NULL);
    for (const char *line = headers; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');
        reply.to.header(&reply.to, line, end != NULL ? (size_t)(end - line) + 1 : strlen(line));
        line = end != NULL ? end + 1 : NULL;
    }
    (void)reply.to.body(&reply.to, body, strlen(body));
    reply.to.status(&reply.to, status);
    sonde__upload_judge(&reply, address, ID, SONDE_UPLOAD_IDENTITY, 1000, &verdict);
}

TEST(each_status_has_its_meaning)
{
    static const struct {
        int32_t status;
        enum sonde__upload_meaning meaning;
    } all[] = {
        {200, SONDE__UPLOAD_DONE},    {201, SONDE__UPLOAD_DONE},    {204, SONDE__UPLOAD_DONE},
        {301, SONDE__UPLOAD_STOP},    {302, SONDE__UPLOAD_STOP},    {304, SONDE__UPLOAD_STOP},
        {308, SONDE__UPLOAD_STOP},    {400, SONDE__UPLOAD_REFUSAL}, {401, SONDE__UPLOAD_STOP},
        {402, SONDE__UPLOAD_STOP},    {403, SONDE__UPLOAD_STOP},    {404, SONDE__UPLOAD_STOP},
        {405, SONDE__UPLOAD_STOP},    {408, SONDE__UPLOAD_RETRY},   {409, SONDE__UPLOAD_STOP},
        {410, SONDE__UPLOAD_STOP},    {413, SONDE__UPLOAD_REFUSAL}, {415, SONDE__UPLOAD_REFUSAL},
        {422, SONDE__UPLOAD_REFUSAL}, {425, SONDE__UPLOAD_RETRY},   {426, SONDE__UPLOAD_STOP},
        {429, SONDE__UPLOAD_RETRY},   {500, SONDE__UPLOAD_RETRY},   {502, SONDE__UPLOAD_RETRY},
        {503, SONDE__UPLOAD_RETRY},   {507, SONDE__UPLOAD_RETRY},   {599, SONDE__UPLOAD_RETRY},
        {999, SONDE__UPLOAD_RETRY},   {100, SONDE__UPLOAD_RETRY},   {0, SONDE__UPLOAD_RETRY},
        {-1, SONDE__UPLOAD_RETRY},    {1000, SONDE__UPLOAD_RETRY},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        judge(&collector, all[i].status, "Sonde-Protocol: 1\r\n", "");
        if (verdict.meaning != all[i].meaning) {
            FAIL("%d means %d", (int)all[i].status, (int)verdict.meaning);
        }
        CHECK((verdict.why[0] == '\0') == (verdict.meaning == SONDE__UPLOAD_DONE));
    }
}

TEST(a_page_that_no_collector_wrote_is_no_success)
{
    judge(&collector, 200, "Content-Type: text/html\r\n", "<html>Welcome to our hotel</html>");
    CHECK_EQ(verdict.meaning, SONDE__UPLOAD_RETRY);
    CHECK_CONTAINS(verdict.why, "login page");
    judge(&collector, 200, "sonde-protocol:  1  \r\n", "{\"id\": \"" ID "\"}");
    CHECK_EQ(verdict.meaning, SONDE__UPLOAD_DONE);
    judge(&collector, 200, "Sonde-Protocol: 2\r\n", ""); /* a version that we did not offer */
    CHECK_EQ(verdict.meaning, SONDE__UPLOAD_RETRY);
    judge(&collector, 200, "Sonde-Protocol: 1\r\n",
          "{\"id\":\"ffffffffffffffffffffffffffffffff\"}");
    CHECK_EQ(verdict.meaning, SONDE__UPLOAD_RETRY);
    CHECK_CONTAINS(verdict.why, "another report");
    judge(&sentry, 200, NULL, "<html>Welcome to our hotel</html>");
    CHECK_EQ(verdict.meaning, SONDE__UPLOAD_RETRY);
    judge(&sentry, 200, NULL, "{}");
    CHECK_EQ(verdict.meaning, SONDE__UPLOAD_DONE);
    judge(&sentry, 200, NULL, "{\"id\":\"0123456789ABCDEF0123456789abcdef\"}");
    CHECK_EQ(verdict.meaning, SONDE__UPLOAD_DONE);
}

TEST(the_server_names_what_symbols_it_lacks)
{
    judge(&collector, 200, "Sonde-Protocol: 1\r\n",
          "{\"id\":\"" ID "\",\"need_symbols\":[\"0123456789abcdef\", \"xyz\", \"ABCDEF0123\", "
          "\"abc\", 7, [\"aaaaaaaaaa\"], "
          "\"00112233445566778899aabbccddeeff00112233\"],\"x\":{\"id\":\"q\"}}");
    CHECK_EQ(verdict.meaning, SONDE__UPLOAD_DONE);
    CHECK_EQ(verdict.need_count, 2);
    CHECK_STR(verdict.need[0], "0123456789abcdef");
    CHECK_STR(verdict.need[1], "00112233445566778899aabbccddeeff00112233");
}

TEST(more_needs_than_fit_are_left_for_the_next_answer)
{
    static char body[16384];
    size_t at = (size_t)snprintf(body, sizeof body, "{\"need_symbols\":[");
    for (unsigned i = 0; i < 300; i++) {
        at += (size_t)snprintf(body + at, sizeof body - at, "%s\"%016x\"", i > 0 ? "," : "", i);
    }
    snprintf(body + at, sizeof body - at, "]}");
    judge(&collector, 200, "Sonde-Protocol: 1\r\n", body);
    CHECK_EQ(verdict.need_count, SONDE__UPLOAD_NEED_MAX);
    /* and of one that is cut none, but it is stored */
    body[strlen(body) - 1] = '\0';
    judge(&collector, 200, "Sonde-Protocol: 1\r\n", body);
    CHECK_EQ(verdict.need_count, 0);
    CHECK_EQ(verdict.meaning, SONDE__UPLOAD_DONE);
}

TEST(an_answer_that_never_ends_is_cut)
{
    static char page[8192];
    unsigned parts = 1;
    memset(page, 'a', sizeof page);
    sonde__upload_reply_clear(&reply, NULL);
    while (reply.to.body(&reply.to, page, sizeof page) == 0) {
        parts++;
    }
    CHECK_EQ(parts, SONDE__UPLOAD_BODY_MAX / sizeof page + 1);
    header("Sonde-Protocol: 1");
    reply.to.status(&reply.to, 200);
    sonde__upload_judge(&reply, &collector, ID, SONDE_UPLOAD_IDENTITY, 0, &verdict);
    CHECK_EQ(verdict.meaning, SONDE__UPLOAD_DONE);
    sonde__upload_judge(&reply, &sentry, ID, SONDE_UPLOAD_IDENTITY, 0, &verdict);
    CHECK_EQ(verdict.meaning, SONDE__UPLOAD_RETRY);
}

TEST(waits_are_those_that_the_answer_names)
{
    judge(&collector, 429, "Retry-After: 30\r\n", "");
    CHECK_EQ(verdict.wait_s, 30);
    judge(&collector, 503, "Retry-After: Thu, 01 Jan 1970 00:20:00 GMT\r\n", "");
    CHECK_EQ(verdict.wait_s, 200); /* it is 1000 here */
    judge(&collector, 500, NULL, "");
    CHECK_EQ(verdict.wait_s, 0);
    judge(&collector, 413, "Retry-After: 30\r\n", ""); /* never, so not later */
    CHECK_EQ(verdict.wait_s, 0);
    judge(&sentry, 200, "X-Sentry-Rate-Limits: 40:error:key\r\n", "{}");
    CHECK_EQ(verdict.meaning, SONDE__UPLOAD_DONE);
    CHECK_EQ(verdict.wait_s, 40);
    judge(&sentry, 429, "Retry-After: 5\r\nX-Sentry-Rate-Limits: 40::key\r\n", "");
    CHECK_EQ(verdict.wait_s, 40);
}

TEST(a_coding_that_is_not_taken_is_replaced_by_one_that_is)
{
    judge(&collector, 415, NULL, "");
    CHECK_EQ(verdict.meaning, SONDE__UPLOAD_REFUSAL);
    sonde__upload_judge(&reply, &collector, ID, SONDE_UPLOAD_GZIP, 0, &verdict);
    CHECK_EQ(verdict.meaning, SONDE__UPLOAD_RECODE);
    CHECK_EQ(verdict.coding, SONDE_UPLOAD_IDENTITY);
    sonde__upload_judge(&reply, &collector, ID, SONDE_UPLOAD_ZSTD, 0, &verdict);
    CHECK_EQ(verdict.coding, SONDE_UPLOAD_GZIP);
    judge(&collector, 415, "Accept-Encoding: identity\r\n", "");
    sonde__upload_judge(&reply, &collector, ID, SONDE_UPLOAD_ZSTD, 0, &verdict);
    CHECK_EQ(verdict.coding, SONDE_UPLOAD_IDENTITY);
    judge(&collector, 415, "Accept-Encoding: gzip;q=0, identity\r\n", "");
    sonde__upload_judge(&reply, &collector, ID, SONDE_UPLOAD_ZSTD, 0, &verdict);
    CHECK_EQ(verdict.coding, SONDE_UPLOAD_IDENTITY);
}

TEST(texts_of_a_server_are_shown_as_plain_ones)
{
    judge(&collector, 400, NULL, "{\"error\": \"no \\u001b[31mreport\\u00e9\\n\"}");
    CHECK_STR(verdict.why, "400: the server cannot read the report: no ?[31mreport??");
    judge(&sentry, 400, NULL, "{\"detail\":\"envelope too odd\"}");
    CHECK_CONTAINS(verdict.why, "envelope too odd");
    judge(&collector, 400, NULL, "{\"error\": \"x\"} and more");
    CHECK_STR(verdict.why, "400: the server cannot read the report");
}

static void count(void *ctx, const char *key, const char *text)
{
    (void)key, (void)text;
    ++*(unsigned *)ctx;
}

TEST(only_whole_objects_are_read)
{
    static const char *const good[] = {"{}", " {\"a\":1e9, \"b\":[true,false,null,{}]} ",
                                       "{\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\":\"x\"}"};
    static const char *const bad[] = {"",
                                      "[]",
                                      "{",
                                      "{}x",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{,}",
                                      "{\"a\":[1,]}",
                                      "{'a':1}",
                                      "{\"a\":\"\\x\"}",
                                      "{\"a\":\"\\u12\"}",
                                      "{\"a\":\"",
                                      "nul",
                                      "{\"a\":nul}"};
    char deep[400];
    unsigned found = 0;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (!sonde__upload_json_read(good[i], strlen(good[i]), count, &found)) {
            FAIL("refused: %s", good[i]);
        }
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (sonde__upload_json_read(bad[i], strlen(bad[i]), count, &found)) {
            FAIL("taken: %s", bad[i]);
        }
    }
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"a\":", 5);
    CHECK(!sonde__upload_json_read(deep, sizeof deep, count, &found));
}
