// SPDX-License-Identifier: Apache-2.0
/* A loaded file as memory of blocks. Context: any thread. */
#include <string.h>

#include "base_search.h"
#include "blockfile.h"

enum { PAGE = 4096 };

/* Gaps between and after sections are readable, because loaders map whole pages; their content is
 * uncertain and read as zeros. */
static bool read_memory(void *ctx, uint64_t address, void *buffer, size_t size)
{
    const struct sonde__loaded *loaded = ctx;
    uint8_t *to = buffer;
    if (sonde__loaded_read(loaded, address, buffer, size)) {
        return true;
    }
    if (size == 0 || size > PAGE || address / PAGE != (address + size - 1) / PAGE ||
        sonde__loaded_area_at(loaded, address) == NULL) {
        return false;
    }
    for (size_t at = 0; at < size;) {
        const struct sonde__loaded_area *areas = loaded->areas;
        uint32_t next = SONDE__SEARCH(0, loaded->area_count, i, areas[i].vaddr <= address + at);
        uint64_t left = next < loaded->area_count ? areas[next].vaddr - (address + at) : size;
        uint64_t offset = next > 0 ? address + at - areas[next - 1].vaddr : 0;
        bool is_inside = next > 0 && offset < areas[next - 1].size;
        if (is_inside) {
            left = areas[next - 1].size - offset;
        }
        left = left < size - at ? left : size - at;
        if (is_inside) {
            memcpy(to + at, areas[next - 1].bytes + offset, left);
        } else {
            memset(to + at, 0, left);
        }
        at += left;
    }
    return true;
}

static const char *name_at(void *ctx, uint64_t address)
{
    const struct sonde__loaded *loaded = ctx;
    const char *import = sonde__loaded_import(loaded, address);
    if (import != NULL) {
        return (address - loaded->imports_at) % SONDE__LOADED_IMPORT_BYTES == 0 ? import : NULL;
    }
    return sonde__loaded_symbol_at(loaded, address);
}

void sonde__blockfile_memory(struct sonde__loaded *loaded, struct sonde__block_memory *ret_memory)
{
    *ret_memory = (struct sonde__block_memory){
        .arch = loaded->arch, .read = read_memory, .name = name_at, .ctx = loaded};
}
