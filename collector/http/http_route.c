// SPDX-License-Identifier: Apache-2.0
#include "http_route.h"

#include <nettle/memops.h>

#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <xxhash.h>

#include "collector.h"

/* Does the path match? Parts of the pattern that are "*" are copied. */
static bool matches(const char *pattern, const char *path, struct http_request *request)
{
    unsigned parts = 0;
    while (*pattern != '\0' && *path != '\0') {
        if (*pattern != '*') {
            if (*pattern++ != *path++) {
                return false;
            }
            continue;
        }
        size_t size = strcspn(path, "/");
        if (size == 0 || size >= HTTP_PART_TEXT || parts == HTTP_PARTS_MAX) {
            return false;
        }
        memcpy(request->parts[parts], path, size);
        request->parts[parts++][size] = '\0';
        pattern++;
        path += size;
    }
    return *pattern == '\0' && *path == '\0';
}

unsigned http_find_route(struct http_request *request, const struct http_route *routes,
                         const char *method, const char *path)
{
    unsigned status = 404;
    for (const struct http_route *route = routes; route->path != NULL; route++) {
        if (!matches(route->path, path, request)) {
            continue;
        }
        if (strcmp(route->method, method) == 0 ||
            (strcmp(route->method, "GET") == 0 && strcmp(method, "HEAD") == 0)) {
            request->route = route;
            return 0;
        }
        status = 405;
    }
    return status;
}

void http_allowed(const struct http_route *routes, const char *path, char *ret_text, size_t size)
{
    struct http_request scratch;
    size_t used = 0;
    ret_text[0] = '\0';
    for (const struct http_route *route = routes; route->path != NULL; route++) {
        if (matches(route->path, path, &scratch) && used < size) {
            used +=
                (size_t)snprintf(ret_text + used, size - used, "%s%s%s", used != 0 ? ", " : "",
                                 route->method, strcmp(route->method, "GET") == 0 ? ", HEAD" : "");
        }
    }
}

/* --- the key --- */

/* Decode base64 (RFC 4648); returns the size, or 0. */
static size_t decode(const char *text, char *to, size_t room)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    unsigned count = 0;
    size_t size = 0;
    for (; *text != '\0' && *text != '='; text++) {
        const char *digit = strchr(digits, *text);
        if (digit == NULL || size == room) {
            return 0;
        }
        bits = bits << 6 | (uint32_t)(digit - digits);
        count += 6;
        if (count >= 8) {
            count -= 8;
            to[size++] = (char)(bits >> count);
        }
    }
    return size;
}

/* The secret of "Bearer SECRET", or of the password of "Basic …". Returns its size, or 0. */
static size_t secret_of(const char *header, char *to, size_t room)
{
    char pair[256];
    if (header == NULL) {
        return 0;
    }
    if (strncasecmp(header, "Bearer ", 7) == 0) {
        size_t size = strlen(header + 7);
        if (size >= room) {
            return 0;
        }
        memcpy(to, header + 7, size);
        return size;
    }
    if (strncasecmp(header, "Basic ", 6) != 0) {
        return 0;
    }
    size_t size = decode(header + 6, pair, sizeof pair);
    const char *colon = memchr(pair, ':', size);
    if (colon == NULL) {
        return 0;
    }
    size -= (size_t)(colon + 1 - pair);
    if (size >= room) {
        return 0;
    }
    memcpy(to, colon + 1, size);
    return size;
}

/* "Sentry sentry_version=7, sentry_key=KEY, sentry_client=…", of X-Sentry-Auth or Authorization, or
 * sentry_key of the query. Source:
 * https://develop.sentry.dev/sdk/foundations/transport/authentication/ */
static size_t sentry_secret(const struct http_credentials *c, char *to, size_t room)
{
    static const char name[] = "sentry_key=";
    const char *header = c->sentry_auth != NULL ? c->sentry_auth : c->authorization;
    const char *at = NULL;
    if (header != NULL && strncasecmp(header, "Sentry ", 7) == 0) {
        at = strstr(header, name);
    }
    at = at != NULL ? at + sizeof name - 1 : c->sentry_key;
    size_t size = at != NULL ? strcspn(at, ", ") : 0;
    if (size >= room) {
        return 0;
    }
    memcpy(to, at != NULL ? at : "", size);
    return size;
}

static bool may(const struct store_key *key, enum store_role needed)
{
    if (needed == STORE_INGEST) {
        return key->role == STORE_INGEST && key->project != 0;
    }
    return key->role != STORE_INGEST && key->role >= needed;
}

/* Secrets of this thread's last requests that were valid, for KEPT_NS: a revoked key is refused
 * after that. They are found by a hash that callers cannot foresee, and compared whole, in a time
 * that says nothing about them. */
enum { KEPT_KEYS = 16, KEPT_TEXT = 64 };
#define KEPT_NS 1000000000u
static _Thread_local struct kept {
    char secret[KEPT_TEXT];
    size_t size;
    uint64_t from_ns; /* by a clock that is not set */
    struct store_key key;
} kept[KEPT_KEYS];

static uint64_t steady_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct kept *kept_of(const char *secret, size_t size)
{
    static _Thread_local uint64_t seed;
    if (seed == 0 && getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) {
        return NULL;
    }
    return size <= KEPT_TEXT ? &kept[XXH3_64bits_withSeed(secret, size, seed) % KEPT_KEYS] : NULL;
}

static enum store_status find_key(struct store *store, const char *secret, size_t size,
                                  struct store_key *ret_key)
{
    struct kept *same = kept_of(secret, size);
    uint64_t now_ns = steady_ns();
    if (same != NULL && same->size == size && now_ns - same->from_ns <= KEPT_NS &&
        memeql_sec(same->secret, secret, size)) {
        *ret_key = same->key;
        return STORE_OK;
    }
    struct hash hash = ids_hash(secret, size);
    enum store_status status = store_find_key(store, &hash, ret_key);
    if (status == STORE_OK && same != NULL) {
        *same = (struct kept){.size = size, .from_ns = now_ns, .key = *ret_key};
        memcpy(same->secret, secret, size);
    }
    return status;
}

/* The project that the path names: one that the key is for. */
static unsigned find_project(struct http_request *request)
{
    struct store *store = request->collector->store;
    char number[16];
    snprintf(number, sizeof number, "%u", request->key.project);
    if (request->route->is_sentry && strcmp(request->parts[0], number) == 0) {
        return 0;
    }
    enum store_status status = store_find_project(store, request->parts[0], &request->project);
    if (status == STORE_FAILED) {
        return 503;
    }
    bool is_for = request->key.project == 0 || request->key.project == request->project;
    return status == STORE_OK && is_for ? 0 : 404;
}

unsigned http_admit(struct http_request *request, const struct http_credentials *credentials)
{
    char secret[256];
    if (request->route->role == 0) {
        return 0;
    }
    size_t size = request->route->is_sentry
                      ? sentry_secret(credentials, secret, sizeof secret)
                      : secret_of(credentials->authorization, secret, sizeof secret);
    if (size == 0) {
        return 401;
    }
    enum store_status status = find_key(request->collector->store, secret, size, &request->key);
    if (status != STORE_OK) {
        return status == STORE_ABSENT ? 401 : 503;
    }
    bool is_of_one = request->key.project != 0;
    if (!may(&request->key, request->route->role) || (request->route->is_of_all && is_of_one)) {
        return 403;
    }
    request->project = request->key.project;
    bool has_project =
        request->route->is_sentry || strstr(request->route->path, "/projects/*") != NULL;
    return has_project ? find_project(request) : 0;
}
