// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: a privacy manifest of any content, as XML or binary. An error has a text, what is
 * read has categories that are UTF-8 without control characters, and all values of the list are in
 * the order and places that it promises. */
#include <string.h>

#include "findings_manifest.h"
#include "findings_plist.h"
#include "fuzz.h"
#include "report_utf8.h"

static void check_text(const char *text, size_t size_max)
{
    size_t size = strnlen(text, size_max);
    FUZZ_MUST(size < size_max && (size == 0 || sonde__report_utf8_valid(text, size)));
    for (size_t i = 0; i < size; i++) {
        FUZZ_MUST((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
    }
}

static void check_list(const uint8_t *data, size_t size)
{
    struct sonde__plist list;
    struct sonde_error error;
    char text[64];
    if (sonde__plist_read(data, size, &list, &error) != SONDE_OK) {
        return;
    }
    FUZZ_MUST(list.count >= 1 && list.count <= SONDE__PLIST_VALUES_MAX && list.levels == 0);
    FUZZ_MUST(list.values[0].next == list.count);
    for (uint32_t i = 0; i < list.count; i++) {
        const struct sonde__plist_value *value = &list.values[i];
        FUZZ_MUST(value->next > i && value->next <= list.count);
        FUZZ_MUST(value->begin <= value->end && value->end <= size);
        if (sonde__plist_text(&list, i, text, sizeof text)) {
            check_text(text, sizeof text);
        }
        uint32_t member = sonde__plist_member(&list, i, "a");
        FUZZ_MUST(member == 0 || (member > i && member < value->next));
        i += i > 256 ? 63 : 0; /* enough of a long one */
    }
    sonde__plist_done(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sonde__manifest manifest;
    struct sonde_error error = {.what = ""};
    manifest = (struct sonde__manifest){.count = 0};
    enum sonde_status status = sonde__manifest_read(data, size, &manifest, &error);
    FUZZ_MUST(status == SONDE_OK ||
              (manifest.count == 0 && error.status == status && error.what[0] != '\0'));
    FUZZ_MUST(manifest.count <= SONDE__MANIFEST_ENTRIES_MAX);
    for (uint32_t i = 0; i < manifest.count; i++) {
        check_text(manifest.entries[i].category, sizeof manifest.entries[i].category);
        check_text(manifest.entries[i].reasons, sizeof manifest.entries[i].reasons);
    }
    check_list(data, size);
    return 0;
}
