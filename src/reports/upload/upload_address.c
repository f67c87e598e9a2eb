// SPDX-License-Identifier: Apache-2.0
/* Sources: RFC 3986; the DSN is as in
 * https://develop.sentry.dev/sdk/foundations/transport/authentication/: {scheme}://{public
 * key}[:{secret key}]@{host}[:{port}]/{path}{project}, and the envelope goes to
 * {scheme}://{host}/{path}api/{project}/envelope/. */
#include "upload_address.h"

#include <stdio.h>
#include <string.h>

#include "base_status.h"
#include "base_text.h"

#define COLLECTOR_PATH "api/reports"

/* A part of the text. */
struct part {
    const char *at;
    size_t size;
};

static enum sonde_status fail(struct sonde_error *ret_error, const char *what)
{
    return sonde__base_fail(ret_error, SONDE_USAGE, what, NULL, 0, 0);
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '~';
}

/* Does it consist of letters, digits and bytes of `others`? */
static bool consists_of(struct part part, const char *others)
{
    for (size_t i = 0; i < part.size; i++) {
        if (!is_word(part.at[i]) && (part.at[i] == '\0' || strchr(others, part.at[i]) == NULL)) {
            return false;
        }
    }
    return true;
}

static bool is_port(struct part part)
{
    unsigned value = 0;
    for (size_t i = 0; i < part.size; i++) {
        if (part.at[i] < '0' || part.at[i] > '9' || i == 5) {
            return false;
        }
        value = value * 10 + (unsigned)(part.at[i] - '0');
    }
    return value > 0 && value < 65536;
}

/* The host of "host", "host:port" or "[::1]:port"; false: malformed. */
static bool take_host(struct part authority, struct part *ret_host)
{
    struct part host = authority, port = {0};
    if (authority.size == 0) {
        return false;
    }
    const char *end = authority.at[0] == '[' ? memchr(authority.at, ']', authority.size) : NULL;
    const char *colon = NULL;
    if (end != NULL) {
        host = (struct part){authority.at + 1, (size_t)(end - authority.at) - 1};
        size_t rest = authority.size - host.size - 2;
        colon = rest > 0 ? end + 1 : NULL;
        if (host.size < 2 || !consists_of(host, ":") || (colon != NULL && *colon != ':')) {
            return false;
        }
    } else {
        colon = memchr(authority.at, ':', authority.size);
        host.size = colon != NULL ? (size_t)(colon - authority.at) : authority.size;
        if (host.size == 0 || !consists_of(host, "")) {
            return false;
        }
    }
    if (colon != NULL) {
        port = (struct part){colon + 1, (size_t)(authority.at + authority.size - colon) - 1};
    }
    *ret_host = host;
    return colon == NULL || is_port(port);
}

static bool equals(struct part part, const char *text)
{
    return part.size == strlen(text) && memcmp(part.at, text, part.size) == 0;
}

/* Only complete addresses of 127.0.0.0/8: "127.example.org" is another host. */
static bool is_loopback(struct part host)
{
    unsigned dots = 0;
    for (size_t i = 0; i < host.size; i++) {
        dots += host.at[i] == '.';
        if (host.at[i] != '.' && (host.at[i] < '0' || host.at[i] > '9')) {
            return false;
        }
    }
    return host.size > 4 && memcmp(host.at, "127.", 4) == 0 && dots == 3;
}

static bool is_here(struct part host)
{
    return equals(host, "localhost") || equals(host, "::1") || is_loopback(host);
}

struct address {
    const char *scheme; /* with "://" */
    struct part user, authority, path;
};

