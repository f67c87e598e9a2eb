// SPDX-License-Identifier: Apache-2.0
/* Maps of 64-bit keys, and interned strings. Open addressing, at most half full. */
#include <string.h>

#include "convert.h"
#include "mem_heap.h"

enum { SLOTS_FIRST = 256 };

static size_t place_of(uint64_t key, size_t slots)
{
    key *= 0x9e3779b97f4a7c15u; /* an odd constant of random bits spreads the low bits over the high
                                   half */
    return (size_t)(key >> 32 ^ key >> 15) & (slots - 1);
}

uint32_t convert_map_find(const struct map *map, uint64_t key)
{
    if (map->slot_count == 0) {
        return 0;
    }
    for (size_t at = place_of(key, map->slot_count);; at = (at + 1) & (map->slot_count - 1)) {
        if (map->entries[at].key == key + 1) {
            return map->entries[at].value;
        }
        if (map->entries[at].key == 0) {
            return 0;
        }
    }
}

static bool put_entry(struct map_entry *entries, size_t slots, uint64_t key, uint32_t value)
{
    size_t at = place_of(key, slots);
    while (entries[at].key != 0) {
        if (entries[at].key == key + 1) {
            entries[at].value = value;
            return false;
        }
        at = (at + 1) & (slots - 1);
    }
    entries[at] = (struct map_entry){key + 1, value};
    return true;
}

void convert_map_set(struct convert *c, struct map *map, uint64_t key, uint32_t value)
{
    if (map->count * 2 >= map->slot_count) {
        size_t slots = map->slot_count != 0 ? map->slot_count * 2 : SLOTS_FIRST;
        struct map_entry *entries = sonde__mem_alloc_zeroed(slots * sizeof *entries);
        if (entries == NULL) {
            c->status = SONDE_MEMORY;
            return;
        }
        for (size_t i = 0; i < map->slot_count; i++) {
            if (map->entries[i].key != 0) {
                (void)put_entry(entries, slots, map->entries[i].key - 1, map->entries[i].value);
            }
        }
        sonde__mem_free(map->entries);
        map->entries = entries;
        map->slot_count = slots;
    }
    map->count += put_entry(map->entries, map->slot_count, key, value);
}

void convert_map_clear(struct map *map)
{
    if (map->count != 0) {
        memset(map->entries, 0, map->slot_count * sizeof *map->entries);
        map->count = 0;
    }
}

/* --- strings --- */

static uint32_t hash_of(const char *text, size_t size)
{
    uint64_t hash = size;
    uint64_t word;
    for (; size >= 8; text += 8, size -= 8) {
        memcpy(&word, text, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, text, size);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(hash >> 32);
}

static bool grow_slots(struct convert *c)
{
    struct strings *s = &c->strings;
    size_t slots = s->slot_count != 0 ? s->slot_count * 2 : 4096;
    uint32_t *made = sonde__mem_alloc_zeroed(slots * sizeof *made);
    if (made == NULL) {
        c->status = SONDE_MEMORY;
        return false;
    }
    for (size_t i = 1; i < s->count; i++) {
        size_t at = s->all[i].hash & (slots - 1);
        while (made[at] != 0) {
            at = (at + 1) & (slots - 1);
        }
        made[at] = (uint32_t)i;
    }
    sonde__mem_free(s->slots);
    s->slots = made;
    s->slot_count = slots;
    return true;
}

static uint32_t intern(struct convert *c, const char *text, size_t size, bool copy)
{
    struct strings *s = &c->strings;
    uint32_t hash;
    if (size == 0) {
        return 0;
    }
    if (s->count == 0) {
        if (!convert_grow(c, &s->all, 0, &s->capacity, sizeof *s->all)) {
            return 0;
        }
        s->all[s->count++] = (struct string){"", 0, 0};
    }
    if (s->count * 2 >= s->slot_count && !grow_slots(c)) {
        return 0;
    }
    hash = hash_of(text, size);
    size_t at = hash & (s->slot_count - 1);
    for (; s->slots[at] != 0; at = (at + 1) & (s->slot_count - 1)) {
        const struct string *other = &s->all[s->slots[at]];
        if (other->hash == hash && other->size == size && memcmp(other->text, text, size) == 0) {
            return s->slots[at];
        }
    }
    if (s->count >= s->capacity &&
        !convert_grow(c, &s->all, s->count, &s->capacity, sizeof *s->all)) {
        return 0;
    }
    if (copy) {
        text = sonde__arena_copy_text(&c->arena, text, size);
        if (text == NULL) {
            c->status = SONDE_MEMORY;
            return 0;
        }
    }
    s->all[s->count] = (struct string){text, (uint32_t)size, hash};
    s->slots[at] = (uint32_t)s->count;
    return (uint32_t)s->count++;
}

uint32_t convert_string(struct convert *c, const char *text, size_t size)
{
    return intern(c, text, size, false);
}

uint32_t convert_string_copy(struct convert *c, const char *text, size_t size)
{
    return intern(c, text, size, true);
}

uint32_t convert_text(struct convert *c, const char *text, size_t size)
{
    return intern(c, text, size, text[size] != '\0');
}

uint32_t convert_name(struct convert *c, const char *text, const uint8_t *end)
{
    size_t left = (size_t)(end - (const uint8_t *)text);
    size_t size;
    uint32_t id = convert_map_find(&c->name_places, (uintptr_t)text);
    if (id != 0) {
        return id;
    }
    left = left < CONVERT_NAME_MAX ? left : CONVERT_NAME_MAX;
    const char *nul = memchr(text, 0, left);
    size = nul != NULL ? (size_t)(nul - text) : left;
    if (!convert_work(c, size)) {
        return 0;
    }
    id = intern(c, text, size, nul == NULL);
    if (id != 0) {
        convert_map_set(c, &c->name_places, (uintptr_t)text, id);
    }
    return id;
}
