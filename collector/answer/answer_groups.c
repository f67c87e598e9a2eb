// SPDX-License-Identifier: Apache-2.0
/* Groups of events as JSON. */

#include "answers.h"
#include "collector.h"
#include "report_new.h"

static void put_mark(struct sonde__json *json, const struct state_mark *mark)
{
    sonde__json_string(json, "state", answer_state_text(mark->state));
    sonde__json_time(json, "state_since", mark->since_ns);
    if (mark->state == STATE_RESOLVED_IN) {
        sonde__json_string(json, "resolved_in", mark->build);
    }
    if (mark->state == STATE_RESOLVED_NEXT) {
        sonde__json_bool(json, "resolved_in_next", true);
    }
    if (mark->state == STATE_IGNORED && mark->until_ns != 0) {
        sonde__json_time(json, "until", mark->until_ns);
    }
    if (mark->state == STATE_IGNORED && mark->until_count != 0) {
        sonde__json_uint(json, "until_count", mark->until_count);
    }
}

void answer_put_group(struct sonde__json *json, const struct store_group *group)
{
    char longest[IDS_REPORT_TEXT];
    sonde__json_int(json, "number", group->number);
    sonde__json_string(json, "kind", answer_kind_text(group->kind));
    sonde__json_string(json, "cause", group->group);
    sonde__json_string(json, "title", group->title);
    sonde__json_string(json, "summary", group->summary);
    if (group->kind == DIGEST_FINDING) {
        sonde__json_string(json, "severity", sonde__report_severity_text(group->severity));
    }
    sonde__json_uint(json, "count", group->count);
    sonde__json_uint(json, "total_ns", group->total_ns);
    sonde__json_uint(json, "longest_ns", group->longest_ns);
    sonde__json_uint(json, "devices", group->devices);
    sonde__json_uint(json, "fatal", group->fatal);
    sonde__json_time(json, "first", group->first_ns);
    sonde__json_time(json, "last", group->last_ns);
    sonde__json_string(json, "first_build", group->first_build);
    sonde__json_string(json, "last_build", group->last_build);
    ids_report_text(&group->longest, longest);
    sonde__json_string(json, "longest_report", longest);
    put_mark(json, &group->mark);
    sonde__json_string(json, "assignee", group->assignee);
    if (group->joined != 0) {
        sonde__json_int(json, "part_of", group->joined);
    }
}

static void put_group(void *ctx, const struct store_group *group)
{
    struct sonde__json *json = ctx;
    sonde__json_object(json, NULL);
    answer_put_group(json, group);
    sonde__json_close(json);
}

static enum store_status put_groups(struct http_request *request, struct sonde__json *json,
                                    const void *ctx)
{
    sonde__json_array(json, "groups");
    enum store_status status =
        store_groups(request->collector->store, request->project, ctx, put_group, json);
    sonde__json_close(json);
    return status;
}

enum http_when answer_groups(struct http_request *request)
{
    struct store_filter filter;
    return answer_filter(request, &filter) && answer_limit(request, 50, 1000, &filter.limit)
               ? answer_json(request, put_groups, &filter)
               : HTTP_NOW;
}

/* --- one group --- */

enum { SUMS_MAX = 1000, HOURS_MAX = 24 * 14, BUILDS_MAX = 100, REPORTS_MAX = 100 };

/* Of a stall or an error the text that is hashed; of a call its title has all that its key has. */
static const char *why_of(const struct store_group *group)
{
    return group->why[0] != '\0' ? group->why : group->title;
}

static void put_cause(void *ctx, const struct store_group *group)
{
    struct sonde__json *json = ctx;
    sonde__json_object(json, NULL);
    answer_put_group(json, group);
    sonde__json_string(json, "why", why_of(group));
    sonde__json_close(json);
}

struct showing {
    struct sonde__json *json;
    int64_t number; /* of the group that is shown; 0: none yet */
    int64_t next;   /* the group that goes on in its place; 0: none */
};

static void put_whole_group(void *ctx, const struct store_group *group)
{
    struct showing *showing = ctx;
    if (group->is_joint && group->joined != 0) {
        showing->next = group->joined;
        return;
    }
    showing->number = group->number;
    answer_put_group(showing->json, group);
    sonde__json_string(showing->json, "why",
                       group->is_joint ? "joined by hand; each cause has its own text"
                                       : why_of(group));
}

