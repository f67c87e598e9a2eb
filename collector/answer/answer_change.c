// SPDX-License-Identifier: Apache-2.0
/* Changes of groups: POST with a form as body, from programs and from the forms of the pages. A
 * program gets the group as it is then, as JSON; a page is shown again (303). */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "answers.h"
#include "collector.h"

enum { TEXT = 200 };

static struct store_actor actor_of(const struct http_request *request)
{
    return (struct store_actor){request->key.number, collector_now_ns()};
}

/* A browser adds the user's key also to a form that another site's page sends: its Origin says so
 * (RFC 6454, 7). Other programs have none. */
bool answer_is_from_here(struct http_request *request)
{
    const char *origin = http_header(request, "Origin"), *host = http_header(request, "Host");
    const char *name = origin != NULL ? strstr(origin, "://") : NULL;
    return origin == NULL || (name != NULL && host != NULL && strcmp(name + 3, host) == 0);
}

static enum http_when give(struct http_request *request, enum store_status status, int64_t group)
{
    if (status != STORE_OK) {
        return answer_failed(request, status);
    }
    if (!request->route->is_page) {
        return answer_json(request, answer_put_whole_group, &group);
    }
    http_add_header(request, "Location", "/projects/%s/groups/%" PRId64, request->parts[0], group);
    return http_give(request, 303, NULL, NULL, 0);
}

/* --- states --- */

/* "2026-12-01T08:00", with or without seconds and Z: UTC, before 2262, where the count of
 * nanoseconds ends. */
static bool parse_time(const char *text, uint64_t *ret_ns)
{
    static const char *const formats[] = {"%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct tm parts = {0};
        const char *end = strptime(text, formats[i], &parts);
        int day = parts.tm_mday;
        time_t seconds = end != NULL ? timegm(&parts) : -1;
        struct tm same; /* of the 30th of February it is another day */
        if (seconds > 0 && seconds < INT64_MAX / 1000000000 && gmtime_r(&seconds, &same) != NULL &&
            same.tm_mday == day && (*end == '\0' || strcmp(end, "Z") == 0)) {
            *ret_ns = (uint64_t)seconds * 1000000000u;
            return true;
        }
    }
    return false;
}

static bool read_until(struct http_request *request, struct state_mark *mark)
{
    char time[TEXT], count[TEXT];
    if (!answer_field(request, "until", time, sizeof time, NULL) ||
        !answer_field(request, "until_count", count, sizeof count, NULL)) {
        return false;
    }
    if (time[0] != '\0' && !parse_time(time, &mark->until_ns)) {
        (void)http_refuse(request, 400, "until: a time is expected, as 2026-12-01T08:00Z");
        return false;
    }
    if (time[0] != '\0' && mark->until_ns <= mark->since_ns) {
        (void)http_refuse(request, 400, "until: a time to come is expected");
        return false;
    }
    mark->until_count = count[0] != '\0' ? (uint64_t)answer_number(count) : 0;
    if (count[0] != '\0' && mark->until_count == 0) {
        (void)http_refuse(request, 400, "until_count: a number is expected");
        return false;
    }
    return true;
}

static bool read_resolved(struct http_request *request, char build[TEXT], struct state_mark *mark)
{
    char next[TEXT];
    if (!answer_field(request, "build", build, TEXT, NULL) ||
        !answer_field(request, "next", next, sizeof next, NULL)) {
        return false;
    }
    mark->state = build[0] != '\0'  ? STATE_RESOLVED_IN
                  : next[0] != '\0' ? STATE_RESOLVED_NEXT
                                    : STATE_RESOLVED;
    mark->build = build;
    return true;
}

/* Read the wanted state. Fields without a text, as of a page's empty inputs, ask for nothing.
 * False: it was refused. build: room for its text. */
static bool read_mark(struct http_request *request, const char *state, char build[TEXT],
                      struct state_mark *ret_mark)
{
    *ret_mark =
        (struct state_mark){.state = STATE_OPEN, .since_ns = collector_now_ns(), .build = ""};
    if (strcmp(state, "resolved") == 0) {
        return read_resolved(request, build, ret_mark);
    }
    if (strcmp(state, "ignored") == 0) {
        ret_mark->state = STATE_IGNORED;
        return read_until(request, ret_mark);
    }
    if (strcmp(state, "open") != 0) {
        (void)http_refuse(request, 400, "state: open, resolved or ignored is expected");
        return false;
    }
    return true;
}

static enum http_when change(struct http_request *request)
{
    char state[TEXT], assignee[TEXT], build[TEXT];
    struct state_mark mark;
    struct store *store = request->collector->store;
    int64_t group = answer_number(request->parts[1]);
    const struct store_actor actor = actor_of(request);
    bool has_state, has_assignee;
    if (!answer_field(request, "state", state, sizeof state, &has_state) ||
        !answer_field(request, "assignee", assignee, sizeof assignee, &has_assignee)) {
        return HTTP_NOW;
    }
    if (!has_state && !has_assignee) {
        return http_refuse(request, 400,
                           "state=open|resolved|ignored or assignee=NAME is expected");
    }
    if (has_state && !read_mark(request, state, build, &mark)) {
        return HTTP_NOW;
    }
    enum store_status status =
        has_state ? store_set_state(store, &actor, request->project, group, &mark) : STORE_OK;
    if (status == STORE_OK && has_assignee) {
        status = store_assign(store, &actor, request->project, group, assignee);
    }
    return give(request, status, group);
}

enum http_when answer_change_group(struct http_request *request)
{
    return answer_is_from_here(request) ? change(request)
                                        : http_refuse(request, 403, "a form of another site");
}

/* --- groups of several causes --- */

enum http_when answer_join_group(struct http_request *request)
{
    char with[TEXT];
    const struct store_actor actor = actor_of(request);
    int64_t group = answer_number(request->parts[1]), joint = group;
    if (!answer_is_from_here(request)) {
        return http_refuse(request, 403, "a form of another site");
    }
    if (!answer_field(request, "with", with, sizeof with, NULL)) {
        return HTTP_NOW;
    }
    if (answer_number(with) == 0) {
        return http_refuse(request, 400, "with: the number of another group is expected");
    }
    enum store_status status = store_join(request->collector->store, &actor, request->project,
                                          group, answer_number(with), &joint);
    return give(request, status, joint);
}

enum http_when answer_leave_group(struct http_request *request)
{
    const struct store_actor actor = actor_of(request);
    int64_t group = answer_number(request->parts[1]);
    if (!answer_is_from_here(request)) {
        return http_refuse(request, 403, "a form of another site");
    }
    return give(request, store_leave(request->collector->store, &actor, request->project, group),
                group);
}

/* --- what was done --- */

static void put_action(void *ctx, const struct store_action *action)
{
    struct sonde__json *json = ctx;
    sonde__json_object(json, NULL);
    sonde__json_time(json, "time", action->time_ns);
    sonde__json_int(json, "key", action->secret);
    sonde__json_string(json, "what", action->what);
    sonde__json_close(json);
}

static enum store_status put_actions(struct http_request *request, struct sonde__json *json,
                                     const void *ctx)
{
    sonde__json_array(json, "actions");
    enum store_status status = store_actions(request->collector->store, request->project,
                                             *(const uint32_t *)ctx, put_action, json);
    sonde__json_close(json);
    return status;
}

enum http_when answer_actions(struct http_request *request)
{
    uint32_t limit;
    return answer_limit(request, 50, 1000, &limit) ? answer_json(request, put_actions, &limit)
                                                   : HTTP_NOW;
}
