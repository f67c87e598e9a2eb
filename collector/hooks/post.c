// SPDX-License-Identifier: Apache-2.0
/* With libcurl's multi interface. Source: curl_easy_setopt(3), libcurl-multi(3) and their pages. */
#include "post.h"

#include <curl/curl.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "address.h"

/* Of an answer's body; its status counts, whatever follows. */
enum { BODY_MAX = 65536, CONNECTIONS_KEPT = 16 };

struct posts {
    CURLM *multi;
    struct posts_options options;
    struct sending *first;
};

struct sending {
    struct sending *next;
    CURL *curl;
    struct curl_slist *headers;
    void *ctx;
    const struct posts_options *options;
    size_t body; /* bytes of the answer */
    bool is_refused;
    char error[CURL_ERROR_SIZE];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CURLcode is_usable;

static void start(void)
{
    is_usable = curl_global_init(CURL_GLOBAL_DEFAULT);
}

bool posts_are_there(void)
{
    pthread_once(&once, start);
    return is_usable == CURLE_OK;
}

struct posts *posts_begin(const struct posts_options *options)
{
    struct posts *posts = posts_are_there() ? calloc(1, sizeof *posts) : NULL;
    if (posts == NULL) {
        return NULL;
    }
    posts->options = *options;
    posts->multi = curl_multi_init();
    if (posts->multi == NULL) {
        free(posts);
        return NULL;
    }
    (void)curl_multi_setopt(posts->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_KEPT);
    return posts;
}

/* It is in no list any more. */
static void end_one(struct posts *posts, struct sending *sending)
{
    (void)curl_multi_remove_handle(posts->multi, sending->curl);
    curl_easy_cleanup(sending->curl);
    curl_slist_free_all(sending->headers);
    free(sending);
}

static void drop(struct posts *posts, struct sending *sending)
{
    struct sending **at = &posts->first;
    while (*at != NULL && *at != sending) {
        at = &(*at)->next;
    }
    if (*at == sending) {
        *at = sending->next;
    }
    end_one(posts, sending);
}

void posts_end(struct posts *posts)
{
    if (posts == NULL) {
        return;
    }
    for (struct sending *sending = posts->first, *next; sending != NULL; sending = next) {
        next = sending->next;
        end_one(posts, sending);
    }
    curl_multi_cleanup(posts->multi);
    free(posts);
}

/* --- one message --- */

static size_t take_body(char *bytes, size_t size, size_t count, void *ctx)
{
    struct sending *sending = ctx;
    (void)bytes;
    sending->body += size * count;
    return sending->body <= BODY_MAX ? size * count : 0;
}

/* The address of the connection, after the name was looked up: it is what is connected to. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct sending *sending = ctx;
    (void)purpose;
    if (!address_may_be_sent_to(&address->addr, sending->options->is_public_only)) {
        sending->is_refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static bool add_header(struct sending *sending, const char *name, const char *value)
{
    char line[HOOK_SIGNATURE_TEXT + HOOK_ID_TEXT + 64];
    snprintf(line, sizeof line, "%s: %s", name, value);
    struct curl_slist *list = curl_slist_append(sending->headers, line);
    sending->headers = list != NULL ? list : sending->headers;
    return list != NULL;
}

static bool add_headers(struct sending *sending, const struct post *post)
{
    char signature[HOOK_SIGNATURE_TEXT], time[24];
    hook_sign(post->secret, post->id, post->now_s, post->body, signature);
    snprintf(time, sizeof time, "%llu", (unsigned long long)post->now_s);
    return add_header(sending, "Content-Type", "application/json") &&
           add_header(sending, "webhook-id", post->id) &&
           add_header(sending, "webhook-timestamp", time) &&
           add_header(sending, "webhook-signature", signature) &&
           (sending->headers = curl_slist_append(sending->headers, "Expect:")) != NULL;
}

/* False: an option that matters is not there. */
static bool set_up(struct sending *sending, const struct post *post)
{
    CURL *curl = sending->curl;
    const char *certificates = getenv("SSL_CERT_FILE");
    long timeout_ms = (long)sending->options->seconds * 1000;
    bool ok = curl_easy_setopt(curl, CURLOPT_URL, post->url) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, timeout_ms) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_POST, 1L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_POSTFIELDS, post->body) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_HTTPHEADER, sending->headers) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_WRITEDATA, sending) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, sending) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_PRIVATE, sending) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, sending->error) == CURLE_OK;
    if (ok && certificates != NULL) {
        ok = curl_easy_setopt(curl, CURLOPT_CAINFO, certificates) == CURLE_OK;
    }
    (void)curl_easy_setopt(curl, CURLOPT_USERAGENT, "sonde-collector/" SONDE_VERSION);
    return ok;
}

bool posts_add(struct posts *posts, const struct post *post)
{
    struct sending *sending = calloc(1, sizeof *sending);
    if (sending == NULL) {
        return false;
    }
    sending->curl = curl_easy_init();
    sending->ctx = post->ctx;
    sending->options = &posts->options;
    if (sending->curl == NULL || !add_headers(sending, post) || !set_up(sending, post) ||
        curl_multi_add_handle(posts->multi, sending->curl) != CURLM_OK) {
        curl_easy_cleanup(sending->curl);
        curl_slist_free_all(sending->headers);
        free(sending);
        return false;
    }
    sending->next = posts->first;
    posts->first = sending;
    return true;
}

/* --- all of them --- */

static struct post_result result_of(struct sending *sending, CURLcode code)
{
    long status = 0;
    curl_off_t after = 0;
    struct post_result result = {.ctx = sending->ctx};
    (void)curl_easy_getinfo(sending->curl, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(sending->curl, CURLINFO_RETRY_AFTER, &after);
    bool is_over = code == CURLE_OK || sending->body > BODY_MAX; /* of which no more is read */
    result.status = is_over && status > 0 ? (unsigned)status : 0;
    result.retry_after_s = after > 0 ? (uint64_t)after : 0;
    result.why = sending->is_refused         ? "this address is not sent to"
                 : sending->error[0] != '\0' ? sending->error
                                             : curl_easy_strerror(code);
    return result;
}

/* Returns how many were over. */
static unsigned take_ends(struct posts *posts, posts_each *each, void *ctx)
{
    int running, left;
    unsigned count = 0;
    CURLMsg *message;
    (void)curl_multi_perform(posts->multi, &running);
    for (; (message = curl_multi_info_read(posts->multi, &left)) != NULL; count++) {
        struct sending *sending = NULL;
        CURLcode code = message->data.result;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&sending);
        struct post_result result = result_of(sending, code);
        each(ctx, &result);
        drop(posts, sending);
    }
    return count;
}

void posts_wait(struct posts *posts, unsigned timeout_ms, posts_each *each, void *ctx)
{
    if (take_ends(posts, each, ctx) == 0) {
        (void)curl_multi_poll(posts->multi, NULL, 0, (int)timeout_ms, NULL);
        (void)take_ends(posts, each, ctx);
    }
}

void posts_wake(struct posts *posts)
{
    (void)curl_multi_wakeup(posts->multi);
}
