// SPDX-License-Identifier: Apache-2.0
/* Groups of events as JSON. */
#include <stdlib.h>

#include "answers.h"
#include "collector.h"
#include "report_new.h"

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
}

static void put_group(void *ctx, const struct store_group *group)
{
    struct sonde__json *json = ctx;
    sonde__json_object(json, NULL);
    answer_put_group(json, group);
    sonde__json_close(json);
}

struct listing {
    uint32_t limit, kind;
    enum store_order order;
};

static enum store_status put_groups(struct http_request *request, struct sonde__json *json,
                                    const void *ctx)
{
    const struct listing *listing = ctx;
    sonde__json_array(json, "groups");
    enum store_status status =
        store_groups(request->collector->store, request->project, listing->kind, listing->order,
                     listing->limit, put_group, json);
    sonde__json_close(json);
    return status;
}

enum http_when answer_groups(struct http_request *request)
{
    struct listing listing;
    if (!answer_limit(request, 50, 1000, &listing.limit) ||
        !answer_order(request, &listing.order) || !answer_kind(request, &listing.kind)) {
        return HTTP_NOW;
    }
    return answer_json(request, put_groups, &listing);
}

/* --- one group --- */

static void put_whole_group(void *ctx, const struct store_group *group)
{
    struct sonde__json *json = ctx;
    answer_put_group(json, group);
    sonde__json_string(json, "why", group->why);
}

static void put_sum(void *ctx, const struct store_sum *sum)
{
    struct sonde__json *json = ctx;
    sonde__json_object(json, NULL);
    sonde__json_time(json, "hour", sum->hour * 3600u * 1000000000u);
    sonde__json_string(json, "build", sum->build);
    sonde__json_uint(json, "count", sum->count);
    sonde__json_uint(json, "total_ns", sum->total_ns);
    sonde__json_uint(json, "longest_ns", sum->longest_ns);
    sonde__json_close(json);
}

static void put_report_id(void *ctx, const struct store_row *row)
{
    char id[IDS_REPORT_TEXT];
    ids_report_text(&row->id, id);
    sonde__json_string(ctx, NULL, id);
}

static enum store_status put_all(struct http_request *request, struct sonde__json *json,
                                 const void *ctx)
{
    (void)ctx;
    struct store *store = request->collector->store;
    int64_t number = strtoll(request->parts[1], NULL, 10);
    enum store_status status = store_group(store, request->project, number, put_whole_group, json);
    if (status == STORE_OK) {
        sonde__json_array(json, "sums");
        status = store_sums(store, number, put_sum, json);
        sonde__json_close(json);
    }
    if (status == STORE_OK) {
        sonde__json_array(json, "reports");
        status = store_reports(store, request->project, number, false, 100, put_report_id, json);
        sonde__json_close(json);
    }
    return status;
}

enum http_when answer_group(struct http_request *request)
{
    return answer_json(request, put_all, NULL);
}
