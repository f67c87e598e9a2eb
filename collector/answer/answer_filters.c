// SPDX-License-Identifier: Apache-2.0
/* Filters of a project and what they dropped, for keys with the role admin. */

#include "answers.h"
#include "collector.h"

static struct store_actor actor_of(const struct http_request *request)
{
    return (struct store_actor){request->key.number, collector_now_ns()};
}

static void put_filter(void *ctx, const struct store_sift *sift)
{
    struct sonde__json *json = ctx;
    char text[SIFT_TEXT];
    sift_text(&sift->sift, text);
    sonde__json_object(json, NULL);
    sonde__json_int(json, "filter", sift->number);
    sonde__json_string(json, "drops", text);
    sonde__json_time(json, "made", sift->made_ns);
    sonde__json_uint(json, "reports", sift->reports);
    sonde__json_uint(json, "events", sift->events);
    sonde__json_uint(json, "count", sift->count);
    sonde__json_uint(json, "total_ns", sift->total_ns);
    sonde__json_close(json);
}

static enum store_status put_filters(struct http_request *request, struct sonde__json *json,
                                     const void *ctx)
{
    (void)ctx;
    sonde__json_array(json, "filters");
    enum store_status status =
        store_sifts(request->collector->store, request->project, put_filter, json);
    sonde__json_close(json);
    return status;
}

enum http_when answer_filters(struct http_request *request)
{
    return answer_json(request, put_filters, NULL);
}

/* --- changes --- */

static enum store_status put_number(struct http_request *request, struct sonde__json *json,
                                    const void *ctx)
{
    (void)request;
    sonde__json_int(json, "filter", *(const int64_t *)ctx);
    return STORE_OK;
}

static enum http_when give(struct http_request *request, unsigned status, int64_t number)
{
    enum http_when when = answer_json(request, put_number, &number);
    if (request->answer.status == 200) {
        request->answer.status = status;
    }
    return when;
}

enum http_when answer_add_filter(struct http_request *request)
{
    char text[SIFT_TEXT + 1];
    int64_t number;
    struct sift sift;
    const struct store_actor actor = actor_of(request);
    if (!answer_is_from_here(request)) {
        return http_refuse(request, 403, "a form of another site");
    }
    if (http_field(request, "drops", text, sizeof text) != HTTP_FIELD_TEXT ||
        !sift_parse(text, &sift)) {
        return http_refuse(request, 400, "drops: expected is " SIFT_EXPECTED);
    }
    enum store_status status =
        store_add_sift(request->collector->store, &actor, request->project, &sift, &number);
    return status == STORE_OK ? give(request, 201, number) : answer_failed(request, status);
}

enum http_when answer_remove_filter(struct http_request *request)
{
    const struct store_actor actor = actor_of(request);
    int64_t number = answer_number(request->parts[1]);
    if (!answer_is_from_here(request)) {
        return http_refuse(request, 403, "a form of another site");
    }
    enum store_status status =
        store_remove_sift(request->collector->store, &actor, request->project, number);
    return status == STORE_OK ? give(request, 200, number) : answer_failed(request, status);
}
