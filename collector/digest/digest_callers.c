// SPDX-License-Identifier: Apache-2.0
#include "digest_callers.h"

#include <string.h>

#include "base_text.h"
#include "findings_manifest.h"
#include "mem_heap.h"

static bool needs_reason(const struct sonde__report *report, const struct sonde__report_call *call)
{
    return sonde__manifest_categories(sonde__report_text(report, call->function)) != 0;
}

static void put_code(const struct sonde__manifest_caller *caller, char ret_code[DIGEST_CODE_TEXT])
{
    struct sonde__text text;
    sonde__base_text_init(&text, ret_code, DIGEST_CODE_TEXT);
    sonde__base_text_bytes(&text, caller->code, caller->code_size);
    sonde__base_text_end_whole(&text);
}

void digest_caller_code(const struct sonde__report *report, const struct sonde__report_call *call,
                        char ret_code[DIGEST_CODE_TEXT])
{
    ret_code[0] = '\0';
    if (needs_reason(report, call)) {
        const struct sonde__manifest_caller caller = sonde__manifest_caller(report, call);
        put_code(&caller, ret_code);
    }
}

void digest_count_caller(const struct sonde__report *report, const struct sonde__report_call *call,
                         struct digest_call *into)
{
    char code[DIGEST_CODE_TEXT];
    if (!needs_reason(report, call)) {
        return;
    }
    const struct sonde__manifest_caller caller = sonde__manifest_caller(report, call);
    put_code(&caller, code);
    if (strcmp(code, into->code) == 0) {
        *(caller.is_system ? &into->system : &into->direct) += call->count;
    }
}

/* --- what was recorded --- */

/* At most DIGEST_NAME_TEXT - 1 bytes. Null: no memory. */
static char *copy_of(const char *text)
{
    size_t size = strnlen(text, DIGEST_NAME_TEXT - 1);
    char *copy = sonde__mem_alloc_zeroed(size + 1);
    if (copy != NULL) {
        memcpy(copy, text, size);
    }
    return copy;
}

static struct digest_api *find_api(const struct digest *digest, const char *function)
{
    for (uint32_t i = 0; i < digest->api_count; i++) {
        if (strncmp(digest->apis[i].name, function, DIGEST_NAME_TEXT - 1) == 0) {
            return &digest->apis[i];
        }
    }
    return NULL;
}

enum sonde_status digest_note_api(struct digest *digest, const char *function, const char *missed)
{
    struct digest_api *api = find_api(digest, function);
    if (sonde__manifest_categories(function) == 0 ||
        (api == NULL && digest->api_count == DIGEST_APIS_MAX)) {
        return SONDE_OK;
    }
    if (digest->apis == NULL) {
        digest->apis = sonde__mem_alloc_array(DIGEST_APIS_MAX, sizeof *digest->apis);
    }
    if (digest->apis == NULL) {
        return SONDE_MEMORY;
    }
    if (api == NULL) {
        api = &digest->apis[digest->api_count];
        *api = (struct digest_api){.name = copy_of(function)};
        digest->api_count += api->name != NULL;
    }
    if (api->name != NULL && api->missed == NULL && missed != NULL) {
        api->missed = copy_of(missed);
    }
    return api->name != NULL && (missed == NULL || api->missed != NULL) ? SONDE_OK : SONDE_MEMORY;
}

enum sonde_status digest_read_apis(const struct sonde__report *report, struct digest *digest)
{
    enum sonde_status status = SONDE_OK;
    for (uint32_t i = 0; i < sonde__report_call_count(report) && status == SONDE_OK; i++) {
        const struct sonde__report_call *call = sonde__report_call(report, i);
        if (needs_reason(report, call)) {
            bool may_miss = sonde__manifest_may_miss(report, call);
            status = digest_note_api(digest, sonde__report_text(report, call->function),
                                     may_miss ? sonde__report_text(report, call->missed) : NULL);
        }
    }
    return status;
}
