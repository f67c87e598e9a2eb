// SPDX-License-Identifier: Apache-2.0
#include "upload_sender.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base_math.h"
#include "base_sized.h"
#include "base_status.h"
#include "host_clock.h"
#include "host_device.h"
#include "host_network.h"
#include "mem_heap.h"
#include "upload_parts.h"

#define NS_PER_S 1000000000u

/* Smaller bodies gain nothing. */
#define COMPRESS_MIN 200u

static int64_t real_unix_s(void *ctx)
{
    (void)ctx;
    return (int64_t)(sonde__host_unix_ns() / NS_PER_S);
}

static uint32_t real_random(void *ctx)
{
    char id[SONDE__HOST_ID_TEXT];
    uint32_t value = 0;
    (void)ctx;
    sonde__host_random_id(id);
    for (unsigned i = 0; i < 8 && id[i] != '\0'; i++) {
        value = value * 16 + (uint32_t)(id[i] <= '9' ? id[i] - '0' : id[i] - 'a' + 10);
    }
    return value;
}

static uint64_t real_now_ns(void *ctx)
{
    (void)ctx;
    return sonde__host_monotonic_ns();
}

const struct sonde__upload_env sonde__upload_real_env = {real_unix_s, real_random, real_now_ns,
                                                         NULL};

enum sonde_status sonde__upload_sender_make(const struct sonde_upload_options *options,
                                            const struct sonde__upload_env *env,
                                            struct sonde__upload_sender *ret_sender,
                                            struct sonde_error *ret_error)
{
    struct sonde__upload_sender sender = {.env = *env};
    if (!sonde__base_sized_take(options, &sender.options, sizeof sender.options) ||
        sender.options.to == NULL || sender.options.policy > SONDE_UPLOAD_NEVER ||
        !sonde__base_sized_take(sender.options.transport, &sender.transport,
                                sizeof sender.transport) ||
        sender.transport.send == NULL) {
        return sonde__base_fail(ret_error, SONDE_USAGE, "options without an address or a transport",
                                NULL, 0, 0);
    }
    SONDE_TRY(sonde__upload_address_read(sender.options.to, sender.options.key, &sender.address,
                                         ret_error));
    if (sender.address.is_plain && !sender.address.is_here && !sender.options.plain_http) {
        return sonde__base_fail(ret_error, SONDE_USAGE,
                                "http:// to another machine can be read on the way: use https://, "
                                "or allow it",
                                NULL, 0, 0);
    }
    if (sender.options.timeout_ns == 0) {
        sender.options.timeout_ns = SONDE_UPLOAD_TIMEOUT_NS;
    }
    sender.limit = (struct sonde__upload_limit){.now_ns = env->now_ns, .ctx = env->ctx};
    if (sender.options.within_ns != 0) {
        sender.limit.until_ns = env->now_ns(env->ctx) + sender.options.within_ns;
    }
    sender.reply = sonde__mem_alloc_zeroed(sizeof *sender.reply);
    sender.verdict = sonde__mem_alloc_zeroed(sizeof *sender.verdict);
    if (sender.reply == NULL || sender.verdict == NULL) {
        sonde__upload_sender_done(&sender);
        return sonde__base_fail(ret_error, SONDE_MEMORY, "the sender", NULL, 0, 0);
    }
    *ret_sender = sender;
    return SONDE_OK;
}

void sonde__upload_sender_done(struct sonde__upload_sender *sender)
{
    sonde__mem_free(sender->reply);
    sonde__mem_free(sender->verdict);
    sender->reply = NULL;
    sender->verdict = NULL;
}

static enum sonde_upload_metered ask_system(void)
{
    switch (sonde__host_network_metered()) {
    case SONDE__HOST_METERED:
        return SONDE_UPLOAD_METERED_YES;
    case SONDE__HOST_UNMETERED:
        return SONDE_UPLOAD_METERED_NO;
    default:
        return SONDE_UPLOAD_METERED_UNKNOWN;
    }
}

static enum sonde_upload_metered ask_network(const struct sonde__upload_sender *sender)
{
    const struct sonde_upload_transport *transport = &sender->transport;
    if (sender->options.policy != SONDE_UPLOAD_UNMETERED || sender->address.is_here) {
        return SONDE_UPLOAD_METERED_NO; /* it does not matter */
    }
    return transport->metered != NULL ? transport->metered(transport->ctx) : ask_system();
}

bool sonde__upload_is_allowed(struct sonde__upload_sender *sender, char ret_why[SONDE__UPLOAD_WHY])
{
    const char *why = "";
    enum sonde_upload_metered metered = ask_network(sender);
    sender->is_unknown_network = metered == SONDE_UPLOAD_METERED_UNKNOWN;
    if (sender->options.policy == SONDE_UPLOAD_NEVER) {
        why = "the policy is never to send";
    } else if (metered == SONDE_UPLOAD_METERED_YES) {
        why = "the network is metered, and the policy is to wait for one that is not";
    }
    snprintf(ret_why, SONDE__UPLOAD_WHY, "%s", why);
    return why[0] == '\0';
}

/* --- one request --- */

static const char *const coding_names[] = {
    [SONDE_UPLOAD_IDENTITY] = NULL, [SONDE_UPLOAD_GZIP] = "gzip", [SONDE_UPLOAD_ZSTD] = "zstd"};

