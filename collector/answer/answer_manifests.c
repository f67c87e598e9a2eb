// SPDX-License-Identifier: Apache-2.0
/* Privacy manifests of builds: given, listed, given back, removed. What cannot be read is not kept.
 */
#include <stdlib.h>
#include <string.h>

#include "answer_builds.h"
#include "collector.h"
#include "declared.h"
#include "report_utf8.h"

static struct store_actor actor_of(const struct http_request *request)
{
    return (struct store_actor){request->key.number, collector_now_ns()};
}

static bool is_name(const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            return false;
        }
    }
    return *text != '\0' && sonde__report_utf8_valid(text, strlen(text));
}

/* --- questions --- */

struct listing {
    struct sonde__json *json;
    uint32_t count;
};

static void put_manifest(void *ctx, const struct store_manifest *manifest)
{
    struct listing *listing = ctx;
    char code[HTTP_PART_TEXT];
    size_t size;
    const char *begin = declared_code(manifest->name, &size);
    snprintf(code, sizeof code, "%.*s", (int)size, begin);
    listing->count++;
    sonde__json_object(listing->json, NULL);
    sonde__json_string(listing->json, "name", manifest->name);
    sonde__json_string(listing->json, "code", code);
    sonde__json_uint(listing->json, "size", manifest->size);
    sonde__json_time(listing->json, "given", manifest->made_ns);
    sonde__json_int(listing->json, "key", manifest->secret);
    sonde__json_close(listing->json);
}

static enum store_status put_manifests(struct http_request *request, struct sonde__json *json,
                                       const void *ctx)
{
    (void)ctx;
    struct listing listing = {.json = json};
    struct answer_build build;
    sonde__json_array(json, "manifests");
    enum store_status status = store_manifests(request->collector->store, request->project,
                                               request->parts[1], NULL, put_manifest, &listing);
    sonde__json_close(json);
    return status == STORE_OK && listing.count == 0
               ? answer_find_build(request, request->parts[1], &build)
               : status;
}

enum http_when answer_manifests(struct http_request *request)
{
    return answer_json(request, put_manifests, NULL);
}

struct copying {
    void *bytes;
    size_t size;
    bool is_there;
};

static void copy(void *ctx, const struct store_manifest *manifest)
{
    struct copying *copying = ctx;
    copying->is_there = true;
    copying->bytes = malloc(manifest->size + 1); /* it is never empty */
    copying->size = manifest->size;
    if (copying->bytes != NULL) {
        memcpy(copying->bytes, manifest->bytes, manifest->size);
    }
}

enum http_when answer_manifest(struct http_request *request)
{
    struct copying copying = {.is_there = false};
    enum store_status status =
        store_manifests(request->collector->store, request->project, request->parts[1],
                        request->parts[2], copy, &copying);
    if (status == STORE_OK && copying.is_there && copying.bytes != NULL) {
        return http_give(request, 200, "application/octet-stream", copying.bytes, copying.size);
    }
    free(copying.bytes);
    return status == STORE_OK && copying.is_there
               ? http_refuse(request, 503, "no memory for the answer")
               : answer_failed(request, status == STORE_OK ? STORE_ABSENT : status);
}

/* --- changes --- */

static enum store_status put_given(struct http_request *request, struct sonde__json *json,
                                   const void *ctx)
{
    const struct sonde__manifest *manifest = ctx;
    char code[HTTP_PART_TEXT];
    size_t size;
    const char *begin = declared_code(request->parts[2], &size);
    snprintf(code, sizeof code, "%.*s", (int)size, begin);
    sonde__json_string(json, "name", request->parts[2]);
    sonde__json_string(json, "code", code);
    sonde__json_array(json, "categories");
    for (uint32_t i = 0; i < manifest->count; i++) {
        sonde__json_string(json, NULL, manifest->entries[i].category);
    }
    sonde__json_close(json);
    return STORE_OK;
}

static enum http_when give(struct http_request *request, const struct sonde__manifest *manifest,
                           unsigned status)
{
    enum http_when when = answer_json(request, put_given, manifest);
    request->answer.status = request->answer.status == 200 ? status : request->answer.status;
    return when;
}

/* Refuse what cannot be kept. False: it was refused. */
static bool read_body(struct http_request *request, struct sonde__manifest *ret_manifest)
{
    struct sonde_error error;
    if (!answer_is_from_here(request)) {
        (void)http_refuse(request, 403, "the request is from another site's page");
    } else if (!is_name(request->parts[1]) || !is_name(request->parts[2])) {
        (void)http_refuse(request, 400,
                          "the names of a build and of a manifest have UTF-8 without control "
                          "characters");
    } else if (request->size > STORE_MANIFEST_BYTES) {
        (void)http_refuse(request, 413, "a manifest has at most %d bytes", STORE_MANIFEST_BYTES);
    } else if (sonde__manifest_read(request->body, request->size, ret_manifest, &error) !=
               SONDE_OK) {
        (void)http_refuse(request, error.status == SONDE_MEMORY ? 503 : 422,
                          "not a privacy manifest: %s", error.what);
    } else {
        return true;
    }
    return false;
}

enum http_when answer_add_manifest(struct http_request *request)
{
    bool is_new = true;
    const struct store_actor actor = actor_of(request);
    struct sonde__manifest *manifest = calloc(1, sizeof *manifest);
    if (manifest == NULL) {
        return http_refuse(request, 503, "no memory");
    }
    if (read_body(request, manifest)) {
        const struct store_manifest given = {
            .name = request->parts[2], .bytes = request->body, .size = request->size};
        enum store_status status =
            store_set_manifest(request->collector->store, &actor, request->project,
                               request->parts[1], &given, &is_new);
        (void)(status == STORE_OK ? give(request, manifest, is_new ? 201 : 200)
                                  : answer_failed(request, status));
    }
    free(manifest);
    return HTTP_NOW;
}

static enum store_status put_name(struct http_request *request, struct sonde__json *json,
                                  const void *ctx)
{
    (void)ctx;
    sonde__json_string(json, "name", request->parts[2]);
    return STORE_OK;
}

enum http_when answer_remove_manifest(struct http_request *request)
{
    const struct store_actor actor = actor_of(request);
    if (!answer_is_from_here(request)) {
        return http_refuse(request, 403, "the request is from another site's page");
    }
    enum store_status status = store_remove_manifest(
        request->collector->store, &actor, request->project, request->parts[1], request->parts[2]);
    return status == STORE_OK ? answer_json(request, put_name, NULL)
                              : answer_failed(request, status);
}