static enum sonde_status split(const char *text, struct address *ret, struct sonde_error *ret_error)
{
    static const char *const schemes[] = {"https://", "http://"};
    if (strlen(text) >= SONDE__UPLOAD_URL_MAX) {
        return fail(ret_error, "the address is too long");
    }
    *ret = (struct address){0};
    for (size_t i = 0; i < 2; i++) {
        ret->scheme = sonde__base_starts_with(text, schemes[i]) ? schemes[i] : ret->scheme;
    }
    if (ret->scheme == NULL) {
        return fail(ret_error, "an address begins with https:// or http://");
    }
    const char *at = text + strlen(ret->scheme);
    const char *slash = strchr(at, '/');
    const char *end = slash != NULL ? slash : at + strlen(at);
    const char *user = memchr(at, '@', (size_t)(end - at));
    if (user != NULL) {
        ret->user = (struct part){at, (size_t)(user - at)};
        at = user + 1;
    }
    ret->authority = (struct part){at, (size_t)(end - at)};
    ret->path = (struct part){end, strlen(end)};
    if (!consists_of(ret->path, "/%+!$&'()*,;=:")) {
        return fail(ret_error,
                    "the address has a query, a fragment, or a character that no path has");
    }
    return SONDE_OK;
}

static enum sonde_status read_collector(const struct address *parts, const char *key,
                                        struct sonde__upload_address *address,
                                        struct sonde_error *ret_error)
{
    struct part path = parts->path;
    struct part key_part = {key, key != NULL ? strlen(key) : 0};
    while (path.size > 0 && path.at[path.size - 1] == '/') {
        path.size--;
    }
    if (key_part.size >= sizeof address->key || !consists_of(key_part, "+/=:")) {
        return fail(ret_error, "the key has a character that no key has, or is too long");
    }
    snprintf(address->key, sizeof address->key, "%s", key != NULL ? key : "");
    snprintf(address->url, sizeof address->url, "%s%.*s%.*s/" COLLECTOR_PATH, parts->scheme,
             (int)parts->authority.size, parts->authority.at, (int)path.size,
             path.size > 0 ? path.at : "");
    return SONDE_OK;
}

static enum sonde_status read_dsn(const struct address *parts, const char *key,
                                  struct sonde__upload_address *address,
                                  struct sonde_error *ret_error)
{
    struct part user = parts->user, path = parts->path;
    const char *colon = memchr(user.at, ':', user.size);
    user.size = colon != NULL ? (size_t)(colon - user.at) : user.size; /* the secret key is
                                                                        * obsolete */
    while (path.size > 0 && path.at[path.size - 1] == '/') {
        path.size--;
    }
    size_t project = path.size;
    while (project > 0 && path.at[project - 1] != '/') {
        project--;
    }
    struct part id = {path.at + project, path.size - project};
    if (user.size == 0 || user.size >= sizeof address->key || !consists_of(user, "")) {
        return fail(ret_error, "the part before @ is no key of a DSN");
    }
    if (id.size == 0 || !consists_of(id, "")) {
        return fail(ret_error, "a DSN ends with the id of a project: https://KEY@host/PROJECT");
    }
    if (key != NULL && key[0] != '\0') {
        return fail(ret_error, "a DSN has its key before @: no other key can be given");
    }
    snprintf(address->key, sizeof address->key, "%.*s", (int)user.size, user.at);
    snprintf(address->url, sizeof address->url, "%s%.*s%.*sapi/%.*s/envelope/", parts->scheme,
             (int)parts->authority.size, parts->authority.at, (int)project, path.at, (int)id.size,
             id.at);
    return SONDE_OK;
}

enum sonde_status sonde__upload_address_read(const char *text, const char *key,
                                             struct sonde__upload_address *ret_address,
                                             struct sonde_error *ret_error)
{
    struct sonde__upload_address address = {0};
    struct address parts = {0};
    struct part host;
    SONDE_TRY(split(text, &parts, ret_error));
    if (!take_host(parts.authority, &host)) {
        return fail(ret_error, "the address has no host, or a port that cannot be one");
    }
    address.is_plain = strcmp(parts.scheme, "http://") == 0;
    address.is_here = is_here(host);
    snprintf(address.shown, sizeof address.shown, "%s%.*s%.*s", parts.scheme,
             (int)parts.authority.size, parts.authority.at, (int)parts.path.size, parts.path.at);
    address.protocol = parts.user.at != NULL ? SONDE__UPLOAD_SENTRY : SONDE__UPLOAD_COLLECTOR;
    SONDE_TRY(address.protocol == SONDE__UPLOAD_SENTRY
                  ? read_dsn(&parts, key, &address, ret_error)
                  : read_collector(&parts, key, &address, ret_error));
    *ret_address = address;
    return SONDE_OK;
}
