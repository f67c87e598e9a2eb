// SPDX-License-Identifier: Apache-2.0
#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector.h"
#include "http_head.h"
#include "http_questions.h"
#include "http_route.h"
#include "http_slow.h"
#include "say.h"

enum { SMALL_ANSWER = 64 << 10 };

struct http {
    struct MHD_Daemon *daemon;
    struct collector *collector;
    const struct http_route *routes;
    struct questions *questions, *slow_questions; /* slow: of routes with is_slow */
    struct slow *slow;
    atomic_bool is_ending;
    atomic_uint requests; /* that have begun and are not answered */
};

/* --- what handlers use --- */

const char *http_header(struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *http_argument(struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

void http_add_header(struct http_request *request, const char *name, const char *format, ...)
{
    struct http_answer *answer = &request->answer;
    va_list list;
    if (answer->header_count == HTTP_HEADERS_MAX) {
        return;
    }
    answer->headers[answer->header_count].name = name;
    va_start(list, format);
    vsnprintf(answer->headers[answer->header_count++].value, sizeof answer->headers[0].value,
              format, list);
    va_end(list);
}

enum http_when http_give(struct http_request *request, unsigned status, const char *type,
                         void *body, size_t size)
{
    request->answer.status = status;
    request->answer.type = type;
    request->answer.body = body;
    request->answer.size = size;
    return HTTP_NOW;
}

enum http_when http_give_file(struct http_request *request, unsigned status, const char *type,
                              int file)
{
    request->answer.status = status;
    request->answer.type = type;
    request->answer.is_file = true;
    request->answer.file = file;
    return HTTP_NOW;
}

enum http_when http_refuse(struct http_request *request, unsigned status, const char *format, ...)
{
    char text[256];
    char *body = NULL;
    size_t size = 0;
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    FILE *out = open_memstream(&body, &size);
    if (out != NULL) {
        fputs("{\"error\": \"", out);
        for (const char *c = text; *c != '\0'; c++) {
            if ((unsigned char)*c < ' ' || *c == '"' || *c == '\\') {
                fprintf(out, "\\u%04x", (unsigned)(unsigned char)*c);
            } else {
                fputc(*c, out);
            }
        }
        fputs("\"}\n", out);
        fclose(out);
    }
    return http_give(request, status, "application/json", body, size);
}

/* --- answers --- */

/* The body of the answer, which the response owns; null: no memory. */
static struct MHD_Response *make_response(struct http_answer *a)
{
    struct stat file;
    struct MHD_Response *response = NULL;
    if (!a->is_file) {
        response = MHD_create_response_from_buffer(a->size, a->body, MHD_RESPMEM_MUST_FREE);
        a->body = response != NULL ? NULL : a->body;
        return response;
    }
    if (fstat(a->file, &file) == 0) {
        a->size = (size_t)file.st_size;
        response = MHD_create_response_from_fd64((uint64_t)file.st_size, a->file);
        a->is_file = response == NULL;
    }
    return response;
}

static enum MHD_Result answer(struct http_request *request)
{
    struct http_answer *a = &request->answer;
    struct MHD_Response *response = make_response(a);
    if (response == NULL) {
        return MHD_NO;
    }
    request->client->bytes += a->size;
    request->client->is_asked = false;
    if (a->type != NULL) {
        (void)MHD_add_response_header(response, "Content-Type", a->type);
    }
    if (request->route == NULL || strcmp(request->route->method, "POST") != 0) {
        (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
        (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    }
    for (unsigned i = 0; i < a->header_count; i++) {
        (void)MHD_add_response_header(response, a->headers[i].name, a->headers[i].value);
    }
    enum MHD_Result result = MHD_queue_response(request->connection, a->status, response);
    MHD_destroy_response(response);
    request->collector->answered++;
    return result;
}

static enum MHD_Result refuse(struct http_request *request, unsigned status)
{
    static const struct {
        unsigned status;
        const char *text;
    } texts[] = {
        {400, "the head may be read in two ways: two lengths, hosts or codings, or a bad name"},
        {401, "a key is needed: Authorization: Bearer KEY"},
        {403, "the key may not do this"},
        {404, "there is no such thing here"},
        {405, "not with this method"},
        {413, "the body is too large"},
        {501, "no transfer coding but chunked"},
        {507, "the collector's disk does not take it"},
        {503, "the database does not answer, too much is sent at once, or the collector ends"},
    };
    const char *text = "refused";
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        text = texts[i].status == status ? texts[i].text : text;
    }
    if (status == 503 && store_is_damaged()) {
        text = "the database is damaged, or too much is sent at once";
    }
    request->collector->refused++;
    (void)http_refuse(request, status, "%s", text);
    if (status == 401) {
        bool is_page = request->route != NULL && request->route->is_page;
        http_add_header(request, "WWW-Authenticate", "%s",
                        is_page ? "Basic realm=\"sonde\", charset=\"UTF-8\"" : "Bearer");
    }
    if (status == 503) {
        http_add_header(request, "Retry-After", "10");
    }
    return answer(request);
}

/* --- requests --- */

static uint64_t body_max(const struct http_route *route)
{
    return route->open_file != NULL ? route->file_max : COLLECTOR_WIRE_MAX;
}

/* Decide by the head alone. Returns 0 or the status that refuses. */
static unsigned look_at_head(const struct http *http, struct http_request *request,
                             const char *method, const char *path)
{
    unsigned status = http_look_at_head(request->connection);
    status = status == 0 ? http_find_route(request, http->routes, method, path) : status;
    if (status == 405) {
        char allowed[64];
        http_allowed(http->routes, path, allowed, sizeof allowed);
        http_add_header(request, MHD_HTTP_HEADER_ALLOW, "%s", allowed);
    }
    if (status == 0) {
        const struct http_credentials credentials = {
            .authorization = http_header(request, MHD_HTTP_HEADER_AUTHORIZATION),
            .sentry_auth = http_header(request, "X-Sentry-Auth"),
            .sentry_key = http_argument(request, "sentry_key")};
        status = http_admit(request, &credentials);
    }
    const char *length = http_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (status == 0 && length != NULL && strtoull(length, NULL, 10) > body_max(request->route)) {
        status = 413;
    }
    return status;
}

/* Have room for so many bytes. Returns 0, or the status that refuses. */
static unsigned reserve(struct http_request *request, size_t size)
{
    _Atomic uint64_t *all = &request->collector->body_bytes;
    if (size > COLLECTOR_WIRE_MAX) {
        return 413;
    }
    if (size <= request->capacity) {
        return 0;
    }
    size_t capacity = request->capacity == 0 ? 8192 : 2 * request->capacity;
    capacity = capacity < size ? size : capacity;
    capacity = capacity < COLLECTOR_WIRE_MAX ? capacity : COLLECTOR_WIRE_MAX;
    uint64_t more = capacity - request->capacity;
    if (atomic_fetch_add(all, more) + more > COLLECTOR_BODIES_MAX) {
        atomic_fetch_sub(all, more);
        return 503;
    }
    void *body = realloc(request->body, capacity);
    if (body == NULL) {
        atomic_fetch_sub(all, more);
        return 503;
    }
    request->body = body;
    request->capacity = capacity;
    return 0;
}

static void drop_body(struct http_request *request)
{
    atomic_fetch_sub(&request->collector->body_bytes, request->capacity);
    free(request->body);
    request->body = NULL;
    request->size = request->capacity = 0;
}

/* Write a part of the body to its file. Returns 0, or the status that refuses. */
static unsigned write_part(struct http_request *request, const char *bytes, size_t size)
{
    if (!request->has_file) {
        request->file = request->route->open_file(request);
        request->has_file = request->file >= 0;
    }
    if (!request->has_file) {
        return errno == EBUSY ? 503 : 507;
    }
    if (size > request->route->file_max - request->file_size) {
        return 413;
    }
    while (size > 0) {
        ssize_t done = write(request->file, bytes, size);
        if (done < 0 && errno != EINTR) {
            return 507;
        }
        bytes += done > 0 ? done : 0;
        size -= done > 0 ? (size_t)done : 0;
        request->file_size += done > 0 ? (uint64_t)done : 0;
    }
    return 0;
}

static void drop_file(struct http_request *request)
{
    if (request->has_file) {
        close(request->file);
        request->has_file = false;
    }
}

/* Take a part of the body, or only read over it if it is refused. */
static void take(struct http_request *request, const char *bytes, size_t size)
{
    if (request->refused != 0) {
        return;
    }
    bool is_file = request->route->open_file != NULL;
    request->refused =
        is_file ? write_part(request, bytes, size) : reserve(request, request->size + size);
    if (request->refused != 0) {
        drop_body(request);
        drop_file(request);
        return;
    }
    request->client->bytes += size;
    if (is_file) {
        return;
    }
    memcpy((char *)request->body + request->size, bytes, size);
    request->size += size;
}

/* A client may read a large answer for long, so all of them together are bounded. Small ones are
 * always given. */
static void bound_answer(struct http_request *request)
{
    struct http_answer *a = &request->answer;
    _Atomic uint64_t *all = &request->collector->answer_bytes;
    if (a->is_file || a->size <= SMALL_ANSWER) {
        return;
    }
    request->held = a->size;
    if (atomic_fetch_add(all, a->size) + a->size > COLLECTOR_ANSWERS_MAX) {
        free(a->body);
        a->header_count = 0;
        http_add_header(request, "Retry-After", "10");
        (void)http_refuse(request, 503, "too many large answers are read now: come back later");
        atomic_fetch_sub(all, request->held);
        request->held = 0;
    }
}

static enum MHD_Result handle(struct http_request *request)
{
    if (request->refused != 0) {
        return refuse(request, request->refused);
    }
    if (!request->route->is_prompt && !request->is_answered) {
        request->client->is_asked = true;
        struct http *http = request->http;
        return questions_add(request->route->is_slow ? http->slow_questions : http->questions,
                             request)
                   ? MHD_YES
                   : refuse(request, 503);
    }
    if (!request->is_answered && request->route->handle(request) == HTTP_AGAIN) {
        request->is_again = true; /* libmicrohttpd calls until there is an answer */
        return MHD_YES;
    }
    bound_answer(request);
    return answer(request);
}

static struct slow_client *client_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

static enum MHD_Result begin_request(struct http *http, struct MHD_Connection *connection,
                                     const char *method, const char *path,
                                     struct http_request **ret_request)
{
    struct http_request *request = calloc(1, sizeof *request);
    struct slow_client *client = client_of(connection);
    if (request == NULL || client == NULL) {
        free(request);
        return MHD_NO;
    }
    request->collector = http->collector;
    request->http = http;
    request->connection = connection;
    request->client = client;
    slow_restart(client);
    *ret_request = request;
    http->requests++;
    /* kept: while it stops, libmicrohttpd takes no answer, but calls again */
    request->refused = http->is_ending ? 503 : look_at_head(http, request, method, path);
    return request->refused != 0 ? refuse(request, request->refused) : MHD_YES;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *bytes,
                                  size_t *size, void **ret_request)
{
    struct http *http = ctx;
    struct http_request *request = *ret_request;
    (void)version;
    if (request == NULL) {
        return begin_request(http, connection, method, path, (struct http_request **)ret_request);
    }
    if (*size != 0) {
        take(request, bytes, *size);
        *size = 0;
        return MHD_YES;
    }
    return handle(request);
}

static void on_end(void *ctx, struct MHD_Connection *connection, void **ret_request,
                   enum MHD_RequestTerminationCode why)
{
    struct http_request *request = *ret_request;
    (void)ctx, (void)connection, (void)why;
    if (request != NULL) {
        request->http->requests--;
        slow_restart(request->client);
        if (request->forget != NULL) {
            request->forget(request);
        }
        drop_body(request);
        drop_file(request);
        atomic_fetch_sub(&request->collector->answer_bytes, request->held);
        if (request->answer.is_file) {
            close(request->answer.file);
        }
        free(request->answer.body);
        free(request);
    }
    *ret_request = NULL;
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **client,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http *http = ctx;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (what == MHD_CONNECTION_NOTIFY_STARTED && info != NULL) {
        *client = slow_add(http->slow, info->connect_fd);
    } else if (*client != NULL) {
        slow_remove(http->slow, *client);
        *client = NULL;
    }
}

unsigned http_drop_slow(struct http *http)
{
    return slow_look(http->slow, slow_now_ns());
}

/* --- start and stop --- */

/* getaddrinfo() takes 65536 for 0. */
static bool is_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits >= 1 && digits <= 5 && text[digits] == '\0' && strtoul(text, NULL, 10) <= 65535;
}

/* Resolve "HOST:PORT"; a host in brackets is IPv6. */
static bool parse_address(const char *text, struct sockaddr_storage *ret_address)
{
    char host[256];
    const char *colon = strrchr(text, ':');
    const struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    size_t size = colon != NULL ? (size_t)(colon - text) : 0;
    bool has_brackets = size >= 2 && text[0] == '[' && text[size - 1] == ']';
    if (colon == NULL || size >= sizeof host || !is_port(colon + 1)) {
        return false;
    }
    snprintf(host, sizeof host, "%.*s", (int)(has_brackets ? size - 2 : size),
             has_brackets ? text + 1 : text);
    if (getaddrinfo(host[0] != '\0' ? host : NULL, colon + 1, &hints, &found) != 0) {
        return false;
    }
    memcpy(ret_address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return true;
}

static void on_log(void *ctx, const char *format, va_list list)
{
    char text[512];
    (void)ctx;
    vsnprintf(text, sizeof text, format, list);
    text[strcspn(text, "\r\n")] = '\0';
    say_error("http: %s", text);
}

static struct MHD_Daemon *start_daemon(struct http *http, const struct http_options *options,
                                       const struct sockaddr_storage *address)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                     (address->ss_family == AF_INET6 ? MHD_USE_DUAL_STACK : 0) |
                     (options->certificate != NULL ? MHD_USE_TLS : 0);
    const struct MHD_OptionItem pool[] = {
        {MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)options->threads, NULL}, {MHD_OPTION_END, 0, NULL}};
    const struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)options->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)options->private_key},
        {MHD_OPTION_END, 0, NULL}};
    const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    return MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, http, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
        MHD_OPTION_UNESCAPE_CALLBACK, http_unescape, NULL, MHD_OPTION_SOCK_ADDR, address,
        MHD_OPTION_CONNECTION_LIMIT, options->connections, MHD_OPTION_CONNECTION_TIMEOUT,
        options->idle_seconds, MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)16384, MHD_OPTION_ARRAY, options->certificate != NULL ? tls : none,
        MHD_OPTION_ARRAY, options->threads > 1 ? pool : none, MHD_OPTION_END);
}

