// SPDX-License-Identifier: Apache-2.0
#include "entry_equal.h"

#include <string.h>

#include "base_math.h"
#include "base_text.h"
#include "mem_heap.h"

void sonde__entry_equals_init(struct sonde__entry_equals *equals, uint32_t each)
{
    *equals = (struct sonde__entry_equals){.each = each};
}

void sonde__entry_equals_done(struct sonde__entry_equals *equals)
{
    sonde__mem_free(equals->list);
    *equals = (struct sonde__entry_equals){0};
}

static struct sonde__entry_equal *find(const struct sonde__entry_equals *equals, const char *id)
{
    for (size_t i = 0; i < equals->count; i++) {
        if (strcmp(equals->list[i].id, id) == 0) {
            return &equals->list[i];
        }
    }
    return NULL;
}

/* Null: memory ran out, or there are too many. */
static struct sonde__entry_equal *make(struct sonde__entry_equals *equals, const char *id)
{
    if (equals->count == SONDE__ENTRY_EQUALS_MAX ||
        !sonde__mem_grow(&equals->list, equals->count, &equals->capacity, sizeof *equals->list)) {
        return NULL;
    }
    struct sonde__entry_equal *equal = &equals->list[equals->count++];
    struct sonde__text text;
    memset(equal, 0, sizeof *equal);
    sonde__base_text_init(&text, equal->id, sizeof equal->id);
    sonde__base_text_str(&text, id);
    return equal;
}

void sonde__entry_equals_add(struct sonde__entry_equals *equals, const char *id, uint64_t number,
                             uint64_t duration_ns)
{
    struct sonde__entry_equal *equal = *id != '\0' && equals->each != 0 ? find(equals, id) : NULL;
    if (*id == '\0' || equals->each == 0) {
        return;
    }
    equal = equal != NULL ? equal : make(equals, id);
    if (equal == NULL) {
        return;
    }
    if (equal->full == 0 || duration_ns > equal->full_ns) {
        equal->full_ns = duration_ns;
        equal->number = number;
    }
    equal->longest_ns = sonde__base_max(equal->longest_ns, duration_ns);
    equal->full++;
    equals->any_full = equals->any_full || equal->full >= equals->each;
}

bool sonde__entry_equals_may_count(const struct sonde__entry_equals *equals)
{
    return equals->any_full;
}

struct sonde__entry_equal *sonde__entry_equals_count(struct sonde__entry_equals *equals,
                                                     const char *id, uint64_t begin_ns,
                                                     uint64_t duration_ns)
{
    struct sonde__entry_equal *equal = *id != '\0' ? find(equals, id) : NULL;
    if (equal == NULL || equal->full < equals->each || duration_ns / 2 >= equal->full_ns) {
        return NULL;
    }
    equal->counted++;
    equal->longest_ns = sonde__base_max(equal->longest_ns, duration_ns);
    equal->open.first_ns = equal->open.count == 0 ? begin_ns : equal->open.first_ns;
    equal->open.last_ns = begin_ns;
    equal->open.longest_ns = sonde__base_max(equal->open.longest_ns, duration_ns);
    equal->open.total_ns += duration_ns;
    equal->open.count++;
    return equal;
}

bool sonde__entry_equal_is_due(const struct sonde__entry_equal *equal)
{
    return equal->open.count * 2 >= equal->counted + equal->full;
}

void sonde__entry_equal_written(struct sonde__entry_equal *equal)
{
    memset(&equal->open, 0, sizeof equal->open);
}
