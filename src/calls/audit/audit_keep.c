// SPDX-License-Identifier: Apache-2.0
#include "audit_keep.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem_heap.h"
#include "mem_sort.h"
#include "when_value.h"

enum { EACH = SONDE__KEPT_EACH, TEXT_MAX = SONDE__KEPT_VALUE + 16 };
_Static_assert(SONDE__WHEN_KEEPS_EACH *(EACH + 1) <= (int)SONDE__REPORT_ARGUMENTS_MAX, "");
_Static_assert((int)SONDE__WHEN_VALUE <= (int)SONDE__KEPT_VALUE, "record_kept.h");

static int by_number(const void *left, const void *right)
{
    const struct sonde__audit_kept_at *a = left, *b = right;
    return SONDE__ORDER2(a, b, number, slot);
}

enum sonde_status sonde__audit_keep_open(const struct sonde__kept *kept,
                                         struct sonde__audit_keep *ret_keep)
{
    struct sonde__kept_value value;
    struct sonde__audit_keep keep = {
        .kept = kept, .list = sonde__mem_alloc_array(SONDE__KEPT_SLOTS, sizeof *keep.list)};
    if (keep.list == NULL) {
        return SONDE_MEMORY;
    }
    for (uint32_t i = 0; i < SONDE__KEPT_SLOTS; i++) {
        if (sonde__kept_read(kept, i, &value)) {
            keep.list[keep.count++] = (struct sonde__audit_kept_at){value.number, i};
        }
    }
    qsort(keep.list, keep.count, sizeof *keep.list, by_number);
    *ret_keep = keep;
    return SONDE_OK;
}

void sonde__audit_keep_close(struct sonde__audit_keep *keep)
{
    sonde__mem_free(keep->list);
    *keep = (struct sonde__audit_keep){0};
}

