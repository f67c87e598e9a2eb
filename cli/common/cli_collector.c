// SPDX-License-Identifier: Apache-2.0
#include "cli_collector.h"

#include <stdio.h>
#include <string.h>

#include "upload_json.h"

#define REPORTS_PATH "/api/reports"

/* The server converts a large file for minutes. */
#define TIMEOUT_NS ((uint64_t)1800 * 1000000000u)

int sonde__cli_collector_make(const struct sonde__cli_command *command,
                              const struct sonde_upload_options *how, const char *what,
                              struct sonde__cli_collector *ret_collector)
{
    struct sonde_error error = {0};
    struct sonde__upload_sender *sender = &ret_collector->sender;
    ret_collector->command = command;
    enum sonde_status status =
        sonde__upload_sender_make(how, &sonde__upload_real_env, sender, &error);
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, how->to, status, &error);
    }
    size_t size = strlen(sender->address.url), tail = strlen(REPORTS_PATH);
    if (sender->address.protocol != SONDE__UPLOAD_COLLECTOR || size < tail) {
        sonde__cli_error(command, "%s: %s can be sent to a collector of sonde only",
                         sender->address.shown, what);
        sonde__upload_sender_done(sender);
        return SONDE__CLI_USAGE;
    }
    snprintf(ret_collector->base, sizeof ret_collector->base, "%.*s", (int)(size - tail),
             sender->address.url);
    return SONDE__CLI_OK;
}

void sonde__cli_collector_done(struct sonde__cli_collector *collector)
{
    sonde__upload_sender_done(&collector->sender);
}

int sonde__cli_collector_post(struct sonde__cli_collector *c, const char *path, const char *type,
                              const void *body, size_t size)
{
    char url[sizeof c->base + 2048], key[SONDE__UPLOAD_KEY_MAX + 32], content[96];
    const char *headers[4] = {content, "Accept: application/json", NULL, NULL};
    snprintf(url, sizeof url, "%s%s", c->base, path);
    snprintf(content, sizeof content, "Content-Type: %s", type);
    snprintf(key, sizeof key, "Authorization: Bearer %s", c->sender.address.key);
    if (c->sender.address.key[0] != '\0') {
        headers[2] = key;
    }
    const struct sonde_upload_request request = {.struct_bytes = sizeof request,
                                                 .url = url,
                                                 .headers = headers,
                                                 .body = body,
                                                 .body_bytes = size,
                                                 .timeout_ns = TIMEOUT_NS};
    sonde__upload_reply_clear(c->sender.reply, &c->sender.limit);
    c->sender.transport.send(c->sender.transport.ctx, &request, &c->sender.reply->to);
    return c->sender.reply->status;
}

static void take_word(void *ctx, const char *key, const char *text)
{
    struct sonde__cli_collector_words *words = ctx;
    if (strcmp(key, "error") == 0) {
        snprintf(words->error, sizeof words->error, "%s", text);
    } else if (strcmp(key, "left_out") == 0 && words->left_out[0] == '\0') {
        snprintf(words->left_out, sizeof words->left_out, "%s", text);
    }
}

struct sonde__cli_collector_words
sonde__cli_collector_words(const struct sonde__cli_collector *collector)
{
    const struct sonde__upload_reply *reply = collector->sender.reply;
    struct sonde__cli_collector_words words = {"", ""};
    if (reply->status == 0) {
        snprintf(words.error, sizeof words.error, "%s",
                 reply->why[0] != '\0' ? reply->why : "the server does not answer");
    } else if (!sonde__upload_json_read(reply->body, reply->body_bytes, take_word, &words) ||
               words.error[0] == '\0') {
        snprintf(words.error, sizeof words.error, "the server answers %d", reply->status);
    }
    return words;
}
