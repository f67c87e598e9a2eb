// SPDX-License-Identifier: Apache-2.0
#include "asked.h"

#include <stdlib.h>
#include <string.h>

#include "base_bytes.h"

#define SECOND_NS ((uint64_t)1000000000u)

struct entry {
    uint64_t until_ns;         /* 0: free */
    uint32_t absent, failures; /* servers as bits; tries one after the other */
    uint8_t id[ASKED_ID];
};

struct asked {
    uint32_t retry_seconds;
    struct entry entries[ASKED_SETS][ASKED_WAYS];
};

struct asked *asked_begin(uint32_t retry_seconds)
{
    struct asked *asked = calloc(1, sizeof *asked);
    if (asked != NULL) {
        asked->retry_seconds = retry_seconds;
    }
    return asked;
}

void asked_end(struct asked *asked)
{
    free(asked);
}

static struct entry *set_of(struct asked *asked, const struct sonde__build_id *id)
{
    return asked->entries[sonde__base_le32(id->bytes) % ASKED_SETS];
}

static struct entry *find(struct asked *asked, const struct sonde__build_id *id)
{
    struct entry *set = set_of(asked, id);
    for (unsigned i = 0; i < ASKED_WAYS; i++) {
        if (set[i].until_ns != 0 && memcmp(set[i].id, id->bytes, ASKED_ID) == 0) {
            return &set[i];
        }
    }
    return NULL;
}

/* The entry of an id, made if there is none. */
static struct entry *make(struct asked *asked, const struct sonde__build_id *id)
{
    struct entry *set = set_of(asked, id), *first = set, *entry = find(asked, id);
    if (entry != NULL) {
        return entry;
    }
    for (unsigned i = 1; i < ASKED_WAYS; i++) {
        first = set[i].until_ns < first->until_ns ? &set[i] : first;
    }
    *first = (struct entry){0};
    memcpy(first->id, id->bytes, ASKED_ID);
    return first;
}

bool asked_is_due(struct asked *asked, const struct sonde__build_id *id, uint64_t now_ns,
                  uint32_t *ret_absent)
{
    const struct entry *entry = find(asked, id);
    *ret_absent = entry != NULL ? entry->absent : 0;
    return entry == NULL || now_ns >= entry->until_ns;
}

void asked_keep_absent(struct asked *asked, const struct sonde__build_id *id, uint64_t now_ns)
{
    struct entry *entry = make(asked, id);
    entry->until_ns = now_ns + ASKED_DAY_S * SECOND_NS;
    entry->absent = entry->failures = 0;
}

void asked_keep_failed(struct asked *asked, const struct sonde__build_id *id, uint64_t now_ns,
                       uint32_t absent)
{
    struct entry *entry = make(asked, id);
    entry->failures += entry->failures < UINT32_MAX;
    entry->until_ns =
        now_ns + asked_wait_s(asked->retry_seconds, entry->failures, ASKED_DAY_S) * SECOND_NS;
    entry->absent = absent;
}

uint64_t asked_wait_s(uint32_t retry_seconds, uint32_t failures, uint64_t max_seconds)
{
    uint64_t wait_s = retry_seconds;
    for (uint32_t i = 1; i < failures && wait_s < max_seconds; i++) {
        wait_s *= 2;
    }
    return wait_s < max_seconds ? wait_s : max_seconds;
}
