// SPDX-License-Identifier: Apache-2.0
/* Links between images: the words used by calls and jumps to other images, with their names, and
 * the exported functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encode.h"
#include "image_elf_versions.h"
#include "mem_heap.h"
#include "mem_sort.h"

/* --- words --- */

/* Longer names are left out. */
enum { NAME_BYTES = 4096 };

/* Append a text; returns its offset. */
static uint32_t put_text(struct encode *e, const char *text, size_t size)
{
    uint32_t place = (uint32_t)e->sections[SYMINDEX_TEXT].size;
    uint8_t *to = encode_room(e, SYMINDEX_TEXT, size + 1);
    if (to == NULL) {
        return 0;
    }
    memcpy(to, text, size);
    return place;
}

void encode_words(struct encode *e, const struct sonde__elf *elf,
                  const struct sonde__tail_word *words, size_t count)
{
    struct sonde__elf_symbols symbols;
    struct sonde__elf_versions versions;
    struct sonde__elf_symbol symbol;
    char text[NAME_BYTES];
    if (count == 0 || !sonde__elf_dynamic_symbols(elf, &symbols)) {
        return;
    }
    sonde__elf_versions(elf, &versions);
    for (size_t i = 0; i < count && e->c->status == SONDE_OK; i++) {
        const char *version = sonde__elf_version(&versions, words[i].symbol);
        int size;
        if (version == NULL || !sonde__elf_symbols_at(&symbols, words[i].symbol, &symbol) ||
            symbol.name[0] == '\0') {
            continue;
        }
        size = snprintf(text, sizeof text, version[0] != '\0' ? "%s@%s" : "%s%s", symbol.name,
                        version);
        if (size > 0 && (size_t)size < sizeof text && convert_work(e->c, (uint64_t)size)) {
            uint32_t place = put_text(e, text, (size_t)size);
            uint8_t *to = encode_room(e, SYMINDEX_WORDS, SYMINDEX_WORD_BYTES);
            if (to != NULL) {
                sonde__base_put_le32(to, words[i].cell);
                sonde__base_put_le32(to + 4, place);
            }
        }
    }
}

/* --- functions --- */

struct named {
    uint32_t name, start;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return SONDE__ORDER2(x, y, name, start);
}

void encode_exports(struct encode *e)
{
    const struct convert *c = e->c;
    struct named *all = sonde__mem_alloc_array(c->export_count, sizeof *all);
    if (all == NULL) {
        e->c->status = SONDE_MEMORY;
        return;
    }
    for (size_t i = 0; i < c->export_count; i++) {
        all[i] = (struct named){e->name_ids[c->exports[i].name], c->exports[i].start};
    }
    if (c->export_count != 0) {
        qsort(all, c->export_count, sizeof *all, by_name);
    }
    for (size_t i = 0; i < c->export_count;) {
        size_t end = i + 1;
        while (end < c->export_count && all[end].name == all[i].name) {
            end++;
        }
        uint8_t *to = encode_room(e, SYMINDEX_EXPORTS, SYMINDEX_EXPORT_BYTES);
        if (to != NULL) {
            sonde__base_put_le32(to, all[i].name);
            sonde__base_put_le32(to + 4,
                                 all[i].start == all[end - 1].start ? all[i].start : CONVERT_NONE);
        }
        i = end;
    }
    sonde__mem_free(all);
}
