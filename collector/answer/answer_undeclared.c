// SPDX-License-Identifier: Apache-2.0
/* What a build calls and does not declare, as JSON (declared.h). */
#include <string.h>

#include "answer_builds.h"
#include "collector.h"

/* --- the comparison --- */

static void look_at_filter(void *ctx, const struct store_sift *sift)
{
    *(bool *)ctx |= sift->sift.kind != SIFT_IDLE;
}

/* Do the build's sums have all that its reports have? */
static enum store_status find_whole(struct http_request *request, const struct answer_build *build,
                                    bool *ret_is_whole)
{
    bool may_drop = false;
    enum store_status status =
        store_sifts(request->collector->store, request->project, look_at_filter, &may_drop);
    *ret_is_whole = !may_drop && build->callers >= build->recorded;
    return status;
}

enum store_status answer_compare(struct http_request *request, const struct answer_build *build,
                                 struct declared **ret_declared)
{
    struct store *store = request->collector->store;
    const char *name = request->parts[1];
    struct declared *declared = declared_begin();
    bool is_whole = false;
    if (declared == NULL) {
        return STORE_FAILED;
    }
    enum store_status status = find_whole(request, build, &is_whole);
    if (status == STORE_OK) {
        status =
            store_manifests(store, request->project, name, NULL, declared_add_manifest, declared);
    }
    if (status == STORE_OK) {
        status = store_apis(store, request->project, name, declared_add_api, declared);
    }
    if (status == STORE_OK) {
        status = store_uses(store, request->project, name, declared_add_call, declared);
    }
    if (status == STORE_OK && !declared_compare(declared, is_whole)) {
        status = STORE_FAILED;
    }
    if (status != STORE_OK) {
        declared_end(declared);
        return status;
    }
    *ret_declared = declared;
    return STORE_OK;
}

/* --- parts --- */

static bool is_declared(const struct sonde__manifest *manifest, const char *category)
{
    for (uint32_t i = 0; i < manifest->count; i++) {
        if (strcmp(manifest->entries[i].category, category) == 0) {
            return true;
        }
    }
    return false;
}

static void put_reasons(struct sonde__json *json, const struct declared_part *part,
                        const char *category)
{
    char reasons[512], one[128];
    declared_reasons(part, category, reasons, sizeof reasons);
    sonde__json_array(json, "reasons");
    for (const char *at = reasons; *at != '\0'; at += *at == ' ') {
        size_t size = strcspn(at, " ");
        snprintf(one, sizeof one, "%.*s", (int)size, at);
        sonde__json_string(json, NULL, one);
        at += size;
    }
    sonde__json_close(json);
}

static void put_category(struct sonde__json *json, const struct declared *declared,
                         const struct declared_part *part, const struct sonde__manifest_line *line)
{
    sonde__json_object(json, NULL);
    sonde__json_string(json, "category", line->category);
    sonde__json_string(json, "state", declared_state_text(part, line));
    sonde__json_bool(json, "is_declared", is_declared(&part->manifest, line->category));
    put_reasons(json, part, line->category);
    sonde__json_uint(json, "calls", line->calls);
    sonde__json_uint(json, "system_calls", line->system_calls);
    sonde__json_uint(json, "unknown_calls", declared_unknown(part, line->category));
    sonde__json_bool(json, "recorded", line->recorded != 0);
    if (line->missed != 0) {
        sonde__json_string(json, "missed_function", declared->apis[line->missed - 1].name);
        sonde__json_string(json, "missed_why", declared->apis[line->missed - 1].missed);
    }
    sonde__json_close(json);
}

static void put_part(struct sonde__json *json, const struct declared *declared,
                     const struct declared_part *part)
{
    sonde__json_object(json, NULL);
    sonde__json_string(json, "code", part->code);
    sonde__json_bool(json, "has_manifest", part->has_manifest);
    sonde__json_string(json, "manifests", part->files);
    if (part->error[0] != '\0') {
        sonde__json_string(json, "error", part->error);
    }
    sonde__json_array(json, "categories");
    for (uint32_t i = 0; i < part->result.count; i++) {
        put_category(json, declared, part, &part->result.lines[i]);
    }
    sonde__json_close(json);
    sonde__json_close(json);
}

