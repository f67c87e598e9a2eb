// SPDX-License-Identifier: Apache-2.0
/* Links between images: the name that a word is bound by, and the function of a name. */
#include <string.h>

#include "base_search.h"
#include "symindex.h"

const char *sonde__symindex_word(const struct sonde__symindex *index, uint64_t vaddr)
{
    const struct sonde__symindex_part *words = &index->parts[SYMINDEX_WORDS];
    uint64_t count = words->size / SYMINDEX_WORD_BYTES;
    uint64_t at = SONDE__SEARCH(
        0, count, i, index->base + symindex_u32(words->data + i * SYMINDEX_WORD_BYTES) < vaddr);
    const uint8_t *p = words->data + at * SYMINDEX_WORD_BYTES;
    return at < count && index->base + symindex_u32(p) == vaddr
               ? sonde__symindex_text(index, symindex_u32(p + 4))
               : "";
}

bool sonde__symindex_export(struct sonde__symindex_strings *strings, const char *name,
                            uint64_t *ret_vaddr)
{
    const struct sonde__symindex *index = strings->index;
    const struct sonde__symindex_part *exports = &index->parts[SYMINDEX_EXPORTS];
    uint64_t low = 0, high = exports->size / SYMINDEX_EXPORT_BYTES;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const uint8_t *p = exports->data + middle * SYMINDEX_EXPORT_BYTES;
        int order = strcmp(sonde__symindex_name(strings, symindex_u32(p)), name);
        if (order == 0) {
            uint32_t start = symindex_u32(p + 4);
            *ret_vaddr = start != UINT32_MAX ? index->base + start : UINT64_MAX;
            return true;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}
