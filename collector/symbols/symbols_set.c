// SPDX-License-Identifier: Apache-2.0
#include "symbols_set.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base_hash.h"

enum { SLOTS_FIRST = 256 };

struct slot {
    struct sonde__build_id id; /* size 0: free */
    uint32_t project;
};

struct symbols_set {
    pthread_rwlock_t lock;
    struct slot *slots; /* the number is a power of two; at most half are used */
    size_t slot_count, count;
};

struct symbols_set *symbols_set_begin(void)
{
    struct symbols_set *set = calloc(1, sizeof *set);
    struct slot *slots = calloc(SLOTS_FIRST, sizeof *slots);
    if (set == NULL || slots == NULL) {
        free(set);
        free(slots);
        return NULL;
    }
    pthread_rwlock_init(&set->lock, NULL);
    set->slots = slots;
    set->slot_count = SLOTS_FIRST;
    return set;
}

void symbols_set_end(struct symbols_set *set)
{
    if (set != NULL) {
        pthread_rwlock_destroy(&set->lock);
        free(set->slots);
        free(set);
    }
}

/* The slot of a key, or the free one where it would be. */
static struct slot *find(struct slot *slots, size_t slot_count, uint32_t project,
                         const struct sonde__build_id *id)
{
    uint64_t hash = sonde__base_hash_bytes(SONDE__HASH_EMPTY ^ project, id->bytes, id->size);
    size_t at = sonde__base_hash_fold(hash) & (slot_count - 1);
    while (slots[at].id.size != 0 &&
           (slots[at].project != project || slots[at].id.size != id->size ||
            memcmp(slots[at].id.bytes, id->bytes, id->size) != 0)) {
        at = (at + 1) & (slot_count - 1);
    }
    return &slots[at];
}

static bool grow(struct symbols_set *set)
{
    size_t slot_count = 2 * set->slot_count;
    struct slot *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < set->slot_count; i++) {
        if (set->slots[i].id.size != 0) {
            *find(slots, slot_count, set->slots[i].project, &set->slots[i].id) = set->slots[i];
        }
    }
    free(set->slots);
    set->slots = slots;
    set->slot_count = slot_count;
    return true;
}

bool symbols_set_add(struct symbols_set *set, uint32_t project, const struct sonde__build_id *id)
{
    pthread_rwlock_wrlock(&set->lock);
    bool has_room = 2 * set->count < set->slot_count || grow(set);
    struct slot *slot = has_room ? find(set->slots, set->slot_count, project, id) : NULL;
    if (slot != NULL && slot->id.size == 0) {
        *slot = (struct slot){*id, project};
        set->count++;
    }
    pthread_rwlock_unlock(&set->lock);
    return has_room;
}

bool symbols_set_has(struct symbols_set *set, uint32_t project, const struct sonde__build_id *id)
{
    pthread_rwlock_rdlock(&set->lock);
    bool has = find(set->slots, set->slot_count, project, id)->id.size != 0;
    pthread_rwlock_unlock(&set->lock);
    return has;
}
