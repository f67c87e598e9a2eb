// SPDX-License-Identifier: Apache-2.0
/* Builds, the calls of one, and the baseline, as JSON. */
#include "answer_builds.h"

#include <string.h>

#include "collector.h"
#include "report_new.h"

enum { BUILD_TEXT = 512 };

/* --- builds --- */

static void put_build(void *ctx, const struct store_build *build)
{
    struct sonde__json *json = ctx;
    sonde__json_string(json, "build", build->name);
    sonde__json_time(json, "first", build->first_ns);
    sonde__json_time(json, "last", build->last_ns);
    sonde__json_uint(json, "reports", build->reports);
    sonde__json_uint(json, "recorded", build->recorded);
    sonde__json_uint(json, "devices", build->devices);
    sonde__json_bool(json, "is_baseline", build->is_baseline);
}

static void put_one_of_builds(void *ctx, const struct store_build *build)
{
    sonde__json_object(ctx, NULL);
    put_build(ctx, build);
    sonde__json_close(ctx);
}

static enum store_status put_builds(struct http_request *request, struct sonde__json *json,
                                    const void *ctx)
{
    sonde__json_array(json, "builds");
    enum store_status status = store_builds(request->collector->store, request->project,
                                            *(const uint32_t *)ctx, put_one_of_builds, json);
    sonde__json_close(json);
    return status;
}

enum http_when answer_builds(struct http_request *request)
{
    uint32_t limit;
    return answer_limit(request, 50, 1000, &limit) ? answer_json(request, put_builds, &limit)
                                                   : HTTP_NOW;
}

static void keep_build(void *ctx, const struct store_build *build)
{
    *(struct answer_build *)ctx = (struct answer_build){.reports = build->reports,
                                                        .recorded = build->recorded,
                                                        .callers = build->callers,
                                                        .devices = build->devices,
                                                        .first_ns = build->first_ns,
                                                        .last_ns = build->last_ns,
                                                        .is_baseline = build->is_baseline};
}

enum store_status answer_find_build(struct http_request *request, const char *name,
                                    struct answer_build *ret_build)
{
    return store_build(request->collector->store, request->project, name, keep_build, ret_build);
}

/* --- calls --- */

static void put_path(struct sonde__json *json, const char *path)
{
    char function[DIGEST_PATH_TEXT];
    sonde__json_array(json, "path");
    while (*path != '\0') {
        size_t size = strcspn(path, "\n");
        snprintf(function, sizeof function, "%.*s", (int)size, path);
        sonde__json_string(json, NULL, function);
        path += size + (path[size] == '\n');
    }
    sonde__json_close(json);
}

void answer_put_call(struct sonde__json *json, const struct store_call *call)
{
    sonde__json_int(json, "group", call->group);
    sonde__json_string(json, "kind", answer_kind_text(call->kind));
    sonde__json_string(json, "api", call->api);
    if (call->kind == DIGEST_FINDING) {
        sonde__json_string(json, "rule", call->rule);
        sonde__json_string(json, "severity", sonde__report_severity_text(call->severity));
    }
    if (call->sdk[0] != '\0') {
        sonde__json_string(json, "sdk", call->sdk);
    }
    put_path(json, call->path);
    sonde__json_bool(json, "is_stable", call->is_stable);
}

void answer_put_call_sum(struct sonde__json *json, const struct store_call_sum *sum)
{
    sonde__json_uint(json, "count", sum->count);
    sonde__json_uint(json, "before_consent", sum->before);
    sonde__json_uint(json, "after_consent", sum->given);
    sonde__json_uint(json, "after_refusal", sum->refused);
    sonde__json_uint(json, "over_limit", sum->over);
    sonde__json_uint(json, "reports", sum->reports);
    sonde__json_uint(json, "devices", sum->devices);
}

static void put_call(void *ctx, const struct store_call *call, const struct store_call_sum *sum)
{
    sonde__json_object(ctx, NULL);
    answer_put_call(ctx, call);
    answer_put_call_sum(ctx, sum);
    sonde__json_close(ctx);
}

static enum store_status put_calls(struct http_request *request, struct sonde__json *json,
                                   const void *ctx)
{
    struct store *store = request->collector->store;
    const char *build = request->parts[1];
    enum store_status status = store_build(store, request->project, build, put_build, json);
    sonde__json_array(json, "calls");
    if (status == STORE_OK) {
        status =
            store_calls(store, request->project, build, *(const uint32_t *)ctx, put_call, json);
    }
    sonde__json_close(json);
    return status;
}

enum http_when answer_calls(struct http_request *request)
{
    uint32_t limit;
    return answer_limit(request, 200, 10000, &limit) ? answer_json(request, put_calls, &limit)
                                                     : HTTP_NOW;
}

/* --- the baseline --- */

static enum store_status put_one_build(struct http_request *request, struct sonde__json *json,
                                       const void *ctx)
{
    return store_build(request->collector->store, request->project, ctx, put_build, json);
}

enum http_when answer_set_baseline(struct http_request *request)
{
    char build[BUILD_TEXT];
    const struct store_actor actor = {request->key.number, collector_now_ns()};
    if (!answer_is_from_here(request)) {
        return http_refuse(request, 403, "a form of another site");
    }
    if (http_field(request, "build", build, sizeof build) != HTTP_FIELD_TEXT || build[0] == '\0') {
        return http_refuse(request, 400, "build: the name of a build is expected");
    }
    enum store_status status =
        store_set_baseline(request->collector->store, &actor, request->project, build);
    return status == STORE_OK ? answer_json(request, put_one_build, build)
                              : answer_failed(request, status);
}
