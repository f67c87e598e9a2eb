// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: a Breakpad symbol file of any content is converted. The result opens, is intact, and
 * answers for every address. */
#include "breakpad.h"
#include "fuzz.h"
#include "mem_heap.h"
#include "symindex.h"
#include "symindex_convert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sonde__breakpad file;
    struct sonde_error error;
    struct sonde__symindex_made made;
    struct sonde__symindex index;
    struct sonde__symindex_frame frames[64];
    if (sonde__breakpad_open(data, size, &file, &error) != SONDE_OK) {
        return 0;
    }
    const struct sonde__symindex_source source = {.breakpad = &file};
    if (sonde__symindex_convert(&source, &made, &error) != SONDE_OK) {
        return 0;
    }
    FUZZ_MUST(sonde__symindex_open(made.data, made.size, &index, &error) == SONDE_OK);
    FUZZ_MUST(sonde__symindex_intact(&index));
    FUZZ_MUST(index.build_id.size == file.id.size && index.base == 0);
    uint64_t step = index.code_bytes / 500 + 1;
    for (uint64_t at = 0; at < index.code_bytes; at += step) {
        size_t n = sonde__symindex_find(&index, at, frames, 64);
        for (size_t i = 0; i < n; i++) {
            FUZZ_MUST(frames[i].name <= index.names && frames[i].file < index.files);
        }
    }
    sonde__mem_free(made.data);
    return 0;
}