static void put_counts(struct sonde__json *json, const struct store_sum *sum)
{
    sonde__json_uint(json, "count", sum->count);
    sonde__json_uint(json, "total_ns", sum->total_ns);
    sonde__json_uint(json, "longest_ns", sum->longest_ns);
    sonde__json_close(json);
}

static void put_sum(void *ctx, const struct store_sum *sum)
{
    struct sonde__json *json = ctx;
    sonde__json_object(json, NULL);
    sonde__json_time(json, "hour", sum->hour * 3600u * 1000000000u);
    sonde__json_string(json, "build", sum->build);
    put_counts(json, sum);
}

static void put_hour(void *ctx, const struct store_sum *sum)
{
    struct sonde__json *json = ctx;
    sonde__json_object(json, NULL);
    sonde__json_time(json, "hour", sum->hour * 3600u * 1000000000u);
    put_counts(json, sum);
}

static void put_build(void *ctx, const struct store_sum *sum)
{
    struct sonde__json *json = ctx;
    sonde__json_object(json, NULL);
    sonde__json_string(json, "build", sum->build);
    sonde__json_time(json, "first_hour", sum->hour * 3600u * 1000000000u);
    sonde__json_time(json, "last_hour", sum->last_hour * 3600u * 1000000000u);
    put_counts(json, sum);
}

static void put_tag(void *ctx, const struct store_tag *tag)
{
    struct sonde__json *json = ctx;
    sonde__json_object(json, NULL);
    sonde__json_string(json, "name", tag->name);
    sonde__json_string(json, "value", tag->value);
    sonde__json_uint(json, "count", tag->count);
    sonde__json_close(json);
}

static void put_report_id(void *ctx, const struct store_row *row)
{
    char id[IDS_REPORT_TEXT];
    ids_report_text(&row->id, id);
    sonde__json_string(ctx, NULL, id);
}

static enum store_status put_sums(struct store *store, struct sonde__json *json, int64_t group,
                                  const char *name, enum store_sums by, uint32_t limit,
                                  store_each_sum *each)
{
    sonde__json_array(json, name);
    enum store_status status = store_sums(store, group, by, limit, each, json);
    sonde__json_close(json);
    return status;
}

/* What a group has, beside its own row. */
static enum store_status put_parts(struct http_request *request, struct sonde__json *json,
                                   int64_t group)
{
    struct store *store = request->collector->store;
    sonde__json_array(json, "causes");
    enum store_status status = store_causes(store, group, put_cause, json);
    sonde__json_close(json);
    if (status == STORE_OK) {
        status = put_sums(store, json, group, "builds", STORE_BY_BUILD, BUILDS_MAX, put_build);
    }
    if (status == STORE_OK) {
        status = put_sums(store, json, group, "hours", STORE_BY_HOUR, HOURS_MAX, put_hour);
    }
    if (status == STORE_OK) {
        status = put_sums(store, json, group, "sums", STORE_BY_HOUR_AND_BUILD, SUMS_MAX, put_sum);
    }
    if (status == STORE_OK) {
        sonde__json_array(json, "tags");
        status = store_tags(store, group, put_tag, json);
        sonde__json_close(json);
    }
    if (status == STORE_OK) {
        sonde__json_array(json, "reports");
        status =
            store_reports(store, request->project, group, false, REPORTS_MAX, put_report_id, json);
        sonde__json_close(json);
    }
    return status;
}

enum store_status answer_put_whole_group(struct http_request *request, struct sonde__json *json,
                                         const void *ctx)
{
    struct store *store = request->collector->store;
    struct showing showing = {json, 0, *(const int64_t *)ctx};
    enum store_status status = STORE_OK;
    while (status == STORE_OK && showing.number == 0) {
        status = store_group(store, request->project, showing.next, put_whole_group, &showing);
    }
    return status == STORE_OK ? put_parts(request, json, showing.number) : status;
}

enum http_when answer_group(struct http_request *request)
{
    int64_t number = answer_number(request->parts[1]);
    return answer_json(request, answer_put_whole_group, &number);
}
