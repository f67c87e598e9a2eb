// SPDX-License-Identifier: Apache-2.0
/* The array of a property list, as its readers fill it. */
#include <stdarg.h>
#include <stdio.h>

#include "findings_plist.h"
#include "mem_heap.h"

enum sonde_status sonde__plist_fail(struct sonde_error *ret_error, enum sonde_status status,
                                    uint64_t at, const char *format, ...)
{
    va_list list;
    *ret_error = (struct sonde_error){.status = status, .at = at};
    va_start(list, format);
    vsnprintf(ret_error->what, sizeof ret_error->what, format, list);
    va_end(list);
    return status;
}

enum sonde_status sonde__plist_add(struct sonde__plist *list, enum sonde__plist_kind kind,
                                   enum sonde__plist_form form, size_t begin, size_t end,
                                   struct sonde_error *ret_error)
{
    bool is_container = kind == SONDE__PLIST_ARRAY || kind == SONDE__PLIST_DICT;
    if (list->count == SONDE__PLIST_VALUES_MAX) {
        return sonde__plist_fail(ret_error, SONDE_LIMIT, begin, "it has more than %u values",
                                 SONDE__PLIST_VALUES_MAX);
    }
    if (is_container && list->levels == SONDE__PLIST_LEVELS_MAX) {
        return sonde__plist_fail(ret_error, SONDE_LIMIT, begin, "it has more than %u levels",
                                 SONDE__PLIST_LEVELS_MAX);
    }
    if (!sonde__mem_grow(&list->values, list->count, &list->capacity, sizeof *list->values)) {
        return sonde__plist_fail(ret_error, SONDE_MEMORY, 0, "no memory");
    }
    uint32_t index = (uint32_t)list->count++;
    list->values[index] = (struct sonde__plist_value){(uint32_t)begin, (uint32_t)end, index + 1,
                                                      (uint8_t)kind, (uint8_t)form};
    if (is_container) {
        list->open[list->levels++] = index;
    }
    return SONDE_OK;
}

void sonde__plist_close(struct sonde__plist *list)
{
    list->values[list->open[--list->levels]].next = (uint32_t)list->count;
}
