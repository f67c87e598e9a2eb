// SPDX-License-Identifier: Apache-2.0
/* A stack is walked outwards to its first known node, then back inwards, so all stacks of a stall
 * together cost one step per distinct node. */
#include "report_trie.h"

#include "base_status.h"
#include "mem_heap.h"

/* Exact for vaddrs below 2^40; above, two places without a name in one image may be merged. */
uint64_t sonde__trie_function(const struct sonde__report *report, uint32_t frame)
{
    const struct sonde__report_frame *f = sonde__report_frame(report, frame);
    if (f->lost_count != 0) {
        return 1;
    }
    if (f->kind == SONDE__REPORT_FRAME_SCRIPT) {
        return (uint64_t)3 << 62 | (uint64_t)(f->file & 0x3fffffff) << 32 | f->name;
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
    trie->nodes[trie->count] =
        (struct sonde__trie_node){.parent = parent, .frame = frame, .depth = depth};
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
    sonde__mem_free(trie->stacks);
    sonde__mem_table_done(&trie->by_place);
    sonde__mem_table_done(&trie->by_stack);
    *trie = (struct sonde__trie){0};
}

static bool is_child(const struct sonde__trie *trie, uint32_t node, uint32_t parent,
                     uint64_t function)
{
    const struct sonde__trie_node *n = &trie->nodes[node];
    return n->parent == parent && sonde__trie_function(trie->report, n->frame) == function;
}

/* The child of `parent` with the function of `frame`; it is added if needed. */
static enum sonde_status step_in(struct sonde__trie *trie, uint32_t parent, uint32_t frame,
                                 uint32_t *ret_node)
{
    uint64_t function = sonde__trie_function(trie->report, frame);
    uint32_t hash = sonde__mem_hash(function ^ (uint64_t)parent * 0xbf58476d1ce4e5b9u);
    uint32_t node =
        SONDE__TABLE_FIND(&trie->by_place, hash, i, is_child(trie, i, parent, function));
    if (node == SONDE__TABLE_NONE) {
        SONDE_TRY(add_node(trie, parent, frame, &node));
        if (!sonde__mem_table_add(&trie->by_place, hash, node)) {
            return SONDE_MEMORY;
        }
    }
    *ret_node = node;
    return SONDE_OK;
}

static uint32_t find_stack(const struct sonde__trie *trie, uint32_t stack)
{
    return SONDE__TABLE_FIND(&trie->by_stack, sonde__mem_hash(stack), i,
                             trie->stacks[i].stack == stack);
}

static bool add_stack(struct sonde__trie *trie, uint32_t stack, uint32_t node)
{
    const struct sonde__trie_stack known = {stack, node};
    return SONDE__MEM_ADD(trie->stacks, trie->stack_count, trie->stack_capacity, known) &&
           sonde__mem_table_add(&trie->by_stack, sonde__mem_hash(stack),
                                (uint32_t)trie->stack_count - 1);
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
        uint32_t known = find_stack(trie, id);
        if (known != SONDE__TABLE_NONE) {
            node = trie->stacks[known].node;
            break;
        }
        if (!SONDE__MEM_ADD(chain, count, capacity, id)) {
            sonde__mem_free(chain);
            return SONDE_MEMORY;
        }
    }
    while (count > 0 && status == SONDE_OK) {
        uint32_t id = chain[--count];
        status = step_in(trie, node, sonde__report_node(report, id)->frame, &node);
        if (status == SONDE_OK && !add_stack(trie, id, node)) {
            status = SONDE_MEMORY;
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
