// SPDX-License-Identifier: Apache-2.0
/* Each part is checked where it is read. The first flaw ends the reading. */
#include <string.h>

#include "audit_blob.h"
#include "audit_name.h"
#include "audit_when.h"
#include "base_bytes.h"
#include "base_crc32c.h"
#include "base_status.h"
#include "mem_heap.h"
#include "report_model.h"

struct reading {
    struct sonde__bytes bytes;
    struct sonde__arena *memory;
    struct sonde__when *scratch; /* for conditions */
    enum sonde_status status;    /* not OK: of the first flaw */
    const char *what;
};

static bool fail(struct reading *r, enum sonde_status status, const char *what)
{
    if (r->what == NULL) {
        r->status = status;
        r->what = what;
    }
    return false;
}

static bool corrupt(struct reading *r, const char *what)
{
    return fail(r, SONDE_CORRUPT, what);
}

/* False: the bytes end. */
static bool is_whole(struct reading *r)
{
    return !r->bytes.failed || corrupt(r, "the rules are cut");
}

static void *take(struct reading *r, size_t count, size_t size)
{
    void *memory = sonde__arena_alloc(r->memory, (count + 1) * size);
    if (memory == NULL) {
        (void)fail(r, SONDE_MEMORY, "no memory");
        return NULL;
    }
    return memset(memory, 0, (count + 1) * size);
}

static bool read_count(struct reading *r, uint32_t most, size_t *ret_count)
{
    *ret_count = sonde__base_bytes_u32(&r->bytes);
    /* each element has two bytes or more */
    return is_whole(r) && (*ret_count <= most || fail(r, SONDE_LIMIT, "the rules are too many")) &&
           (*ret_count <= sonde__base_bytes_left(&r->bytes) / 2 || corrupt(r, "the rules are cut"));
}

/* What quotes in a file of rules may escape are the only control characters. */
static bool is_text(const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        if ((byte < ' ' && byte != '\n' && byte != '\t') || byte == 127) {
            return false;
        }
    }
    return true;
}

static bool read_text(struct reading *r, const char **ret_text)
{
    *ret_text = "";
    const char *text = sonde__base_bytes_string(&r->bytes);
    if (!is_whole(r) || (!is_text(text) && !corrupt(r, "a text has control characters"))) {
        return false;
    }
    const char *copy = sonde__arena_copy_text(r->memory, text, strlen(text));
    *ret_text = copy != NULL ? copy : "";
    return copy != NULL || fail(r, SONDE_MEMORY, "no memory");
}

/* Null for "". */
static bool read_choice(struct reading *r, const char **ret_text)
{
    bool is_good = read_text(r, ret_text);
    *ret_text = is_good && **ret_text != '\0' ? *ret_text : NULL;
    return is_good;
}

static bool read_filled(struct reading *r, const char **ret_text)
{
    return read_text(r, ret_text) &&
           (**ret_text != '\0' || corrupt(r, "a name or a pattern is empty"));
}

static bool read_patterns(struct reading *r, struct sonde__audit_patterns *ret_patterns)
{
    if (!read_count(r, SONDE__AUDIT_BLOB_ITEMS, &ret_patterns->count)) {
        return false;
    }
    struct sonde__audit_pattern *items = take(r, ret_patterns->count, sizeof *items);
    ret_patterns->items = items;
    for (size_t i = 0; items != NULL && i < ret_patterns->count; i++) {
        uint8_t flags = sonde__base_bytes_u8(&r->bytes);
        if (flags > 3 && !corrupt(r, "a pattern is of no known kind")) {
            return false;
        }
        items[i].is_symbol = (flags & 1) != 0;
        items[i].is_not = (flags & 2) != 0;
        if (!read_filled(r, &items[i].glob)) {
            return false;
        }
    }
    return items != NULL;
}

