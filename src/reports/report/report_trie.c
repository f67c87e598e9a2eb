// SPDX-License-Identifier: Apache-2.0
/* A stack is walked outwards to its first known node, then inwards again, so all stacks of a stall
 * together cost one step per distinct node. */
#include "report_trie.h"

#include "mem_heap.h"

struct sonde__trie_slot {
    uint64_t key;
    uint32_t more;
    uint32_t index; /* + 1; 0: free */
};

static uint64_t mix(uint64_t key, uint32_t more)
{
    uint64_t h = (key ^ (uint64_t)more * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    return h ^ h >> 29;
}

static struct sonde__trie_slot *find_slot(const struct sonde__trie_map *map, uint64_t key,
                                          uint32_t more)
{
    uint64_t slot = mix(key, more) & (map->capacity - 1);
    while (map->slots[slot].index != 0 &&
           (map->slots[slot].key != key || map->slots[slot].more != more)) {
        slot = (slot + 1) & (map->capacity - 1);
    }
    return &map->slots[slot];
}

static bool grow_map(struct sonde__trie_map *map)
{
    struct sonde__trie_map grown = {NULL, map->capacity == 0 ? 256 : map->capacity * 2, map->count};
    if (map->capacity != 0 && map->count < map->capacity / 2) {
        return true;
    }
    grown.slots = sonde__mem_alloc_zeroed(grown.capacity * sizeof *grown.slots);
    if (grown.slots == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < map->capacity; i++) {
        const struct sonde__trie_slot *old = &map->slots[i];
        if (old->index != 0) {
            *find_slot(&grown, old->key, old->more) = *old;
        }
    }
    sonde__mem_free(map->slots);
    *map = grown;
    return true;
}

/* Exact up to 40-bit vaddrs; above, two places without a name in one image may be merged. */
uint64_t sonde__trie_function(const struct sonde__report *report, uint32_t frame)
{
    const struct sonde__report_frame *f = sonde__report_frame(report, frame);
    if (f->lost_count != 0) {
        return 1;
    }
    if (f->name != 0) {
        return (uint64_t)1 << 63 | (uint64_t)f->image << 32 | f->name;
    }
    uint64_t start = f->name_offset <= f->offset ? f->offset - f->name_offset : f->offset;
    return ((uint64_t)f->image << 40 ^ start) & ~((uint64_t)1 << 63);
}

bool sonde__trie_same_function(const struct sonde__report *report, uint32_t frame_a,
                               uint32_t frame_b)
{
    return frame_a == frame_b ||
           sonde__trie_function(report, frame_a) == sonde__trie_function(report, frame_b);
}

static enum sonde_status add_node(struct sonde__trie *trie, uint32_t parent, uint32_t frame,
                                  uint32_t *ret_node)
{
    if (!sonde__mem_grow(&trie->nodes, trie->count, &trie->capacity, sizeof *trie->nodes)) {
        return SONDE_MEMORY;
    }
    uint32_t depth = trie->count == 0 ? 0 : trie->nodes[parent].depth + 1;
    trie->nodes[trie->count] = (struct sonde__trie_node){parent, frame, depth, 0, 0};
    *ret_node = (uint32_t)trie->count++;
    return SONDE_OK;
}

enum sonde_status sonde__trie_init(struct sonde__trie *trie, const struct sonde__report *report)
{
    uint32_t top;
    *trie = (struct sonde__trie){.report = report};
    return add_node(trie, 0, 0, &top);
}

void sonde__trie_done(struct sonde__trie *trie)
{
    sonde__mem_free(trie->nodes);
    sonde__mem_free(trie->children.slots);
    sonde__mem_free(trie->stacks.slots);
    *trie = (struct sonde__trie){0};
}

/* The child of `parent` for the function of `frame`. */
static enum sonde_status step_in(struct sonde__trie *trie, uint32_t parent, uint32_t frame,
                                 uint32_t *ret_node)
{
    uint64_t function = sonde__trie_function(trie->report, frame);
    if (!grow_map(&trie->children)) {
        return SONDE_MEMORY;
    }
    struct sonde__trie_slot *slot = find_slot(&trie->children, function, parent);
    if (slot->index == 0) {
        uint32_t node;
        enum sonde_status status = add_node(trie, parent, frame, &node);
        if (status != SONDE_OK) {
            return status;
        }
        *slot = (struct sonde__trie_slot){function, parent, node + 1};
        trie->children.count++;
    }
    *ret_node = slot->index - 1;
    return SONDE_OK;
}

enum sonde_status sonde__trie_add(struct sonde__trie *trie, uint32_t stack, uint32_t *ret_node)
{
    const struct sonde__report *report = trie->report;
    uint32_t count = 0, node = 0;
    uint32_t *chain = NULL;
    size_t capacity = 0;
    enum sonde_status status = SONDE_OK;
    for (uint32_t id = stack; id != 0 && id <= sonde__report_node_count(report);
         id = sonde__report_node(report, id)->parent) {
        struct sonde__trie_slot *known =
            trie->stacks.capacity == 0 ? NULL : find_slot(&trie->stacks, id, 0);
        if (known != NULL && known->index != 0) {
            node = known->index - 1;
            break;
        }
        if (!sonde__mem_grow(&chain, count, &capacity, sizeof *chain)) {
            sonde__mem_free(chain);
            return SONDE_MEMORY;
        }
        chain[count++] = id;
    }
    while (count > 0 && status == SONDE_OK) {
        uint32_t id = chain[--count];
        status = step_in(trie, node, sonde__report_node(report, id)->frame, &node);
        if (status == SONDE_OK && !grow_map(&trie->stacks)) {
            status = SONDE_MEMORY;
        }
        if (status == SONDE_OK) {
            *find_slot(&trie->stacks, id, 0) = (struct sonde__trie_slot){id, 0, node + 1};
            trie->stacks.count++;
        }
    }
    sonde__mem_free(chain);
    *ret_node = node;
    return status;
}

void sonde__trie_sum(struct sonde__trie *trie)
{
    for (size_t i = 0; i < trie->count; i++) {
        trie->nodes[i].weight_ns = trie->nodes[i].self_ns;
    }
    for (size_t i = trie->count; i > 1; i--) {
        trie->nodes[trie->nodes[i - 1].parent].weight_ns += trie->nodes[i - 1].weight_ns;
    }
}
