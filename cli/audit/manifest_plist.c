// SPDX-License-Identifier: Apache-2.0
/* libplist parses both forms. It is loaded on demand and declared here, so that neither the build
 * nor the other commands need it; the functions are the same in its versions 2.1 to 2.7. */
#include "manifest_plist.h"

#include <stdio.h>
#include <string.h>

#include "cli_input.h"
#include "host_library.h"

typedef void *plist;

static struct {
    void (*from_xml)(const char *bytes, uint32_t size, plist *ret); /* ret stays null on failure */
    void (*from_bin)(const char *bytes, uint32_t size, plist *ret);
    void (*free)(plist node);
    plist (*dict_get_item)(plist node, const char *key); /* null for another type, too */
    uint32_t (*array_get_size)(plist node);              /* 0 for another type */
    plist (*array_get_item)(plist node, uint32_t index);
    const char *(*get_string_ptr)(plist node, uint64_t *ret_size); /* null for another type */
} lib;

static bool load(void)
{
    static const struct {
        const char *name;
        void *member;
    } symbols[] = {
        {"plist_from_xml", &lib.from_xml},
        {"plist_from_bin", &lib.from_bin},
        {"plist_free", &lib.free},
        {"plist_dict_get_item", &lib.dict_get_item},
        {"plist_array_get_size", &lib.array_get_size},
        {"plist_array_get_item", &lib.array_get_item},
        {"plist_get_string_ptr", &lib.get_string_ptr},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        if (!sonde__host_library_find(SONDE__HOST_PLIST, symbols[i].name, symbols[i].member)) {
            return false;
        }
    }
    return true;
}

static plist parse(const char *bytes, uint32_t size)
{
    plist root = NULL;
    bool is_binary = size >= 8 && memcmp(bytes, "bplist00", 8) == 0;
    (is_binary ? lib.from_bin : lib.from_xml)(bytes, size, &root);
    return root;
}

/* One element of NSPrivacyAccessedAPITypes. False: it has no category. */
static bool add_entry(plist node, struct sonde__manifest_entry *ret_entry)
{
    plist type = lib.dict_get_item(node, "NSPrivacyAccessedAPIType");
    plist reasons = lib.dict_get_item(node, "NSPrivacyAccessedAPITypeReasons");
    uint64_t size;
    const char *text = type != NULL ? lib.get_string_ptr(type, &size) : NULL;
    if (text == NULL) {
        return false;
    }
    snprintf(ret_entry->category, sizeof ret_entry->category, "%s", text);
    ret_entry->reason_count = reasons != NULL ? lib.array_get_size(reasons) : 0;
    return true;
}

/* Null, or what is wrong. */
static const char *add_all(plist root, struct sonde__manifest *manifest)
{
    plist types = lib.dict_get_item(root, "NSPrivacyAccessedAPITypes");
    uint32_t count = types != NULL ? lib.array_get_size(types) : 0;
    for (uint32_t i = 0; i < count; i++) {
        plist node = lib.array_get_item(types, i);
        if (manifest->count == SONDE__MANIFEST_ENTRIES_MAX) {
            return "more than 64 declared categories";
        }
        if (node == NULL || !add_entry(node, &manifest->entries[manifest->count])) {
            return "an element of NSPrivacyAccessedAPITypes has no NSPrivacyAccessedAPIType";
        }
        manifest->count++;
    }
    return NULL;
}

static bool may_begin(const void *bytes, size_t size)
{
    (void)bytes, (void)size;
    return true;
}

int sonde__cli_manifest_add(const struct sonde__cli_command *command, const char *path,
                            struct sonde__manifest *manifest)
{
    struct sonde__cli_input input;
    if (!load()) {
        sonde__cli_error(command, "%s is needed to read a manifest, and was not found",
                         sonde__host_library_names[SONDE__HOST_PLIST].text);
        return SONDE__CLI_UNSUPPORTED;
    }
    int exit_code = sonde__cli_input_read(command, path, may_begin, &input);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    plist root = input.size <= SONDE__CLI_MANIFEST_BYTES
                     ? parse((const char *)input.data, (uint32_t)input.size)
                     : NULL;
    const char *wrong = root != NULL ? add_all(root, manifest) : "not a property list";
    if (root != NULL) {
        lib.free(root);
    }
    sonde__cli_input_done(&input);
    if (wrong != NULL) {
        sonde__cli_error(command, "%s: %s", sonde__cli_input_name(path), wrong);
        return SONDE__CLI_MALFORMED;
    }
    return SONDE__CLI_OK;
}