static bool read_functions(struct reading *r, struct sonde__audit_rule *rule)
{
    size_t at;
    if (!read_count(r, SONDE__AUDIT_BLOB_ITEMS, &rule->function_count)) {
        return false;
    }
    const char **names = take(r, rule->function_count, sizeof *names);
    uint32_t *arguments = take(r, rule->function_count, sizeof *arguments);
    rule->functions = names;
    rule->arguments = arguments;
    for (size_t i = 0; names != NULL && arguments != NULL && i < rule->function_count; i++) {
        arguments[i] = sonde__base_bytes_u8(&r->bytes);
        if (arguments[i] > SONDE__WHEN_ARGUMENTS && !corrupt(r, "an argument has no such number")) {
            return false;
        }
        if (!read_filled(r, &names[i]) || (sonde__audit_list_wrong(names[i], &at) != NULL &&
                                           !corrupt(r, "a function has no valid name"))) {
            return false;
        }
    }
    return names != NULL && arguments != NULL;
}

/* As a file of rules is checked (cli/rules_plan.c). */
static bool check_decided_early(struct reading *r, const struct sonde__audit_rule *rule)
{
    bool has_limit = rule->limit_count != 0;
    if (has_limit != (rule->limit_ns != 0) || rule->limit_count > SONDE__WHEN_LIMIT_CALLS) {
        return corrupt(r, "a limit cannot be");
    }
    if (has_limit && rule->from.count != 0) {
        return corrupt(r, "a limit is combined with from");
    }
    for (size_t i = 0; rule->when != NULL && i < rule->function_count; i++) {
        struct sonde__audit_when to = {r->scratch, 0};
        uint16_t node;
        size_t at;
        r->scratch->node_count = 0;
        const char *wrong = sonde__audit_when_compile(&to, rule->when, rule->functions[i],
                                                      rule->arguments[i], &node, &at);
        if (wrong != NULL) {
            return corrupt(r, wrong);
        }
    }
    return true;
}

static bool read_keeps(struct reading *r, struct sonde__audit_rule *rule)
{
    struct sonde__when_node keep;
    if (!read_count(r, SONDE__WHEN_KEEPS_EACH, &rule->keep_count)) {
        return false;
    }
    const char **keeps = take(r, rule->keep_count, sizeof *keeps);
    rule->keeps = keeps;
    for (size_t i = 0; keeps != NULL && i < rule->keep_count; i++) {
        if (!read_filled(r, &keeps[i])) {
            return false;
        }
        for (size_t k = 0; k < rule->function_count; k++) {
            if (!sonde__audit_when_keep(rule->functions[k], rule->arguments[k], keeps[i], &keep)) {
                return corrupt(r, "an argument to keep is not known of a function");
            }
        }
    }
    return keeps != NULL;
}

static bool read_rule(struct reading *r, struct sonde__audit_rule *rule)
{
    if (!read_filled(r, &rule->name) || !read_text(r, &rule->pack) ||
        !read_text(r, &rule->category) || !read_text(r, &rule->text)) {
        return false;
    }
    rule->severity = sonde__base_bytes_u32(&r->bytes);
    if ((rule->severity < SONDE__REPORT_SEVERITY_NOTE ||
         rule->severity > SONDE__REPORT_SEVERITY_ERROR) &&
        !corrupt(r, "a severity is none")) {
        return false;
    }
    if (!read_functions(r, rule) || !read_choice(r, &rule->when)) {
        return false;
    }
    rule->limit_count = sonde__base_bytes_u64(&r->bytes);
    rule->limit_ns = sonde__base_bytes_u64(&r->bytes);
    uint8_t before = sonde__base_bytes_u8(&r->bytes);
    rule->is_before_phase = before != 0;
    return read_choice(r, &rule->phase) &&
           ((before <= 1 && (before == 0 || rule->phase != NULL)) ||
            corrupt(r, "a phase cannot be")) &&
           read_patterns(r, &rule->from) && check_decided_early(r, rule) && read_keeps(r, rule);
}

/* Findings are told apart by the rule's name. */
static bool is_new(struct reading *r, const struct sonde__audit_rule *rules, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(rules[i].name, rules[index].name) == 0) {
            return corrupt(r, "two rules have one name");
        }
    }
    return true;
}

