// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: debug information of any content is converted. The result opens, is intact, and
 * answers for every address. */
#include "fuzz.h"
#include "image_elf.h"
#include "mem_heap.h"
#include "symindex.h"
#include "symindex_convert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sonde__elf elf;
    struct sonde__macho macho;
    struct sonde_error error;
    struct sonde__symindex_made made;
    struct sonde__symindex index;
    struct sonde__symindex_frame frames[64];
    struct sonde__symindex_source source = {0};
    if (sonde__elf_open(data, size, &elf, &error) == SONDE_OK) {
        source.debug = &elf;
    } else if (sonde__macho_open(data, size, &macho, &error) == SONDE_OK) {
        source.macho_debug = &macho;
    } else {
        return 0;
    }
    if (sonde__symindex_convert(&source, &made, &error) != SONDE_OK) {
        return 0;
    }
    FUZZ_MUST(sonde__symindex_open(made.data, made.size, &index, &error) == SONDE_OK);
    FUZZ_MUST(sonde__symindex_intact(&index));
    uint64_t step = index.code_bytes / 500 + 1;
    for (uint64_t at = 0; at < index.code_bytes; at += step) {
        size_t n = sonde__symindex_find(&index, index.base + at, frames, 64);
        for (size_t i = 0; i < n; i++) {
            FUZZ_MUST(frames[i].name <= index.names && frames[i].file < index.files);
        }
    }
    sonde__mem_free(made.data);
    return 0;
}
