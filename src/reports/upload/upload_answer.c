// SPDX-License-Identifier: Apache-2.0
#include "upload_answer.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base_text.h"
#include "upload_json.h"
#include "upload_wait.h"

/* --- calls by the transport --- */

/* `to` is the first member. */
static struct sonde__upload_reply *own(struct sonde_upload_reply *to)
{
    return (struct sonde__upload_reply *)(void *)to;
}

static void take_status(struct sonde_upload_reply *to, int32_t status)
{
    own(to)->status = status >= 100 && status <= 999 ? status : 0;
}

/* Copy a server's text into a line of ours, as ASCII and cut. */
static void copy_plain(char *to, size_t capacity, const char *from, size_t size)
{
    size = size < capacity ? size : capacity - 1;
    for (size_t i = 0; i < size; i++) {
        to[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
    }
    to[size] = '\0';
}

static void take_header(struct sonde_upload_reply *to, const char *line, size_t line_bytes)
{
    struct sonde__upload_reply *reply = own(to);
    const struct {
        const char *name;
        char *value;
        size_t capacity;
    } known[] = {
        {"Retry-After", reply->retry_after, sizeof reply->retry_after},
        {"Date", reply->date, sizeof reply->date},
        {"X-Sentry-Rate-Limits", reply->rate_limits, sizeof reply->rate_limits},
        {"Accept-Encoding", reply->accept_encoding, sizeof reply->accept_encoding},
        {"Sonde-Protocol", reply->version, sizeof reply->version},
        {"Content-Type", reply->content_type, sizeof reply->content_type},
    };
    const char *colon = memchr(line, ':', line_bytes);
    if (colon == NULL) {
        return;
    }
    size_t name = (size_t)(colon - line), at = name + 1, end = line_bytes;
    while (at < end && (line[at] == ' ' || line[at] == '\t')) {
        at++;
    }
    while (end > at && (line[end - 1] == '\r' || line[end - 1] == '\n' || line[end - 1] == ' ')) {
        end--;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strlen(known[i].name) == name && strncasecmp(known[i].name, line, name) == 0) {
            copy_plain(known[i].value, known[i].capacity, line + at, end - at);
        }
    }
}

static int32_t take_body(struct sonde_upload_reply *to, const void *bytes, size_t size_bytes)
{
    struct sonde__upload_reply *reply = own(to);
    size_t room = sizeof reply->body - reply->body_bytes;
    size_t size = size_bytes < room ? size_bytes : room;
    if (size > 0) {
        memcpy(reply->body + reply->body_bytes, bytes, size);
    }
    reply->body_bytes += (uint32_t)size;
    reply->is_long = reply->is_long || size < size_bytes;
    return reply->is_long;
}

static void take_failure(struct sonde_upload_reply *to, enum sonde_upload_failure failure,
                         const char *why)
{
    struct sonde__upload_reply *reply = own(to);
    reply->failure = failure;
    copy_plain(reply->why, sizeof reply->why, why != NULL ? why : "",
               why != NULL ? strlen(why) : 0);
}

bool sonde__upload_is_over(const struct sonde__upload_limit *limit)
{
    return (limit->stop != NULL && atomic_load(limit->stop) != 0) ||
           (limit->until_ns != 0 && limit->now_ns(limit->ctx) >= limit->until_ns);
}

bool sonde__upload_reply_is_wanted(const struct sonde__upload_reply *reply)
{
    return !sonde__upload_is_over(&reply->limit);
}

static int32_t is_wanted(const struct sonde_upload_reply *to)
{
    return sonde__upload_reply_is_wanted((const struct sonde__upload_reply *)(const void *)to);
}

void sonde__upload_reply_clear(struct sonde__upload_reply *reply,
                               const struct sonde__upload_limit *limit)
{
    memset(reply, 0, offsetof(struct sonde__upload_reply, body));
    reply->limit = limit != NULL ? *limit : (struct sonde__upload_limit){.stop = NULL};
    reply->to = (struct sonde_upload_reply){.struct_bytes = sizeof reply->to,
                                            .status = take_status,
                                            .header = take_header,
                                            .body = take_body,
                                            .failed = take_failure,
                                            .wanted = is_wanted};
}

/* --- meaning --- */