/* The first entry of a number, or where it would be. */
static uint32_t find(const struct sonde__audit_keep *keep, uint32_t number)
{
    uint32_t low = 0, high = keep->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (keep->list[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void put_address(const struct sonde__kept_value *value, char *text)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    char ip[INET6_ADDRSTRLEN] = "";
    uint16_t port = 0;
    if (value->size != 1 + 16 + sizeof port) {
        return;
    }
    bool is_ip4 = memcmp(value->value + 1, mapped, sizeof mapped) == 0;
    inet_ntop(is_ip4 ? AF_INET : AF_INET6, value->value + 1 + (is_ip4 ? 12 : 0), ip, sizeof ip);
    memcpy(&port, value->value + 1 + 16, sizeof port);
    snprintf(text, TEXT_MAX, is_ip4 ? "%s:%u" : "[%s]:%u", ip, (unsigned)port);
}

static void put_number(const struct sonde__kept_value *value, bool is_long, char *text)
{
    uint64_t number = 0;
    memcpy(&number, value->value + 1,
           value->size - 1 < sizeof number ? value->size - 1 : sizeof number);
    if (is_long) {
        snprintf(text, TEXT_MAX, "0x%" PRIx64, number);
    } else {
        snprintf(text, TEXT_MAX, "%" PRId64, (int64_t)number);
    }
}

/* A value as text; the parts of a text between zero bytes have "@" between them. */
static void put_value(const struct sonde__kept_value *value, bool is_long, char *text)
{
    size_t size = value->size - 1;
    uint16_t family = 0;
    text[0] = '\0';
    switch (value->value[0]) {
    case SONDE__WHEN_VALUE_NUMBER:
        put_number(value, is_long, text);
        return;
    case SONDE__WHEN_VALUE_ADDRESS:
        put_address(value, text);
        return;
    case SONDE__WHEN_VALUE_FAMILY:
        memcpy(&family, value->value + 1, size < sizeof family ? size : sizeof family);
        snprintf(text, TEXT_MAX, "(an address of family %u)", (unsigned)family);
        return;
    case SONDE__WHEN_VALUE_NONE:
        snprintf(text, TEXT_MAX, "(none)");
        return;
    case SONDE__WHEN_VALUE_UNREAD:
        snprintf(text, TEXT_MAX, "(could not be read)");
        return;
    default:
        break;
    }
    for (size_t i = 0; i < size; i++) {
        text[i] = value->value[1 + i] != '\0' ? (char)value->value[1 + i] : '@';
    }
    snprintf(text + size, TEXT_MAX - size, "%s",
             value->value[0] == SONDE__WHEN_VALUE_CUT                   ? "..."
             : value->value[0] == SONDE__WHEN_VALUE_SOCKET && size == 0 ? "(unnamed)"
             : size == 0                                                ? "\"\""
                                                                        : "");
}

static int by_count(const void *left, const void *right)
{
    const struct sonde__report_argument *a = left, *b = right;
    int order = SONDE__ORDER(b, a, count);
    return order != 0 ? order : SONDE__ORDER(a, b, value);
}

/* Values of both numbers of one argument. */
struct values {
    struct sonde__report_argument list[2 * EACH];
    uint32_t count;
};

static void add_value(struct values *values, uint32_t value, uint64_t count)
{
    for (uint32_t i = 0; i < values->count; i++) {
        if (values->list[i].value == value) {
            values->list[i].count += count;
            return;
        }
    }
    if (values->count < 2 * EACH) {
        values->list[values->count++] =
            (struct sonde__report_argument){.value = value, .count = count};
    }
}

static void collect(const struct sonde__audit_keep *keep, uint32_t number, uint32_t argument,
                    bool is_long, struct sonde__report *report, struct values *values)
{
    char text[TEXT_MAX];
    for (uint32_t i = find(keep, number); i < keep->count && keep->list[i].number == number; i++) {
        struct sonde__kept_value value;
        if (sonde__kept_read(keep->kept, keep->list[i].slot, &value) && value.number == number &&
            value.argument == argument && value.count != 0) {
            put_value(&value, is_long, text);
            add_value(values, sonde__report_string(report, text), value.count);
        }
    }
    qsort(values->list, values->count, sizeof *values->list, by_count);
}

/* Values of one argument, then the calls with others. Returns how many. */
static uint32_t put_argument(const struct sonde__report_argument *of, struct values *values,
                             uint64_t calls, struct sonde__report_argument *ret)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < values->count && count < EACH; i++) {
        struct sonde__report_argument argument = *of;
        argument.value = values->list[i].value;
        argument.count = values->list[i].count < calls ? values->list[i].count : calls;
        calls -= argument.count; /* memory that the program has damaged may hold more */
        if (argument.count != 0) {
            ret[count++] = argument;
        }
    }
    if (calls != 0) {
        ret[count] = *of;
        ret[count++].count = calls;
    }
    return count;
}

uint32_t sonde__audit_keep_arguments(
    const struct sonde__audit_keep *keep, const struct sonde__audit_ruling *ruling,
    const struct sonde__audit_kept_calls *calls, struct sonde__report *report,
    struct sonde__report_argument ret_arguments[SONDE__REPORT_ARGUMENTS_MAX])
{
    const char *const *words;
    const struct sonde__when_node *keeps;
    uint32_t count = 0, kept = sonde__audit_ruling_keeps(ruling, calls->label, &words, &keeps);
    for (uint32_t i = 0; i < kept; i++) {
        struct values values = {.count = 0};
        const struct sonde__report_argument of = {.position = keeps[i].argument + 1u,
                                                  .name = sonde__report_string(report, words[i])};
        for (uint32_t k = 0; k < 2; k++) {
            if (calls->numbers[k] != SONDE__RECORD_NO_NUMBER) {
                collect(keep, calls->numbers[k], i, keeps[i].mask > UINT32_MAX, report, &values);
            }
        }
        count += put_argument(&of, &values, calls->count, ret_arguments + count);
    }
    return count;
}
