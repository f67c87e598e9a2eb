// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: a heap of hostile bytes. The input is the memory (at 0x1000); its first half is an
 * image, so classes, descriptors and code may lie there. Every word is tested for a block or an
 * object; then the graph of what the blocks hold is built and queried. Results are consistent and
 * the work is bounded. Without an image nothing is an object. */
#include <string.h>

#include "arch_regs.h"
#include "blockheap_inside.h"
#include "fuzz.h"

enum {
    BASE = 0x1000,
    INPUT_MAX = 4096,
    ITEMS = 512,
    VARIABLES_ASKED = 4, /* each object may name lists of thousands */
    CYCLE_MAX = 32,
};
/* Limit of reads for one call: lists of 4096 variables, of 32 classes, and their names. */
#define READS_MAX ((uint64_t)32 * 4096 * 8)

struct input {
    const uint8_t *data;
    size_t size;
    uint64_t reads;
};

static bool read_input(void *ctx, uint64_t address, void *buffer, size_t size)
{
    struct input *input = ctx;
    FUZZ_MUST(++input->reads < READS_MAX);
    if (address < BASE || address - BASE > input->size ||
        size > input->size - (size_t)(address - BASE)) {
        return false;
    }
    memcpy(buffer, input->data + (address - BASE), size);
    return true;
}

static bool is_text(const char *text)
{
    size_t length = strnlen(text, SONDE__BLOCKHEAP_NAME_MAX);
    return length > 0 && length < SONDE__BLOCKHEAP_NAME_MAX;
}

static void ask_objects(struct sonde__blockheap *heap, struct input *input)
{
    unsigned asked = 0;
    for (size_t at = 0; at + 8 <= input->size; at += 8) {
        struct sonde__blockheap_object object;
        struct sonde__blockheap_variable variable;
        input->reads = 0;
        if (!sonde__blockheap_object_at(heap, BASE + at, &object)) {
            continue;
        }
        FUZZ_MUST(heap->images != NULL && blockheap_image_at(heap, object.class_at) != NULL);
        FUZZ_MUST(is_text(object.name) && object.size <= 1u << 16);
        if (asked++ < VARIABLES_ASKED) {
            for (uint32_t offset = 8; offset <= 16; offset += 8) {
                input->reads = 0;
                FUZZ_MUST(
                    !sonde__blockheap_object_variable(heap, object.class_at, offset, &variable) ||
                    (is_text(variable.of) && is_text(variable.name)));
            }
        }
    }
}

static void must_be_way(const struct sonde__blockheap_graph *graph, uint64_t address,
                        const uint32_t *edges, size_t length)
{
    uint64_t at = address;
    FUZZ_MUST(length <= CYCLE_MAX);
    for (size_t i = 0; i < length; i++) {
        FUZZ_MUST(edges[i] < graph->count && graph->edges[edges[i]].owned);
        FUZZ_MUST(graph->edges[edges[i]].from == at);
        at = graph->edges[edges[i]].to;
    }
    FUZZ_MUST(at == address);
}

static void ask_graph(struct sonde__blockheap *heap, struct input *input,
                      const struct sonde__blockheap_found *found)
{
    struct sonde__blockheap_graph graph;
    uint32_t way[CYCLE_MAX];
    size_t first, in = 0;
    input->reads = 0;
    if (sonde__blockheap_graph(heap, found, &graph, NULL) != SONDE_OK) {
        return;
    }
    for (size_t i = 0; i < graph.count; i++) {
        const struct sonde__blockheap_edge *edge = &graph.edges[i];
        FUZZ_MUST(edge->to != 0 && (edge->offset >= 8 || edge->by_memory));
        FUZZ_MUST(i == 0 || graph.edges[i - 1].from <= edge->from);
        FUZZ_MUST(graph.by_to[i] < graph.count);
        FUZZ_MUST(i == 0 || graph.edges[graph.by_to[i - 1]].to <= graph.edges[graph.by_to[i]].to);
        FUZZ_MUST(sonde__blockheap_from(&graph, edge->from, &first) > 0 && first <= i);
        FUZZ_MUST(sonde__blockheap_to(&graph, edge->to, &first) > 0);
    }
    for (size_t i = 0; i < found->count; i++) {
        uint64_t address = found->items[i].address;
        uint64_t start = address, bytes = 0;
        struct sonde__blockheap_root roots[ITEMS];
        size_t root_count;
        input->reads = 0;
        (void)sonde__blockheap_allocation(heap, address, &start, &bytes);
        FUZZ_MUST(start == address || (start < address && address - start < bytes));
        root_count = sonde__blockheap_roots(&graph, address, start, roots, ITEMS);
        for (size_t k = 0; k < root_count; k++) {
            FUZZ_MUST(roots[k].edge < graph.count && roots[k].last < graph.count);
            FUZZ_MUST(!graph.edges[roots[k].edge].by_memory);
        }
        in += sonde__blockheap_to(&graph, address, &first);
        must_be_way(&graph, address, way, sonde__blockheap_cycle(&graph, address, way, CYCLE_MAX));
    }
    FUZZ_MUST(in <= graph.count);
    sonde__blockheap_graph_done(&graph);
}

static void ask_all(struct input *input, unsigned arch, const struct sonde__image_set *images)
{
    struct sonde__block_memory memory = {.arch = arch, .read = read_input, .ctx = input};
    struct sonde__blockheap_item items[ITEMS];
    struct sonde__blockheap_found found = {.items = items, .bytes = input->size};
    struct sonde__blockheap *heap;
    if (sonde__blockheap_open_memory(&memory, &heap) != SONDE_OK) {
        return;
    }
    struct sonde__target_range range = {BASE + input->size / 2, BASE + input->size};
    heap->images = images;
    heap->own = (struct sonde__target_memory){.ranges = &range, .count = 1};
    heap->class_count = 2;
    heap->classes[0] = (struct sonde__blockheap_class){BASE + 0x10, SONDE__BLOCK_CLASS_STACK,
                                                       SONDE__BLOCK_RUNTIME_APPLE};
    heap->classes[1] = (struct sonde__blockheap_class){BASE + 0x20, SONDE__BLOCK_CLASS_MALLOC,
                                                       SONDE__BLOCK_RUNTIME_OBJC2};
    ask_objects(heap, input);
    for (size_t at = 0; at + 8 <= input->size && found.count < ITEMS; at += 8) {
        input->reads = 0;
        if (sonde__blockheap_check(heap, BASE + at, &items[found.count])) {
            FUZZ_MUST(images != NULL && items[found.count].address == BASE + at);
            FUZZ_MUST(items[found.count].count > 0);
            found.count++;
        }
    }
    ask_graph(heap, input, &found);
    sonde__blockheap_close(heap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {.data = data, .size = size < INPUT_MAX ? size : INPUT_MAX};
    uint64_t end = BASE + input.size / 2;
    struct sonde__image image = {.start = BASE, .end = end};
    struct sonde__image_range range = {.start = BASE, .end = end};
    struct sonde__image_set images = {
        .images = &image, .image_count = 1, .ranges = &range, .range_count = 1};
    ask_all(&input, SONDE_ARCH_X86_64, &images);
    ask_all(&input, SONDE_ARCH_AARCH64, &images);
    ask_all(&input, SONDE_ARCH_X86_64, NULL);
    return 0;
}
