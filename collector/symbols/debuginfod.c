// SPDX-License-Identifier: Apache-2.0
/* With libcurl. Source: curl_easy_setopt(3) and its pages. */
#include "debuginfod.h"

#include <curl/curl.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "servers.h"
#include "symfile_kept.h"

/* A server may have to take the file out of a package before its first byte. */
enum { CONNECT_SECONDS = 15, SILENT_SECONDS = 60, REDIRECTS_MAX = 4 };

struct debuginfod {
    struct debuginfod_options options;
    CURL *curl; /* keeps connections */
};

struct asking {
    const struct debuginfod *debuginfod;
    int file;
    uint64_t bytes;
    bool is_too_large, is_refused;
    int os_error; /* of the file */
    char error[CURL_ERROR_SIZE];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CURLcode is_usable;

static void start(void)
{
    is_usable = curl_global_init(CURL_GLOBAL_DEFAULT);
}

bool debuginfod_is_there(void)
{
    pthread_once(&once, start);
    return is_usable == CURLE_OK;
}

struct debuginfod *debuginfod_begin(const struct debuginfod_options *options)
{
    struct debuginfod *debuginfod = debuginfod_is_there() ? calloc(1, sizeof *debuginfod) : NULL;
    if (debuginfod == NULL) {
        return NULL;
    }
    debuginfod->options = *options;
    debuginfod->curl = curl_easy_init();
    if (debuginfod->curl == NULL) {
        free(debuginfod);
        return NULL;
    }
    return debuginfod;
}

void debuginfod_end(struct debuginfod *debuginfod)
{
    if (debuginfod != NULL) {
        curl_easy_cleanup(debuginfod->curl);
        free(debuginfod);
    }
}

/* --- one question --- */

static size_t take_body(char *bytes, size_t size, size_t count, void *ctx)
{
    struct asking *asking = ctx;
    size_t left = size * count;
    asking->bytes += left;
    if (asking->bytes > asking->debuginfod->options.bytes_max) {
        asking->is_too_large = true;
        return 0;
    }
    while (left > 0) {
        ssize_t done = write(asking->file, bytes, left);
        if (done < 0 && errno != EINTR) {
            asking->os_error = errno;
            return 0;
        }
        bytes += done > 0 ? done : 0;
        left -= done > 0 ? (size_t)done : 0;
    }
    return size * count;
}

static int is_to_end(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct debuginfod_options *options = &((struct asking *)ctx)->debuginfod->options;
    (void)a, (void)b, (void)c, (void)d;
    return options->is_ending(options->ctx);
}

/* The address of the connection, after the name was looked up; also that of a redirect. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct asking *asking = ctx;
    (void)purpose;
    if (!address_may_be_sent_to(&address->addr, false)) {
        asking->is_refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* What a stranger's server may make of the question. False: an option is not there. */
static bool bound(const struct asking *asking, CURL *curl, const char *url)
{
    const struct debuginfod_options *options = &asking->debuginfod->options;
    const char *then = strncmp(url, "https:", 6) == 0 ? "https" : "http,https";
    bool ok = curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, then) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)options->bytes_max) ==
                  CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)options->seconds) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)SILENT_SECONDS) == CURLE_OK;
    return ok;
}

static bool set_up(struct asking *asking, CURL *curl, const char *server, const char *url)
{
    const char *certificates = getenv("SSL_CERT_FILE");
    bool ok = bound(asking, curl, server) && curl_easy_setopt(curl, CURLOPT_URL, url) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_WRITEDATA, asking) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, is_to_end) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_XFERINFODATA, asking) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, asking) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, asking->error) == CURLE_OK;
    if (ok && certificates != NULL) {
        ok = curl_easy_setopt(curl, CURLOPT_CAINFO, certificates) == CURLE_OK;
    }
    (void)curl_easy_setopt(curl, CURLOPT_USERAGENT, "sonde-collector/" SONDE_VERSION);
    return ok;
}

static void take_result(const struct asking *asking, CURLcode code,
                        struct debuginfod_result *ret_result)
{
    long status = 0;
    curl_off_t after = 0;
    CURL *curl = asking->debuginfod->curl;
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &after);
    if (code == CURLE_OK && status == 200) {
        ret_result->answer = DEBUGINFOD_FOUND;
    } else if (code == CURLE_HTTP_RETURNED_ERROR && (status == 404 || status == 410)) {
        ret_result->answer = DEBUGINFOD_ABSENT;
    } else if (code == CURLE_FILESIZE_EXCEEDED || asking->is_too_large) {
        ret_result->answer = DEBUGINFOD_TOO_LARGE;
    } else {
        ret_result->retry_after_s = after > 0 ? (uint64_t)after : 0;
        snprintf(ret_result->why, sizeof ret_result->why, "%s",
                 asking->is_refused         ? "this address is not sent to"
                 : asking->os_error != 0    ? strerror(asking->os_error)
                 : asking->error[0] != '\0' ? asking->error
                 : code != CURLE_OK         ? curl_easy_strerror(code)
                                            : "no file, but another answer");
    }
}

void debuginfod_ask(struct debuginfod *debuginfod, const char *server,
                    const struct sonde__build_id *id, int file,
                    struct debuginfod_result *ret_result)
{
    struct asking asking = {.debuginfod = debuginfod, .file = file};
    char text[SONDE__SYMFILE_ID_TEXT], url[SERVERS_URL + sizeof text + 32];
    *ret_result = (struct debuginfod_result){.answer = DEBUGINFOD_FAILED};
    sonde__symfile_id_text(id, text);
    snprintf(url, sizeof url, "%s/buildid/%s/debuginfo", server, text);
    curl_easy_reset(debuginfod->curl);
    if (ftruncate(file, 0) != 0 || lseek(file, 0, SEEK_SET) != 0 ||
        !set_up(&asking, debuginfod->curl, server, url)) {
        snprintf(ret_result->why, sizeof ret_result->why, "it cannot be asked");
        return;
    }
    take_result(&asking, curl_easy_perform(debuginfod->curl), ret_result);
}
