// SPDX-License-Identifier: Apache-2.0
/* Requests by libcurl. Redirects are not followed, so a report
 * goes to the host that was named and to no other. Certificates are checked against the system's,
 * or the file SSL_CERT_FILE names, as programs that use OpenSSL do.
 *
 * libcurl is called on one thread at a time (upload.h). Source: curl_easy_setopt(3) and its pages.
 */
#include <curl/curl.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

/* A server that takes or gives nothing for so long is gone. */
#define STALL_SECONDS   30L
#define CONNECT_SECONDS 30L

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CURLcode is_usable;

static void start(void)
{
    is_usable = curl_global_init(CURL_GLOBAL_DEFAULT);
}

static size_t take_body(char *bytes, size_t size, size_t count, void *ctx)
{
    struct sonde_upload_reply *reply = ctx;
    return reply->body(reply, bytes, size * count) == 0 ? size * count : 0;
}

/* An answer may follow others (100, 103, a proxy's): the last one counts, with its headers. */
static size_t take_header(char *line, size_t size, size_t count, void *ctx)
{
    struct sonde_upload_reply *reply = ctx;
    reply->header(reply, line, size * count);
    return size * count;
}

static int ask_whether_wanted(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    const struct sonde_upload_reply *reply = ctx;
    return !reply->wanted(reply);
}

static enum sonde_upload_failure failure_of(CURL *curl, CURLcode code)
{
    long connections = 0;
    switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL: /* ours, or what the server speaks: HTTP/0.9, or anything */
        (void)curl_easy_getinfo(curl, CURLINFO_NUM_CONNECTS, &connections);
        return connections > 0 ? SONDE_UPLOAD_BROKEN_OFF : SONDE_UPLOAD_NOT_SUPPORTED;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_INTERFACE_FAILED:
        return SONDE_UPLOAD_UNREACHABLE;
    case CURLE_OPERATION_TIMEDOUT:
        return SONDE_UPLOAD_TIMED_OUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
        return SONDE_UPLOAD_NOT_TRUSTED;
    case CURLE_ABORTED_BY_CALLBACK:
        return SONDE_UPLOAD_CANCELLED;
    case CURLE_NOT_BUILT_IN:
    case CURLE_URL_MALFORMAT:
        return SONDE_UPLOAD_NOT_SUPPORTED;
    default:
        return SONDE_UPLOAD_BROKEN_OFF;
    }
}

/* False: an option that matters is not there. */
static bool set_up(CURL *curl, const struct sonde_upload_request *request,
                   struct sonde_upload_reply *reply, struct curl_slist *headers, char *error)
{
    const char *certificates = getenv("SSL_CERT_FILE");
    long timeout_ms = (long)(request->timeout_ns / 1000000u);
    bool ok = curl_easy_setopt(curl, CURLOPT_URL, request->url) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_POST, 1L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                               (curl_off_t)request->body_bytes) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK;
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
    (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, STALL_SECONDS);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, reply);
    (void)curl_easy_setopt(curl, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, ask_whether_wanted);
    (void)curl_easy_setopt(curl, CURLOPT_XFERINFODATA, reply);
    if (certificates != NULL && certificates[0] != '\0') {
        ok = ok && curl_easy_setopt(curl, CURLOPT_CAINFO, certificates) == CURLE_OK;
    }
    return ok;
}

static struct curl_slist *list_headers(const char *const *lines)
{
    /* no "Expect: 100-continue": a server that does not know it costs a second */
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    for (; list != NULL && *lines != NULL; lines++) {
        struct curl_slist *longer = curl_slist_append(list, *lines);
        if (longer == NULL) {
            curl_slist_free_all(list);
        }
        list = longer;
    }
    return list;
}

static void perform(CURL *curl, const struct sonde_upload_request *request,
                    struct sonde_upload_reply *reply, struct curl_slist *headers)
{
    char error[CURL_ERROR_SIZE] = "";
    long status = 0;
    if (!set_up(curl, request, reply, headers, error)) {
        reply->failed(reply, SONDE_UPLOAD_NOT_SUPPORTED, "libcurl lacks something, or memory");
        return;
    }
    CURLcode code = curl_easy_perform(curl);
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    /* an answer that is too long to be read has its status, which is enough */
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && status != 0)) {
        reply->status(reply, (int32_t)status);
    } else {
        reply->failed(reply, failure_of(curl, code),
                      error[0] != '\0' ? error : curl_easy_strerror(code));
    }
}

void sonde_upload_plugin_send(void *ctx, const struct sonde_upload_request *request,
                              struct sonde_upload_reply *reply)
{
    (void)ctx;
    pthread_once(&once, start);
    CURL *curl = is_usable == CURLE_OK ? curl_easy_init() : NULL;
    struct curl_slist *headers = curl != NULL ? list_headers(request->headers) : NULL;
    if (headers == NULL) {
        reply->failed(reply, SONDE_UPLOAD_NOT_SUPPORTED,
                      "libcurl cannot be used, or memory is short");
    } else {
        perform(curl, request, reply, headers);
    }
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
}

const struct sonde_upload_transport *sonde_upload_curl(void)
{
    static const struct sonde_upload_transport transport = {
        .struct_bytes = sizeof transport,
        .send = sonde_upload_plugin_send,
        .compress = sonde_upload_plugin_compress,
        .metered = sonde_upload_plugin_metered,
    };
    return &transport;
}
