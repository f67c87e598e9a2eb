// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "audit_blob.h"
#include "base_bytes.h"
#include "base_crc32c.h"
#include "base_status.h"
#include "mem_heap.h"

/* Without bytes only the size is counted. */
struct out {
    uint8_t *bytes;
    size_t used;
};

static void put(struct out *out, const void *from, size_t size)
{
    if (out->bytes != NULL) {
        memcpy(out->bytes + out->used, from, size);
    }
    out->used += size;
}

static void put_number(struct out *out, uint64_t value, unsigned size)
{
    uint8_t bytes[8];
    sonde__base_put_le(bytes, value, size);
    put(out, bytes, size);
}

/* Null and "" are the same. */
static void put_text(struct out *out, const char *text)
{
    put(out, text != NULL ? text : "", text != NULL ? strlen(text) + 1 : 1);
}

static void put_patterns(struct out *out, const struct sonde__audit_patterns *patterns)
{
    put_number(out, patterns->count, 4);
    for (size_t i = 0; i < patterns->count; i++) {
        const struct sonde__audit_pattern *pattern = &patterns->items[i];
        put_number(out, pattern->is_symbol + 2u * pattern->is_not, 1);
        put_text(out, pattern->glob);
    }
}

static void put_rule(struct out *out, const struct sonde__audit_rule *rule)
{
    put_text(out, rule->name);
    put_text(out, rule->pack);
    put_text(out, rule->category);
    put_text(out, rule->text);
    put_number(out, rule->severity, 4);
    put_number(out, rule->function_count, 4);
    for (size_t i = 0; i < rule->function_count; i++) {
        put_number(out, rule->arguments[i], 1);
        put_text(out, rule->functions[i]);
    }
    put_text(out, rule->when);
    put_number(out, rule->limit_count, 8);
    put_number(out, rule->limit_ns, 8);
    put_number(out, rule->is_before_phase, 1);
    put_text(out, rule->phase);
    put_patterns(out, &rule->from);
    put_number(out, rule->keep_count, 4);
    for (size_t i = 0; i < rule->keep_count; i++) {
        put_text(out, rule->keeps[i]);
    }
}

static void put_all(struct out *out, const struct sonde__audit_rules *rules)
{
    out->used = SONDE__AUDIT_BLOB_HEADER;
    put_number(out, rules->sdk_count, 4);
    for (size_t i = 0; i < rules->sdk_count; i++) {
        put_text(out, rules->sdks[i].name);
        put_patterns(out, &rules->sdks[i].match);
    }
    for (size_t i = 0; i < rules->count; i++) {
        put_rule(out, &rules->rules[i]);
    }
}

static void put_header(struct out *out, const struct sonde__audit_rules *rules)
{
    size_t size = out->used;
    out->used = 0;
    put(out, "SONDEAUD", 8);
    put_number(out, SONDE__AUDIT_BLOB_VERSION, 4);
    put_number(out, 0, 4);
    put_number(out, size, 4);
    put_number(out,
               sonde__base_crc32c(0, out->bytes + SONDE__AUDIT_BLOB_HEADER,
                                  size - SONDE__AUDIT_BLOB_HEADER),
               4);
    put_number(out, rules->count, 4);
    out->used = size;
}

enum sonde_status sonde__audit_blob_write(const struct sonde__audit_rules *rules,
                                          uint8_t **ret_bytes, size_t *ret_size,
                                          struct sonde_error *ret_error)
{
    struct out out = {NULL, 0};
    put_all(&out, rules);
    if (out.used > SONDE__AUDIT_BLOB_MAX) {
        return sonde__base_fail(ret_error, SONDE_LIMIT, "the rules have more than 1 MiB", NULL, 0,
                                0);
    }
    out.bytes = sonde__mem_alloc(out.used);
    if (out.bytes == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory", NULL, 0, 0);
    }
    put_all(&out, rules);
    put_header(&out, rules);
    *ret_bytes = out.bytes;
    *ret_size = out.used;
    return SONDE_OK;
}
