// SPDX-License-Identifier: Apache-2.0
/* What a PrivacyInfo.xcprivacy declares. Source of the names:
 * https://developer.apple.com/documentation/bundleresources/privacy-manifest-files */
#include <string.h>

#include "findings_manifest.h"
#include "findings_plist.h"

enum { REASON_TEXT = 64 };

static void add_reason(struct sonde__manifest_entry *entry, const char *reason)
{
    size_t used = strlen(entry->reasons), size = strlen(reason);
    if (used + size + 2 <= sizeof entry->reasons) {
        entry->reasons[used] = ' ';
        used += used != 0;
        memcpy(entry->reasons + used, reason, size + 1);
    }
}

/* One element of NSPrivacyAccessedAPITypes. */
static enum sonde_status read_entry(const struct sonde__plist *list, uint32_t element,
                                    struct sonde__manifest_entry *ret_entry,
                                    struct sonde_error *ret_error)
{
    char reason[REASON_TEXT];
    uint32_t type = sonde__plist_member(list, element, "NSPrivacyAccessedAPIType");
    uint32_t reasons = sonde__plist_member(list, element, "NSPrivacyAccessedAPITypeReasons");
    *ret_entry = (struct sonde__manifest_entry){.category = ""};
    if (type == 0 || list->values[type].kind != SONDE__PLIST_STRING) {
        return sonde__plist_fail(
            ret_error, SONDE_CORRUPT, 0,
            "an element of NSPrivacyAccessedAPITypes has no NSPrivacyAccessedAPIType");
    }
    if (!sonde__plist_text(list, type, ret_entry->category, sizeof ret_entry->category)) {
        return sonde__plist_fail(ret_error, SONDE_CORRUPT, 0,
                                 "an NSPrivacyAccessedAPIType is longer than %zu bytes, or has "
                                 "control characters",
                                 sizeof ret_entry->category - 1);
    }
    if (reasons == 0 || list->values[reasons].kind != SONDE__PLIST_ARRAY) {
        return SONDE_OK;
    }
    for (uint32_t at = reasons + 1; at < list->values[reasons].next; at = list->values[at].next) {
        ret_entry->reason_count++;
        if (sonde__plist_text(list, at, reason, sizeof reason) && reason[0] != '\0') {
            add_reason(ret_entry, reason);
        }
    }
    return SONDE_OK;
}

static enum sonde_status read_list(const struct sonde__plist *list,
                                   struct sonde__manifest *manifest, struct sonde_error *ret_error)
{
    uint32_t types = sonde__plist_member(list, 0, "NSPrivacyAccessedAPITypes");
    enum sonde_status status = SONDE_OK;
    if (list->values[0].kind != SONDE__PLIST_DICT) {
        return sonde__plist_fail(ret_error, SONDE_CORRUPT, 0,
                                 "not a privacy manifest: a dictionary is expected");
    }
    if (types == 0) {
        return SONDE_OK;
    }
    if (list->values[types].kind != SONDE__PLIST_ARRAY) {
        return sonde__plist_fail(ret_error, SONDE_CORRUPT, 0,
                                 "NSPrivacyAccessedAPITypes is not an array");
    }
    for (uint32_t at = types + 1; at < list->values[types].next && status == SONDE_OK;
         at = list->values[at].next) {
        if (manifest->count == SONDE__MANIFEST_ENTRIES_MAX) {
            return sonde__plist_fail(ret_error, SONDE_LIMIT, 0, "more than %u declared categories",
                                     SONDE__MANIFEST_ENTRIES_MAX);
        }
        status = read_entry(list, at, &manifest->entries[manifest->count], ret_error);
        manifest->count += status == SONDE_OK;
    }
    return status;
}

enum sonde_status sonde__manifest_read(const void *bytes, size_t size,
                                       struct sonde__manifest *manifest,
                                       struct sonde_error *ret_error)
{
    struct sonde__plist list;
    uint32_t count = manifest->count;
    if (size > SONDE__MANIFEST_BYTES) {
        return sonde__plist_fail(ret_error, SONDE_LIMIT, 0, "it has more than %zu bytes",
                                 SONDE__MANIFEST_BYTES);
    }
    enum sonde_status status = sonde__plist_read(bytes, size, &list, ret_error);
    if (status != SONDE_OK) {
        return status;
    }
    status = read_list(&list, manifest, ret_error);
    manifest->count = status == SONDE_OK ? manifest->count : count;
    sonde__plist_done(&list);
    return status;
}
