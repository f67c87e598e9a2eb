// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include <stdio.h>
#include <string.h>

#include "runs.h"
#include "test.h"

static void find_id(struct server *server, const struct sonde_upload_request *request)
{
    size_t at = 0;
    server->last_id[0] = '\0';
    for (const char *const *line = request->headers; *line != NULL; line++) {
        static const char key[] = "Idempotency-Key: \"";
        at += (size_t)snprintf(server->last_headers + at, sizeof server->last_headers - at, "%s\n",
                               *line);
        if (strncmp(*line, key, sizeof key - 1) == 0) {
            snprintf(server->last_id, sizeof server->last_id, "%.32s", *line + sizeof key - 1);
        }
    }
    if (server->last_id[0] == '\0') { /* an envelope begins with {"event_id": " */
        snprintf(server->last_id, sizeof server->last_id, "%.32s",
                 (const char *)request->body + strlen("{\"event_id\": \""));
    }
}

static void store(struct server *server)
{
    for (unsigned i = 0; i < server->stored_count; i++) {
        if (strcmp(server->stored[i], server->last_id) == 0) {
            server->repeated_count++;
            return;
        }
    }
    CHECK(server->stored_count < SERVER_STORED_MAX);
    memcpy(server->stored[server->stored_count++], server->last_id, sizeof server->last_id);
}

static void answer(void *ctx, const struct sonde_upload_request *request,
                   struct sonde_upload_reply *reply)
{
    struct server *server = ctx;
    unsigned i = server->request_count++;
    struct server_answer answer = {.status = 200};
    if (server->answer_count > 0) {
        answer = server->answers[i < server->answer_count ? i : server->answer_count - 1];
    }
    find_id(server, request);
    server->last_bytes = request->body_bytes;
    server->last_timeout_ns = request->timeout_ns;
    if (server->on_request != NULL) {
        server->on_request(server);
    }
    if (!reply->wanted(reply)) {
        reply->failed(reply, SONDE_UPLOAD_CANCELLED, NULL);
        return;
    }
    if (server->poison != NULL && strcmp(server->poison, server->last_id) == 0) {
        answer = (struct server_answer){.status = 500};
    }
    if ((answer.status >= 200 && answer.status < 300) || answer.is_lost) {
        store(server);
    }
    if (answer.is_lost || answer.status == 0) {
        reply->failed(reply, answer.is_lost ? SONDE_UPLOAD_BROKEN_OFF : answer.failure, "fake");
        return;
    }
    reply->header(reply, "Sonde-Protocol: 1", strlen("Sonde-Protocol: 1"));
    if (answer.header != NULL) {
        reply->header(reply, answer.header, strlen(answer.header));
    }
    (void)reply->body(reply, "{}", 2);
    reply->status(reply, answer.status);
}

static size_t compress(void *ctx, enum sonde_upload_coding coding, const void *bytes, size_t size,
                       void *to, size_t capacity)
{
    const struct server *server = ctx;
    (void)coding, (void)bytes, (void)size;
    size_t packed = server->compressed_to <= capacity ? server->compressed_to : 0;
    memset(to, 'z', packed);
    return packed;
}

static enum sonde_upload_metered metered(void *ctx)
{
    return ((const struct server *)ctx)->metered;
}

static int64_t unix_s(void *ctx)
{
    return ((const struct server *)ctx)->now_s;
}

static uint32_t chance(void *ctx)
{
    return ((const struct server *)ctx)->chance;
}

static uint64_t now_ns(void *ctx)
{
    return ((const struct server *)ctx)->now_ns;
}

void server_start(struct server *server)
{
    memset(server, 0, sizeof *server);
    server->now_s = 1790000000;
    server->now_ns = 5000000000u;
    server->chance = UINT32_MAX / 2;
    server->transport = (struct sonde_upload_transport){.struct_bytes = sizeof server->transport,
                                                        .send = answer,
                                                        .compress = compress,
                                                        .metered = metered,
                                                        .ctx = server};
    server->env = (struct sonde__upload_env){unix_s, chance, now_ns, server};
}

void server_then(struct server *server, struct server_answer answer)
{
    CHECK(server->answer_count < sizeof server->answers / sizeof server->answers[0]);
    server->answers[server->answer_count++] = answer;
}

struct sonde__upload_sender server_sender(struct server *server, const char *to,
                                          const struct sonde_upload_options *more)
{
    struct sonde_upload_options options = {.struct_bytes = sizeof options};
    struct sonde__upload_sender sender;
    struct sonde_error error = {0};
    if (more != NULL) {
        options = *more;
    }
    options.folder = runs_folder();
    options.to = to;
    options.transport = &server->transport;
    if (sonde__upload_sender_make(&options, &server->env, &sender, &error) != SONDE_OK) {
        FAIL("%s", error.what);
    }
    return sender;
}

static struct sonde_upload_result pass(struct server *server, bool hasty)
{
    struct sonde__upload_sender sender = server_sender(server, "https://c.example", NULL);
    struct sonde_upload_result result;
    sender.is_hasty = hasty;
    CHECK_OK(sonde__upload_pass(&sender, &result, NULL));
    sonde__upload_sender_done(&sender);
    return result;
}

struct sonde_upload_result server_pass(struct server *server)
{
    return pass(server, false);
}

struct sonde_upload_result server_hasty_pass(struct server *server)
{
    return pass(server, true);
}
