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
        0, count, i, index->base + sonde__base_le32(words->data + i * SYMINDEX_WORD_BYTES) < vaddr);
    const uint8_t *p = words->data + at * SYMINDEX_WORD_BYTES;
    return at < count && index->base + sonde__base_le32(p) == vaddr
               ? sonde__symindex_text(index, sonde__base_le32(p + 4))
               : "";
}

static const char *export_name(struct sonde__symindex_strings *strings, uint64_t number)
{
    const uint8_t *exports = strings->index->parts[SYMINDEX_EXPORTS].data;
    return sonde__symindex_name(strings,
                                sonde__base_le32(exports + number * SYMINDEX_EXPORT_BYTES));
}

bool sonde__symindex_export(struct sonde__symindex_strings *strings, const char *name,
                            uint64_t *ret_vaddr)
{
    const struct sonde__symindex *index = strings->index;
    const struct sonde__symindex_part *exports = &index->parts[SYMINDEX_EXPORTS];
    uint64_t count = exports->size / SYMINDEX_EXPORT_BYTES;
    uint64_t at = SONDE__SEARCH(0, count, i, strcmp(export_name(strings, i), name) < 0);
    if (at == count || strcmp(export_name(strings, at), name) != 0) {
        return false;
    }
    uint32_t start = sonde__base_le32(exports->data + at * SYMINDEX_EXPORT_BYTES + 4);
    *ret_vaddr = start != UINT32_MAX ? index->base + start : UINT64_MAX;
    return true;
}
