// SPDX-License-Identifier: Apache-2.0
/* The route of a request, and whether its key may use it. For this folder only. */
#ifndef SONDE_COLLECTOR_HTTP_ROUTE_H
#define SONDE_COLLECTOR_HTTP_ROUTE_H

#include "http.h"

/* Find the route of a method and a path, and its starred parts. Returns 0, or the status that
 * refuses: 404, or 405 for another method. */
unsigned http_find_route(struct http_request *request, const struct http_route *routes,
                         const char *method, const char *path);
/* The methods of a path, as "GET, HEAD, POST". */
void http_allowed(const struct http_route *routes, const char *path, char *ret_text, size_t size);
/* Where a caller's key may be; each may be null. */
struct http_credentials {
    const char *authorization, *sentry_auth; /* the headers Authorization and X-Sentry-Auth */
    const char *sentry_key;                  /* of the query */
};
/* Read the caller's key (of headers, or for Sentry's SDKs of the query), and check that it may use
 * the route. Returns 0, or the status that refuses: 401, 403, 404 (another project, or none), 503.
 */
unsigned http_admit(struct http_request *request, const struct http_credentials *credentials);

#endif
