// SPDX-License-Identifier: Apache-2.0
/* Ids and bodies of messages. */
#include <nettle/hmac.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "hook.h"
#include "report_json.h"

static const char *type_of(enum hook_event event)
{
    return event == HOOK_NEW         ? "group.new"
           : event == HOOK_REGRESSED ? "group.regressed"
           : event == HOOK_SPIKING   ? "group.spiking"
                                     : "test";
}

/* The group is named by its cause: its number may be another one when the report is read again. */
void hook_message_id(const struct hook_secret *secret, const struct hook_message *message,
                     char ret_text[HOOK_ID_TEXT])
{
    struct hmac_sha256_ctx hmac;
    uint8_t mac[SHA256_DIGEST_SIZE];
    const char *type = type_of(message->event), *cause = message->cause;
    const uint64_t numbers[] = {message->kind, message->event == HOOK_TEST ? message->time_ns : 0};
    hmac_sha256_set_key(&hmac, HOOK_SECRET, secret->bytes);
    hmac_sha256_update(&hmac, strlen(type) + 1, (const uint8_t *)type);
    hmac_sha256_update(&hmac, sizeof numbers, (const uint8_t *)numbers);
    hmac_sha256_update(&hmac, IDS_REPORT, message->report.bytes);
    hmac_sha256_update(&hmac, cause != NULL ? strlen(cause) : 0, (const uint8_t *)cause);
    hmac_sha256_digest(&hmac, sizeof mac, mac);
    snprintf(ret_text, HOOK_ID_TEXT, "msg_");
    for (unsigned i = 0; i < HOOK_ID; i++) {
        snprintf(ret_text + 4 + 2 * (size_t)i, 3, "%02x", mac[i]);
    }
}

static bool write_stream(void *ctx, const char *bytes, size_t size)
{
    return fwrite(bytes, 1, size, ctx) == size;
}

static void put_group(struct sonde__json *json, const struct hook_message *m)
{
    char kind[HOOK_WORDS_TEXT], report[IDS_REPORT_TEXT], page[256];
    hook_kinds_text(1u << m->kind, kind);
    ids_report_text(&m->report, report);
    snprintf(page, sizeof page, "/projects/%s/groups/%" PRId64, m->project, m->group);
    sonde__json_int(json, "group", m->group);
    sonde__json_string(json, "kind", kind);
    sonde__json_string(json, "cause", m->cause);
    sonde__json_string(json, "title", m->title);
    sonde__json_string(json, "summary", m->summary);
    sonde__json_string(json, "program", m->program);
    sonde__json_string(json, "build", m->build);
    sonde__json_string(json, "report", report);
    sonde__json_string(json, "page", page);
    if (m->event == HOOK_SPIKING) {
        sonde__json_uint(json, "hour_count", m->count);
        sonde__json_uint(json, "usual_count", m->usual);
    }
}

char *hook_message_body(const struct hook_message *message)
{
    char *body = NULL;
    size_t size = 0;
    struct sonde__report_out out;
    struct sonde__json json;
    FILE *stream = open_memstream(&body, &size);
    if (stream == NULL) {
        return NULL;
    }
    sonde__report_out_init(&out, (struct sonde__report_sink){write_stream, stream}, false);
    sonde__json_init_compact(&json, &out);
    sonde__json_object(&json, NULL);
    sonde__json_string(&json, "type", type_of(message->event));
    sonde__json_time(&json, "timestamp", message->time_ns);
    sonde__json_object(&json, "data");
    sonde__json_string(&json, "project", message->project);
    if (message->event != HOOK_TEST) {
        put_group(&json, message);
    }
    sonde__json_close(&json);
    sonde__json_close(&json);
    sonde__report_out_flush(&out);
    if (fclose(stream) != 0) {
        free(body);
        return NULL;
    }
    return body;
}