struct said {
    struct sonde__upload_verdict *verdict;
    char id[80], error[128];
    bool has_id;
};

static bool is_build_id(const char *text)
{
    size_t size = strspn(text, "0123456789abcdef");
    return size >= 8 && size < SONDE__UPLOAD_NEED_TEXT && size % 2 == 0 && text[size] == '\0';
}

static void take_member(void *ctx, const char *key, const char *text)
{
    struct said *said = ctx;
    struct sonde__upload_verdict *verdict = said->verdict;
    if (strcmp(key, "id") == 0) {
        snprintf(said->id, sizeof said->id, "%s", text);
        said->has_id = true;
    } else if (strcmp(key, "error") == 0 || strcmp(key, "detail") == 0) { /* "detail" is Sentry's
                                                                           * name */
        copy_plain(said->error, sizeof said->error, text, strlen(text));
    } else if (strcmp(key, "need_symbols") == 0 && is_build_id(text) &&
               verdict->need_count < SONDE__UPLOAD_NEED_MAX) {
        snprintf(verdict->need[verdict->need_count++], SONDE__UPLOAD_NEED_TEXT, "%s", text);
    }
}

static void set_reason(struct sonde__upload_verdict *verdict, const char *what, const char *detail)
{
    struct sonde__text text;
    sonde__base_text_init(&text, verdict->why, sizeof verdict->why);
    sonde__base_text_str(&text, what);
    if (detail != NULL && detail[0] != '\0') {
        sonde__base_text_str(&text, ": ");
        sonde__base_text_str(&text, detail);
    }
}

static void judge_failure(const struct sonde__upload_reply *reply,
                          struct sonde__upload_verdict *verdict)
{
    static const char *const texts[] = {
        [SONDE_UPLOAD_ANSWERED] = "no answer",
        [SONDE_UPLOAD_UNREACHABLE] = "the server cannot be reached",
        [SONDE_UPLOAD_TIMED_OUT] = "no answer in time",
        [SONDE_UPLOAD_BROKEN_OFF] = "the connection ended before the answer did",
        [SONDE_UPLOAD_NOT_TRUSTED] = "the server's certificate is not trusted",
        [SONDE_UPLOAD_CANCELLED] = "given up, because the sender ends",
        [SONDE_UPLOAD_NOT_SUPPORTED] = "the transport cannot do that",
    };
    unsigned failure = reply->failure <= SONDE_UPLOAD_NOT_SUPPORTED ? reply->failure : 0;
    /* retry: a wrong certificate may be the current network's */
    verdict->meaning =
        failure == SONDE_UPLOAD_NOT_SUPPORTED ? SONDE__UPLOAD_STOP : SONDE__UPLOAD_RETRY;
    set_reason(verdict, texts[failure], reply->why);
}

/* A hotel's login page also answers 200: only an answer in the protocol counts as stored. */
static void judge_success(const struct sonde__upload_reply *reply,
                          const struct sonde__upload_address *address, const char *id,
                          bool is_object, const struct said *said,
                          struct sonde__upload_verdict *verdict)
{
    bool is_known = address->protocol == SONDE__UPLOAD_SENTRY
                        ? is_object && !reply->is_long
                        : strcmp(reply->version, SONDE__UPLOAD_VERSION) == 0;
    verdict->meaning = SONDE__UPLOAD_DONE;
    if (!is_known || (said->has_id && strcasecmp(said->id, id) != 0)) {
        verdict->meaning = SONDE__UPLOAD_RETRY;
        verdict->need_count = 0;
        set_reason(verdict,
                   is_known
                       ? "the answer is about another report"
                       : "the answer is none of a collector's: perhaps a login page of the network",
                   NULL);
    }
}

static bool names_coding(const char *list, const char *coding)
{
    const char *found = strstr(list, coding);
    return found != NULL && strncmp(found + strlen(coding), ";q=0", 4) != 0;
}

/* 415: choose another coding that the server names; if it names none, the next one (RFC 9110
 * §15.5.16). */