/* A request may take its own limit, and what is left of that for all. */
static uint64_t timeout_of(const struct sonde__upload_sender *sender)
{
    const struct sonde__upload_limit *limit = &sender->limit;
    uint64_t timeout_ns = sender->options.timeout_ns;
    if (limit->until_ns == 0) {
        return timeout_ns;
    }
    uint64_t left_ns = sonde__base_minus(limit->until_ns, limit->now_ns(limit->ctx));
    return sonde__base_max(sonde__base_min(timeout_ns, left_ns), 1);
}

/* Send one body and set the verdict. Tries the best coding first, then those that the server
 * accepts. */
static void request(struct sonde__upload_sender *sender, const char *id, const void *body,
                    size_t size)
{
    const struct sonde_upload_transport *transport = &sender->transport;
    enum sonde_upload_coding coding =
        sender->address.protocol == SONDE__UPLOAD_SENTRY ? SONDE_UPLOAD_GZIP : SONDE_UPLOAD_ZSTD;
    void *packed =
        transport->compress != NULL && size >= COMPRESS_MIN ? sonde__mem_alloc(size) : NULL;
    do {
        const char *lines[SONDE__UPLOAD_HEADERS_MAX];
        char text[SONDE__UPLOAD_HEADERS_TEXT];
        size_t packed_size = 0;
        if (packed != NULL && coding != SONDE_UPLOAD_IDENTITY) {
            packed_size = transport->compress(transport->ctx, coding, body, size, packed, size);
            packed_size = packed_size <= size ? packed_size : 0;
        }
        coding = packed_size != 0 ? coding : SONDE_UPLOAD_IDENTITY;
        sonde__upload_headers(&sender->address, id, coding_names[coding], lines, text);
        const struct sonde_upload_request request = {
            .struct_bytes = sizeof request,
            .url = sender->address.url,
            .headers = lines,
            .body = packed_size != 0 ? packed : body,
            .body_bytes = packed_size != 0 ? packed_size : size,
            .timeout_ns = timeout_of(sender),
        };
        sonde__upload_reply_clear(sender->reply, &sender->limit);
        transport->send(transport->ctx, &request, &sender->reply->to);
        sonde__upload_judge(sender->reply, &sender->address, id, coding,
                            sender->env.unix_s(sender->env.ctx), sender->verdict);
        coding = sender->verdict->coding;
    } while (sender->verdict->meaning == SONDE__UPLOAD_RECODE);
    sonde__mem_free(packed);
}

static void refuse(struct sonde__upload_sender *sender, enum sonde__upload_meaning meaning,
                   const char *why)
{
    struct sonde__upload_verdict *verdict = sender->verdict;
    verdict->meaning = meaning;
    verdict->status = 0;
    verdict->wait_s = 0;
    verdict->need_count = 0;
    snprintf(verdict->why, sizeof verdict->why, "%s", why);
}

static void refuse_for(struct sonde__upload_sender *sender, enum sonde_status status)
{
    if (status == SONDE_MEMORY) {
        refuse(sender, SONDE__UPLOAD_RETRY, sonde_status_text(status));
    } else {
        refuse(sender, SONDE__UPLOAD_REFUSAL,
               status == SONDE_UNSUPPORTED
                   ? "a DSN takes stalls and stacks only: send other reports to a collector"
               : status == SONDE_LIMIT ? "the event would be too large"
                                       : "nothing of the report can be read");
    }
}

void sonde__upload_report(struct sonde__upload_sender *sender, const void *bytes, size_t size,
                          struct sonde__upload_state *state,
                          void (*each)(void *ctx, const struct sonde__upload_state *state),
                          void *ctx)
{
    struct sonde__upload_parts parts;
    enum sonde_status status =
        sonde__upload_parts_make(sender->address.protocol, bytes, size, &parts);
    if (status != SONDE_OK) {
        refuse_for(sender, status);
        return;
    }
    if (state->part >= parts.count) {
        refuse(sender, parts.count == 0 ? SONDE__UPLOAD_REFUSAL : SONDE__UPLOAD_DONE,
               parts.count == 0 ? "it has counts of stalls only: a DSN takes stalls" : "");
    }
    while (state->part < parts.count) {
        char id[SONDE__UPLOAD_ID_TEXT];
        const void *body;
        size_t body_size;
        void *made;
        uint64_t now_ns = (uint64_t)sender->env.unix_s(sender->env.ctx) * NS_PER_S;
        status = sonde__upload_part_body(&parts, state->part, now_ns, id, &body, &body_size, &made);
        if (status != SONDE_OK) {
            refuse_for(sender, status);
            break;
        }
        request(sender, id, body, body_size);
        sonde__mem_free(made);
        if (sender->verdict->meaning != SONDE__UPLOAD_DONE) {
            break;
        }
        state->part++;
        if (state->part < parts.count) {
            each(ctx, state);
            if (sender->verdict->wait_s != 0 || !sonde__upload_reply_is_wanted(sender->reply)) {
                refuse(sender, SONDE__UPLOAD_RETRY, "the rest of its stalls is sent later");
                break;
            }
        }
    }
    sonde__upload_parts_done(&parts);
}
