// SPDX-License-Identifier: Apache-2.0
#include "upload_parts.h"

#include <stdio.h>
#include <string.h>

#include "base_hash.h"
#include "base_status.h"
#include "mem_heap.h"
#include "report_read.h"
#include "upload_answer.h"
#include "upload_envelope.h"

#define AGENT "sonde/" SONDE_VERSION

/* Two FNV-1a hashes with different seeds: an id, without protection against forgery. */
static void hash_id(const void *bytes, size_t size, uint64_t number,
                    char ret_id[SONDE__UPLOAD_ID_TEXT])
{
    uint64_t a = sonde__base_hash_bytes(SONDE__HASH_EMPTY, bytes, size);
    uint64_t b = sonde__base_hash_bytes(~SONDE__HASH_EMPTY, bytes, size);
    a = sonde__base_hash_bytes(a, &number, sizeof number);
    b = sonde__base_hash_bytes(b, &number, sizeof number);
    snprintf(ret_id, SONDE__UPLOAD_ID_TEXT, "%016llx%016llx", (unsigned long long)a,
             (unsigned long long)b);
}

static bool is_id(const char *text)
{
    return strlen(text) == SONDE__UPLOAD_ID_TEXT - 1 &&
           strspn(text, "0123456789abcdef") == SONDE__UPLOAD_ID_TEXT - 1;
}

/* Choose the longest stalls, and keep them in report order. */
static void choose_stalls(struct sonde__upload_parts *parts)
{
    const struct sonde__report *report = parts->report;
    uint32_t count = sonde__report_stall_count(report);
    for (uint32_t i = 0; i < count; i++) {
        if (parts->count < SONDE__UPLOAD_EVENTS_MAX) {
            parts->stalls[parts->count++] = i;
            continue;
        }
        uint32_t shortest = 0;
        for (uint32_t k = 1; k < parts->count; k++) {
            bool is_shorter = sonde__report_stall(report, parts->stalls[k])->duration_ns <
                              sonde__report_stall(report, parts->stalls[shortest])->duration_ns;
            shortest = is_shorter ? k : shortest;
        }
        if (sonde__report_stall(report, parts->stalls[shortest])->duration_ns <
            sonde__report_stall(report, i)->duration_ns) {
            memmove(parts->stalls + shortest, parts->stalls + shortest + 1,
                    (parts->count - shortest - 1) * sizeof parts->stalls[0]);
            parts->stalls[parts->count - 1] = i;
        }
    }
}

enum sonde_status sonde__upload_parts_make(enum sonde__upload_protocol protocol, const void *bytes,
                                           size_t size, struct sonde__upload_parts *ret_parts)
{
    struct sonde__upload_parts parts = {.protocol = protocol, .bytes = bytes, .size = size};
    enum sonde_status status = sonde__report_read(bytes, size, &parts.report, NULL, NULL);
    if (status != SONDE_OK) {
        return status;
    }
    const struct sonde__report_header *header = sonde__report_header(parts.report);
    if (is_id(header->report_id)) {
        snprintf(parts.report_id, sizeof parts.report_id, "%.32s", header->report_id);
    } else { /* written by an old version */
        hash_id(bytes, size, 0, parts.report_id);
    }
    if (protocol == SONDE__UPLOAD_COLLECTOR || header->kind == SONDE__REPORT_STACKS) {
        parts.count = 1;
    } else if (header->kind == SONDE__REPORT_WATCH) {
        choose_stalls(&parts);
    } else {
        sonde__report_destroy(parts.report);
        return SONDE_UNSUPPORTED;
    }
    *ret_parts = parts;
    return SONDE_OK;
}

void sonde__upload_parts_done(struct sonde__upload_parts *parts)
{
    sonde__report_destroy(parts->report);
    parts->report = NULL;
}

enum sonde_status sonde__upload_part_body(const struct sonde__upload_parts *parts, uint32_t i,
                                          uint64_t sent_unix_ns, char ret_id[SONDE__UPLOAD_ID_TEXT],
                                          const void **ret_body, size_t *ret_size, void **ret_made)
{
    *ret_made = NULL;
    if (parts->protocol == SONDE__UPLOAD_COLLECTOR) {
        memcpy(ret_id, parts->report_id, SONDE__UPLOAD_ID_TEXT);
        *ret_body = parts->bytes;
        *ret_size = parts->size;
        return SONDE_OK;
    }
    bool is_stall = sonde__report_header(parts->report)->kind == SONDE__REPORT_WATCH;
    hash_id(parts->report_id, SONDE__UPLOAD_ID_TEXT - 1, is_stall ? parts->stalls[i] + 1u : 0,
            ret_id);
    struct sonde__upload_event event = {
        .report = parts->report,
        .stall = is_stall ? sonde__report_stall(parts->report, parts->stalls[i]) : NULL,
        .event_id = ret_id,
        .sent_unix_ns = sent_unix_ns,
    };
    SONDE_TRY(sonde__upload_envelope(&event, ret_made, ret_size));
    *ret_body = *ret_made;
    return SONDE_OK;
}

void sonde__upload_headers(const struct sonde__upload_address *address, const char *id,
                           const char *coding_name,
                           const char *ret_lines[SONDE__UPLOAD_HEADERS_MAX],
                           char ret_text[SONDE__UPLOAD_HEADERS_TEXT])
{
    unsigned count = 0;
    char *at = ret_text;
    char *end = ret_text + SONDE__UPLOAD_HEADERS_TEXT;
#define ADD(...) (ret_lines[count++] = at, at += snprintf(at, (size_t)(end - at), __VA_ARGS__) + 1)
    ADD("User-Agent: " AGENT);
    ADD("Accept: application/json");
    if (coding_name != NULL) {
        ADD("Content-Encoding: %s", coding_name);
    }
    if (address->protocol == SONDE__UPLOAD_SENTRY) {
        ADD("Content-Type: application/x-sentry-envelope");
        ADD("X-Sentry-Auth: Sentry sentry_version=7, sentry_client=" AGENT ", sentry_key=%s",
            address->key);
    } else {
        ADD("Content-Type: application/x-sonde-report");
        ADD("Sonde-Protocol: " SONDE__UPLOAD_VERSION);
        ADD("Idempotency-Key: \"%s\"", id);
        if (address->key[0] != '\0') {
            ADD("Authorization: Bearer %s", address->key);
        }
    }
#undef ADD
    ret_lines[count] = NULL;
}