static void judge_coding(const struct sonde__upload_reply *reply, enum sonde_upload_coding coding,
                         struct sonde__upload_verdict *verdict)
{
    bool names = reply->accept_encoding[0] != '\0';
    verdict->meaning = SONDE__UPLOAD_RECODE;
    if (coding == SONDE_UPLOAD_ZSTD && (!names || names_coding(reply->accept_encoding, "gzip"))) {
        verdict->coding = SONDE_UPLOAD_GZIP;
    } else if (coding != SONDE_UPLOAD_IDENTITY) {
        verdict->coding = SONDE_UPLOAD_IDENTITY;
    } else {
        verdict->meaning = SONDE__UPLOAD_REFUSAL;
        set_reason(verdict, "the server does not take this kind of report", NULL);
    }
}

static bool is_for_later(int32_t status)
{
    return status == 408 || status == 425 || status == 429 || status >= 500 || status < 200;
}

static const char *text_of(int32_t status)
{
    return status == 400   ? "the server cannot read the report"
           : status == 401 ? "the server wants another key"
           : status == 403 ? "the server forbids it: key, project or quota"
           : status == 404 ? "nothing takes reports at this address"
           : status == 405 ? "nothing takes reports at this address"
           : status == 410 ? "nothing takes reports at this address any more"
           : status == 413 ? "the report is too large for the server"
           : status == 426 ? "the server speaks another version of the protocol"
           : status == 429 ? "the server has had enough for now"
           : status >= 500 ? "the server is in trouble"
           : status >= 300 && status < 400
               ? "the address has moved (redirects are not followed: give the new one)"
               : "the server did not take it";
}

static void judge_error(const struct sonde__upload_reply *reply, const char *error,
                        enum sonde_upload_coding coding, struct sonde__upload_verdict *verdict)
{
    int32_t status = reply->status;
    char what[128];
    snprintf(what, sizeof what, "%d: %s", (int)status, text_of(status));
    set_reason(verdict, what, error);
    if (is_for_later(status)) {
        verdict->meaning = SONDE__UPLOAD_RETRY;
    } else if (status == 415) {
        judge_coding(reply, coding, verdict);
    } else if (status == 400 || status == 413 || status == 422) {
        verdict->meaning = SONDE__UPLOAD_REFUSAL;
    } else {
        verdict->meaning = SONDE__UPLOAD_STOP;
    }
}

static void judge_wait(const struct sonde__upload_reply *reply, int64_t now_unix_s,
                       struct sonde__upload_verdict *verdict)
{
    uint32_t asked_s = 0, limit_s = 0;
    bool is_asked =
        sonde__upload_retry_after(reply->retry_after, reply->date, now_unix_s, &asked_s);
    bool is_limited = sonde__upload_rate_limits(reply->rate_limits, &limit_s);
    bool counts = verdict->meaning == SONDE__UPLOAD_RETRY || verdict->meaning == SONDE__UPLOAD_STOP;
    verdict->wait_s = is_asked && counts ? asked_s : 0;
    if (is_limited && limit_s > verdict->wait_s) { /* answers to stored reports may have a limit,
                                                    * too */
        verdict->wait_s = limit_s;
    }
}

void sonde__upload_judge(const struct sonde__upload_reply *reply,
                         const struct sonde__upload_address *address, const char *id,
                         enum sonde_upload_coding coding, int64_t now_unix_s,
                         struct sonde__upload_verdict *ret_verdict)
{
    struct sonde__upload_verdict *verdict = ret_verdict;
    struct said said = {.verdict = verdict};
    verdict->coding = coding;
    verdict->wait_s = 0;
    verdict->status = reply->status;
    verdict->why[0] = '\0';
    verdict->need_count = 0;
    if (reply->failure != SONDE_UPLOAD_ANSWERED || reply->status == 0) {
        verdict->status = 0;
        judge_failure(reply, verdict);
        return;
    }
    bool is_object = !reply->is_long &&
                     sonde__upload_json_read(reply->body, reply->body_bytes, take_member, &said);
    if (!is_object) { /* discard what was read before the error */
        said.has_id = false;
        said.error[0] = '\0';
        verdict->need_count = 0;
    }
    if (reply->status >= 200 && reply->status < 300) {
        judge_success(reply, address, id, is_object, &said, verdict);
    } else {
        judge_error(reply, said.error, coding, verdict);
    }
    judge_wait(reply, now_unix_s, verdict);
}
