// SPDX-License-Identifier: Apache-2.0
#include "declared.h"

#include <stdlib.h>
#include <string.h>

struct declared *declared_begin(void)
{
    return calloc(1, sizeof(struct declared));
}

void declared_end(struct declared *declared)
{
    for (uint32_t i = 0; declared != NULL && i < declared->part_count; i++) {
        free(declared->parts[i]);
    }
    for (uint32_t i = 0; declared != NULL && i < declared->api_count; i++) {
        free(declared->apis[i].name);
        free(declared->apis[i].missed);
    }
    free(declared);
}

const char *declared_code(const char *manifest, size_t *ret_size)
{
    static const char suffix[] = ".framework";
    size_t size = strcspn(manifest, ":"), tail = sizeof suffix - 1;
    bool is_framework =
        size > tail && size < DIGEST_CODE_TEXT && memcmp(manifest + size - tail, suffix, tail) == 0;
    *ret_size = is_framework ? size : 0;
    return manifest;
}

/* --- parts --- */

static void add_use(struct declared_part *part, const struct sonde__manifest_use *use)
{
    sonde__manifest_add(&part->manifest, use, &part->result);
}

static struct declared_part *find(const struct declared *declared, const char *code, size_t size)
{
    for (uint32_t i = 0; i < declared->part_count; i++) {
        if (strlen(declared->parts[i]->code) == size &&
            memcmp(declared->parts[i]->code, code, size) == 0) {
            return declared->parts[i];
        }
    }
    return NULL;
}

const struct declared_part *declared_part_of(const struct declared *declared, const char *code)
{
    return find(declared, code, strlen(code));
}

/* The part of a code, also a new one. Null: no memory, or there are too many. */
static struct declared_part *part_of(struct declared *declared, const char *code, size_t size)
{
    struct declared_part *part = find(declared, code, size);
    if (part != NULL || declared->part_count == DECLARED_PARTS_MAX || size >= DIGEST_CODE_TEXT) {
        return part;
    }
    if (declared->part_count == 0 && size != 0 && part_of(declared, "", 0) == NULL) {
        return NULL;
    }
    part = calloc(1, sizeof *part);
    if (part == NULL) {
        declared->has_failed = true;
        return NULL;
    }
    memcpy(part->code, code, size);
    sonde__manifest_begin(&part->result);
    declared->parts[declared->part_count++] = part;
    return part;
}

/* --- what is added --- */

void declared_add_manifest(void *ctx, const struct store_manifest *manifest)
{
    size_t size;
    struct sonde_error error;
    const char *code = declared_code(manifest->name, &size);
    struct declared_part *part = part_of(ctx, code, size);
    if (part == NULL) {
        return;
    }
    size_t used = strlen(part->files);
    snprintf(part->files + used, sizeof part->files - used, "%s%s", used != 0 ? ", " : "",
             manifest->name);
    part->has_manifest = true;
    if (sonde__manifest_read(manifest->bytes, manifest->size, &part->manifest, &error) !=
            SONDE_OK &&
        part->error[0] == '\0') {
        snprintf(part->error, sizeof part->error, "%.60s: %.90s", manifest->name, error.what);
    }
}

void declared_add_api(void *ctx, const char *name, const char *missed)
{
    struct declared *declared = ctx;
    if (declared->api_count == DIGEST_APIS_MAX || sonde__manifest_categories(name) == 0) {
        return;
    }
    struct digest_api *api = &declared->apis[declared->api_count];
    *api = (struct digest_api){.name = strdup(name),
                               .missed = *missed != '\0' ? strdup(missed) : NULL};
    declared->has_failed |= api->name == NULL || (*missed != '\0' && api->missed == NULL);
    declared->api_count++;
}

void declared_add_call(void *ctx, const struct store_call *call, const struct store_call_sum *sum,
                       const struct store_caller *caller)
{
    struct declared *declared = ctx;
    uint32_t categories = sonde__manifest_categories(call->api);
    if (categories == 0) {
        return;
    }
    struct declared_part *part = part_of(declared, caller->code, strlen(caller->code));
    if (part == NULL) {
        declared->left_out += sum->count;
        return;
    }
    const struct sonde__manifest_use use = {.function = call->api,
                                            .id = DIGEST_APIS_MAX + 1,
                                            .calls = caller->direct,
                                            .system_calls = caller->system};
    add_use(part, &use);
    uint64_t known = caller->direct + caller->system; /* each is an int64_t */
    for (unsigned c = 0; c < SONDE__MANIFEST_CATEGORIES; c++) {
        if ((categories & 1u << c) != 0 && sum->count > known) {
            part->unknown[c] += sum->count - known;
        }
    }
}

/* --- the comparison --- */

uint64_t declared_unknown(const struct declared_part *part, const char *category)
{
    for (unsigned c = 0; c < SONDE__MANIFEST_CATEGORIES; c++) {
        if (strcmp(sonde__manifest_category(c), category) == 0) {
            return part->unknown[c];
        }
    }
    return 0;
}

/* "never called" needs all calls; so does "neither". */
static void doubt(struct declared_part *part, bool is_whole)
{
    struct sonde__manifest_result *result = &part->result;
    for (uint32_t i = 0; i < result->count; i++) {
        struct sonde__manifest_line *line = &result->lines[i];
        uint64_t unknown = declared_unknown(part, line->category);
        bool is_doubted = (line->state == SONDE__MANIFEST_UNUSED && (unknown != 0 || !is_whole)) ||
                          (line->state == SONDE__MANIFEST_NEITHER && unknown != 0);
        if (is_doubted) {
            result->states[line->state]--;
            line->state = SONDE__MANIFEST_UNKNOWN;
            result->states[line->state]++;
        }
    }
}

bool declared_compare(struct declared *declared, bool is_whole)
{
    if (part_of(declared, "", 0) == NULL) {
        return false;
    }
    for (uint32_t p = 0; p < declared->part_count && !declared->has_failed; p++) {
        struct declared_part *part = declared->parts[p];
        for (uint32_t i = 0; i < declared->api_count; i++) {
            const struct sonde__manifest_use use = {.function = declared->apis[i].name,
                                                    .id = i + 1,
                                                    .may_miss = declared->apis[i].missed != NULL,
                                                    .record = i + 1};
            add_use(part, &use);
        }
        sonde__manifest_end(&part->manifest, &part->result);
        doubt(part, is_whole);
    }
    return !declared->has_failed;
}

/* --- texts --- */

const char *declared_state_text(const struct declared_part *part,
                                const struct sonde__manifest_line *line)
{
    return line->state == SONDE__MANIFEST_UNDECLARED && !part->has_manifest
               ? "called, and no manifest was given"
               : sonde__manifest_state_text(line->state);
}

void declared_reasons(const struct declared_part *part, const char *category, char *ret_text,
                      size_t size)
{
    size_t used = 0;
    ret_text[0] = '\0';
    for (uint32_t i = 0; i < part->manifest.count && used < size; i++) {
        const struct sonde__manifest_entry *entry = &part->manifest.entries[i];
        if (strcmp(entry->category, category) == 0 && entry->reasons[0] != '\0') {
            int more = snprintf(ret_text + used, size - used, "%s%s", used != 0 ? " " : "",
                                entry->reasons);
            used += (size_t)more;
        }
    }
}
