// SPDX-License-Identifier: Apache-2.0
/* Names of the list by hash: an app has a hundred thousand imports. Of a name that is listed twice,
 * the first counts. */
#include <string.h>

#include "base_hash.h"
#include "hook_darwin.h"

/* "_stat$INODE64" is stat(), as Apple's headers rename it. */
static size_t length_of(const char *name)
{
    const char *variant = strchr(name + (name[0] != '\0'), '$');
    return variant != NULL ? (size_t)(variant - name) : strlen(name);
}

static uint32_t first_place(const char *name, size_t size)
{
    return (uint32_t)(sonde__base_hash_bytes(SONDE__HASH_EMPTY, name, size) %
                      SONDE__HOOK_NAME_PLACES);
}

void sonde__hook_names_fill(struct sonde__hooks *hooks)
{
    uint16_t *places = hooks->port->name_places;
    for (uint32_t i = 0; i < hooks->count && i < SONDE__HOOK_NAME_PLACES / 2; i++) {
        if (hooks->names[i] != NULL) {
            uint32_t at = first_place(hooks->names[i], strlen(hooks->names[i]));
            for (; places[at] != 0; at = (at + 1) % SONDE__HOOK_NAME_PLACES) {
            }
            places[at] = (uint16_t)(i + 1);
        }
    }
}

bool sonde__hook_names_find(const struct sonde__hooks *hooks, const char *symbol,
                            uint32_t *ret_function)
{
    const uint16_t *places = hooks->port->name_places;
    if (symbol[0] != '_') {
        return false;
    }
    const char *name = symbol + 1;
    size_t size = length_of(name);
    for (uint32_t at = first_place(name, size); places[at] != 0;
         at = (at + 1) % SONDE__HOOK_NAME_PLACES) {
        const char *listed = hooks->names[places[at] - 1];
        if (strncmp(listed, name, size) == 0 && listed[size] == '\0') {
            *ret_function = places[at] - 1u;
            return true;
        }
    }
    return false;
}
