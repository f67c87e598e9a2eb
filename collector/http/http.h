// SPDX-License-Identifier: Apache-2.0
/* Requests and answers over libmicrohttpd: whole bodies of bounded size, in memory or in a file,
 * routes, and the caller's key. The rest of the collector does not see that library.
 *
 * A handler fills the answer and returns HTTP_NOW. It runs on a thread for questions, which may
 * wait for the database, while the threads for HTTP go on. Handlers of routes with is_prompt run on
 * those, and may return HTTP_AGAIN: then they are called again on the same thread, with is_again,
 * when it has looked at all other requests that are ready now. */
#ifndef SONDE_COLLECTOR_HTTP_H
#define SONDE_COLLECTOR_HTTP_H

#include <stdio.h>

#include "journal.h"
#include "store.h"
#include "worker.h"

enum { HTTP_PARTS_MAX = 4, HTTP_HEADERS_MAX = 6, HTTP_PART_TEXT = 128 };

struct http_answer {
    unsigned status;
    const char *type; /* Content-Type */
    void *body;       /* from malloc(), or null */
    size_t size;
    bool is_file; /* the body is all of a file instead, which the answer closes */
    int file;
    struct {
        const char *name;
        char value[128];
    } headers[HTTP_HEADERS_MAX];
    unsigned header_count;
};

struct collector;
struct http_request;
struct slow_client;

enum http_when { HTTP_NOW, HTTP_AGAIN };
typedef enum http_when http_handler(struct http_request *request);

struct http_route {
    const char *method;
    const char *path; /* "/api/projects/" followed by a star for each part that may be anything */
    enum store_role role; /* that the caller's key must have; 0: none is needed */
    bool is_page;         /* for people: asks a browser for the key */
    bool is_of_all;       /* about all projects: a key of one may not use it */
    bool is_prompt;       /* the handler does not wait for the database */
    bool is_sentry;       /* the key comes as Sentry's SDKs send it, and the first starred part is
                           * the number or name of its project */
    bool is_slow;         /* the handler takes long: one at a time runs, beside all others */
    /* the body goes to a file, which this opens: a descriptor, or -1 with errno; null: to memory */
    int (*open_file)(struct http_request *request);
    uint64_t file_max; /* its bytes */
    http_handler *handle;
};

struct http;

struct http_request {
    struct collector *collector;
    struct http *http;
    struct slow_client *client;
    void *connection; /* of libmicrohttpd */
    const struct http_route *route;
    char parts[HTTP_PARTS_MAX][HTTP_PART_TEXT]; /* the starred parts of the path */
    struct store_key key;                       /* the caller's; number 0: none */
    uint32_t project;                           /* of the first starred part, if it is one */
    void *body;
    size_t size, capacity;
    bool has_file; /* the body, or what came of it, is in this file */
    int file;
    uint64_t file_size;
    unsigned refused;           /* a status, because of the body; 0: it is taken */
    bool is_again, is_answered; /* is_answered: by a thread for questions */
    struct http_request *next;  /* that waits for such a thread */
    struct http_answer answer;
    size_t held; /* bytes of the answer that count in the collector's answer_bytes */
    /* of a handler that is called again */
    void (*forget)(struct http_request *request); /* the request ends before that; or null */
    struct report_id id;
    uint32_t form;
    int os_error;
};

struct http_options {
    const struct http_route *routes; /* a route without a path ends them */
    const char *address;             /* "127.0.0.1:7450", "[::1]:0" */
    unsigned threads;
    const char *certificate, *private_key; /* PEM texts; null: no TLS */
    unsigned connections;                  /* at most */
    unsigned idle_seconds;                 /* a client that is silent for so long is dropped */
    unsigned slow_seconds;                 /* for a request, beside a second for each 4 KiB */
};

/* Returns OK | USAGE (not an address) | OS. Ownership: http_stop(). */
SONDE_NODISCARD enum sonde_status http_start(struct collector *collector,
                                             const struct http_options *options,
                                             struct http **ret_http, struct sonde_error *ret_error);
/* Take no new requests, answer those that have begun, for HTTP_END_SECONDS, and end. */
enum { HTTP_END_SECONDS = 10 };
void http_stop(struct http *http);
/* Drop clients that take too long; call it now and then. Returns how many. */
unsigned http_drop_slow(struct http *http);
unsigned http_port(struct http *http);

/* A header of the request; null: it has none. */
const char *http_header(struct http_request *request, const char *name);
/* An argument of the query; null: it has none. */
const char *http_argument(struct http_request *request, const char *name);
/* A field of the body, which is a form (application/x-www-form-urlencoded). UNFIT: it is longer
 * than `size` - 1 bytes, or has a zero byte; then what is in ret_text means nothing. */
enum http_field { HTTP_FIELD_NONE, HTTP_FIELD_TEXT, HTTP_FIELD_UNFIT };
enum http_field http_field(const struct http_request *request, const char *name, char *ret_text,
                           size_t size);
void http_add_header(struct http_request *request, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The answer {"error": "…"}; its text goes to people. Returns HTTP_NOW. */
enum http_when http_refuse(struct http_request *request, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The answer of a stream of open_memstream(); takes its memory. Returns HTTP_NOW. */
enum http_when http_give(struct http_request *request, unsigned status, const char *type,
                         void *body, size_t size);
/* The answer of all of a file; takes the descriptor. Returns HTTP_NOW. */
enum http_when http_give_file(struct http_request *request, unsigned status, const char *type,
                              int file);
#endif