static void end_questions(struct http *http)
{
    if (http->slow_questions != NULL) {
        questions_end(http->slow_questions);
        http->slow_questions = NULL;
    }
    if (http->questions != NULL) {
        questions_end(http->questions);
        http->questions = NULL;
    }
}

static void end_parts(struct http *http)
{
    end_questions(http);
    if (http->slow != NULL) {
        slow_end(http->slow);
    }
    free(http);
}

enum sonde_status http_start(struct collector *collector, const struct http_options *options,
                             struct http **ret_http, struct sonde_error *ret_error)
{
    struct sockaddr_storage address;
    if (!parse_address(options->address, &address)) {
        ret_error->status = SONDE_USAGE;
        snprintf(ret_error->what, sizeof ret_error->what,
                 "not an address and port as 127.0.0.1:7450: %s", options->address);
        return SONDE_USAGE;
    }
    struct http *http = calloc(1, sizeof *http);
    if (http == NULL) {
        return SONDE_MEMORY;
    }
    http->collector = collector;
    http->routes = options->routes;
    http->questions = questions_begin(STORE_LANES - 1); /* lane 0 is that of the other threads */
    http->slow_questions = questions_begin(0);
    http->slow = slow_begin(options->slow_seconds, options->idle_seconds);
    if (http->questions == NULL || http->slow_questions == NULL || http->slow == NULL) {
        end_parts(http);
        return SONDE_MEMORY;
    }
    errno = 0;
    http->daemon = start_daemon(http, options, &address);
    if (http->daemon == NULL) {
        ret_error->os_error = errno;
        ret_error->status = SONDE_OS;
        snprintf(ret_error->what, sizeof ret_error->what, "cannot listen at %s%s", options->address,
                 options->certificate == NULL || errno != 0
                     ? ""
                     : ", or the certificate and the key are no PEM files that belong together");
        end_parts(http);
        return SONDE_OS;
    }
    *ret_http = http;
    return SONDE_OK;
}

static void pause_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

void http_stop(struct http *http)
{
    uint64_t until_ns = collector_steady_ns() + (uint64_t)HTTP_END_SECONDS * 1000000000u;
    http->is_ending = true;
    MHD_socket listening = MHD_quiesce_daemon(http->daemon);
    if (listening != MHD_INVALID_SOCKET) {
        close(listening);
    }
    while (http->requests != 0 && collector_steady_ns() < until_ns) {
        pause_a_little();
    }
    end_questions(http);
    MHD_stop_daemon(http->daemon);
    end_parts(http);
}

unsigned http_port(struct http *http)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info != NULL ? info->port : 0;
}
