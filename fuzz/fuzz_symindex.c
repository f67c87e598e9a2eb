// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: an index file of any content. The header's checksum is corrected first, so that the
 * content is accepted; then everything is queried. */
#include <stdlib.h>
#include <string.h>

#include "base_crc32c.h"
#include "fuzz.h"
#include "fuzz_read.h"
#include "symindex.h"
#include "tail_graph.h"

static volatile uint64_t sink;

static void use_tails(const struct sonde__symindex *index, struct sonde__symindex_strings *strings)
{
    struct sonde__tail_graph graph;
    struct sonde__tail_found found;
    struct sonde__tail_node from, to;
    uint32_t entry, cell, place;
    uint64_t vaddr;
    bool is_main;
    sonde__symindex_tails(index, &graph);
    for (uint32_t i = 0; i < 40 && sonde__tail_node(&graph, i, &from); i++) {
        for (uint32_t k = 0; k < 40 && sonde__tail_node(&graph, k, &to); k++) {
            sink += sonde__tail_between(&graph, from.start, to.start, &found);
            FUZZ_MUST(found.count <= SONDE__TAIL_FRAMES_MAX);
        }
        sink += sonde__tail_site(&graph, from.start + 5, &entry, &is_main);
        for (uint32_t k = 0; k < 40 && sonde__tail_external(&graph, from.start, k, &cell, &place);
             k++) {
            fuzz_read_string(sonde__symindex_word(index, index->base + cell));
        }
    }
    for (uint32_t back = 0; back < 500; back++) {
        if (sonde__tail_leaving_call(&graph, back, &cell)) {
            const char *name = sonde__symindex_word(index, index->base + cell);
            fuzz_read_string(name);
            sink += sonde__symindex_export(strings, name, &vaddr);
        }
    }
    sink += sonde__symindex_export(strings, "f", &vaddr);
    sink += sonde__tail_main(&graph, &entry);
}

static void use(const struct sonde__symindex *index, struct sonde__symindex_strings *strings)
{
    struct sonde__symindex_frame frames[64];
    struct sonde__symindex_bad_unit unit;
    uint64_t vaddrs[64];
    uint32_t first[64], count[64];
    uint64_t step = index->code_bytes / 500 + 1;
    unsigned n = 0;
    for (uint64_t at = 0; at < index->code_bytes; at += step) {
        struct sonde__symindex_symbol symbol;
        size_t depth = sonde__symindex_find(index, index->base + at, frames, 64);
        FUZZ_MUST(depth <= 64);
        for (size_t i = 0; i < depth; i++) {
            fuzz_read_string(sonde__symindex_name(strings, frames[i].name));
            fuzz_read_string(sonde__symindex_file(strings, frames[i].file));
        }
        if (sonde__symindex_symbol(index, index->base + at, &symbol)) {
            FUZZ_MUST(index->base + at - symbol.start < symbol.size);
            fuzz_read_string(sonde__symindex_name(strings, symbol.name));
            for (uint32_t i = 0; i < symbol.alias_count && i < 10; i++) {
                fuzz_read_string(
                    sonde__symindex_name(strings, sonde__symindex_alias(index, &symbol, i)));
            }
        }
        vaddrs[n++ % 64] = index->base + at;
    }
    n = n < 64 ? n : 64;
    (void)!sonde__symindex_find_many(index, vaddrs, n, frames, 64, first, count);
    for (uint32_t i = 0; i < 100 && sonde__symindex_bad_unit(index, i, &unit); i++) {
        fuzz_read_string(unit.name);
        fuzz_read_string(unit.what);
    }
    for (uint32_t i = 0; i < 300; i++) {
        fuzz_read_string(sonde__symindex_name(strings, i));
        fuzz_read_string(sonde__symindex_file(strings, i));
    }
    use_tails(index, strings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sonde__symindex index;
    struct sonde__symindex_strings strings;
    struct sonde_error error;
    uint8_t *copy = malloc(size + 1);
    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, data, size);
    if (size >= 16) {
        for (unsigned i = 0; i < 8 && size >= 24; i++) { /* cutting changes the size */
            copy[SYMINDEX_AT_FILE_BYTES + i] = (uint8_t)((uint64_t)size >> 8 * i);
        }
        uint64_t header = sonde__base_le32(copy + SYMINDEX_AT_HEADER_BYTES);
        if (header >= 4 && header <= size) {
            uint32_t crc = sonde__base_crc32c(0, copy, (size_t)header - 4);
            for (unsigned i = 0; i < 4; i++) {
                copy[header - 4 + i] = (uint8_t)(crc >> 8 * i);
            }
        }
    }
    if (sonde__symindex_open(copy, size, &index, &error) == SONDE_OK) {
        (void)sonde__symindex_intact(&index);
        if (sonde__symindex_strings_init(&strings, &index) == SONDE_OK) {
            use(&index, &strings);
            sonde__symindex_strings_done(&strings);
        }
    }
    free(copy);
    return 0;
}