/* --- calls --- */

struct putting {
    struct sonde__json *json;
    const struct declared *declared;
    uint32_t limit, shown;
    uint64_t left_out;
};

static void put_categories(struct sonde__json *json, uint32_t categories)
{
    sonde__json_array(json, "categories");
    for (unsigned c = 0; c < SONDE__MANIFEST_CATEGORIES; c++) {
        if ((categories & 1u << c) != 0) {
            sonde__json_string(json, NULL, sonde__manifest_category(c));
        }
    }
    sonde__json_close(json);
}

static void put_use(void *ctx, const struct store_call *call, const struct store_call_sum *sum,
                    const struct store_caller *caller)
{
    struct putting *p = ctx;
    uint32_t categories = sonde__manifest_categories(call->api);
    if (categories == 0) {
        return;
    }
    if (p->shown == p->limit) {
        p->left_out++;
        return;
    }
    p->shown++;
    const struct declared_part *part = declared_part_of(p->declared, caller->code);
    bool is_known = part != NULL && part->has_manifest;
    sonde__json_object(p->json, NULL);
    answer_put_call(p->json, call);
    answer_put_call_sum(p->json, sum);
    sonde__json_string(p->json, "code", caller->code);
    put_categories(p->json, categories);
    sonde__json_string(p->json, "declared",
                       !is_known                                            ? "unknown"
                       : sonde__manifest_covers(&part->manifest, call->api) ? "yes"
                       : caller->direct != 0                                ? "no"
                       : caller->system == sum->count                       ? "not needed"
                                                                            : "unknown");
    sonde__json_uint(p->json, "own_calls", caller->direct);
    sonde__json_uint(p->json, "system_calls", caller->system);
    sonde__json_close(p->json);
}

/* --- the answer --- */

static void put_counts(struct sonde__json *json, const struct declared *declared)
{
    uint64_t undeclared = 0, unknown = 0;
    bool has_manifest = false;
    for (uint32_t i = 0; i < declared->part_count; i++) {
        const struct declared_part *part = declared->parts[i];
        const uint32_t called = part->result.states[SONDE__MANIFEST_UNDECLARED];
        undeclared += part->has_manifest ? called : 0;
        unknown += part->result.states[SONDE__MANIFEST_UNKNOWN] + (part->has_manifest ? 0 : called);
        has_manifest |= part->has_manifest;
    }
    sonde__json_bool(json, "has_manifest", has_manifest);
    sonde__json_uint(json, "undeclared", undeclared);
    sonde__json_uint(json, "unknown", unknown);
}

static enum store_status put_compared(struct http_request *request, struct sonde__json *json,
                                      const struct declared *declared, uint32_t limit)
{
    struct putting p = {.json = json, .declared = declared, .limit = limit};
    put_counts(json, declared);
    sonde__json_array(json, "parts");
    for (uint32_t i = 0; i < declared->part_count; i++) {
        put_part(json, declared, declared->parts[i]);
    }
    sonde__json_close(json);
    sonde__json_array(json, "calls");
    enum store_status status =
        store_uses(request->collector->store, request->project, request->parts[1], put_use, &p);
    sonde__json_close(json);
    sonde__json_uint(json, "left_out", p.left_out);
    return status;
}

static enum store_status put_undeclared(struct http_request *request, struct sonde__json *json,
                                        const void *ctx)
{
    struct declared *declared = NULL;
    struct answer_build build;
    enum store_status status = answer_find_build(request, request->parts[1], &build);
    if (status == STORE_OK) {
        status = answer_compare(request, &build, &declared);
    }
    if (status == STORE_OK) {
        sonde__json_string(json, "build", request->parts[1]);
        sonde__json_uint(json, "reports", build.reports);
        sonde__json_uint(json, "recorded", build.recorded);
        status = put_compared(request, json, declared, *(const uint32_t *)ctx);
    }
    declared_end(declared);
    return status;
}

enum http_when answer_undeclared(struct http_request *request)
{
    uint32_t limit;
    return answer_limit(request, 200, 10000, &limit) ? answer_json(request, put_undeclared, &limit)
                                                     : HTTP_NOW;
}