static bool read_all(struct reading *r, size_t count, struct sonde__audit_rules *ret_rules)
{
    size_t sdk_count;
    if (!read_count(r, SONDE__AUDIT_BLOB_SDKS, &sdk_count)) {
        return false;
    }
    struct sonde__audit_sdk *sdks = take(r, sdk_count, sizeof *sdks);
    struct sonde__audit_rule *rules = take(r, count, sizeof *rules);
    if (sdks == NULL || rules == NULL) {
        return false;
    }
    for (size_t i = 0; i < sdk_count; i++) {
        if (!read_filled(r, &sdks[i].name) || !read_patterns(r, &sdks[i].match)) {
            return false;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!read_rule(r, &rules[i]) || !is_new(r, rules, i)) {
            return false;
        }
    }
    *ret_rules = (struct sonde__audit_rules){rules, count, sdks, sdk_count};
    return sonde__base_bytes_left(&r->bytes) == 0 || corrupt(r, "there is more behind the rules");
}

bool sonde__audit_blob_is(const void *bytes, size_t size)
{
    return size >= 8 && memcmp(bytes, "SONDEAUD", 8) == 0;
}

/* Read the header. False: it fails with *what. */
static bool read_header(struct reading *r, size_t size, size_t *ret_count)
{
    const uint8_t *body = r->bytes.begin + SONDE__AUDIT_BLOB_HEADER;
    if (!sonde__audit_blob_is(r->bytes.begin, size)) {
        return corrupt(r, "these are no compiled rules (sonde audit compile -o)");
    }
    (void)sonde__base_bytes_take(&r->bytes, 8);
    if (sonde__base_bytes_u32(&r->bytes) != SONDE__AUDIT_BLOB_VERSION && is_whole(r)) {
        return fail(r, SONDE_UNSUPPORTED,
                    "rules compiled by another version of sonde: compile them again");
    }
    if (sonde__base_bytes_u32(&r->bytes) != 0 && is_whole(r)) {
        return fail(r, SONDE_UNSUPPORTED, "rules compiled for an architecture that is not known");
    }
    if (sonde__base_bytes_u32(&r->bytes) != size) {
        return corrupt(r, "the rules are cut");
    }
    uint32_t crc = sonde__base_bytes_u32(&r->bytes);
    *ret_count = sonde__base_bytes_u32(&r->bytes);
    if (!is_whole(r)) {
        return false;
    }
    if (crc != sonde__base_crc32c(0, body, size - SONDE__AUDIT_BLOB_HEADER)) {
        return corrupt(r, "the rules are damaged: their checksum is another one");
    }
    return (*ret_count != 0 || corrupt(r, "there is no rule")) &&
           (*ret_count <= SONDE__AUDIT_BLOB_RULES ||
            fail(r, SONDE_LIMIT, "the rules are too many"));
}

enum sonde_status sonde__audit_blob_read(const void *bytes, size_t size,
                                         struct sonde__audit_blob *ret_blob,
                                         struct sonde_error *ret_error)
{
    struct sonde__audit_blob blob = {{0}, {0}};
    struct reading r = {.memory = &blob.memory, .status = SONDE_OK};
    size_t count;
    sonde__base_bytes_init(&r.bytes, bytes, size);
    if (size > SONDE__AUDIT_BLOB_MAX) {
        return sonde__base_fail(ret_error, SONDE_LIMIT, "the rules have more than 1 MiB", NULL, 0,
                                0);
    }
    if (read_header(&r, size, &count)) {
        r.scratch = take(&r, 1, sizeof *r.scratch);
        (void)(r.scratch != NULL && read_all(&r, count, &blob.rules));
    }
    if (r.status != SONDE_OK) {
        uint64_t at = sonde__base_bytes_offset(&r.bytes);
        sonde__arena_done(&blob.memory);
        return sonde__base_fail(ret_error, r.status, r.what, NULL, 0, at);
    }
    *ret_blob = blob;
    return SONDE_OK;
}

void sonde__audit_blob_done(struct sonde__audit_blob *blob)
{
    sonde__arena_done(&blob->memory);
}
