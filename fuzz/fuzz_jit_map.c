// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: the text of a perf map, which anybody may write. Ranges are in order, and each has
 * the last name given for it. */
#include "fuzz.h"
#include "jit_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sonde__jit jit;
    struct sonde__jit_code code;
    sonde__jit_init(&jit);
    if (sonde__jit_add_map(&jit, (const char *)data, size) == SONDE_OK &&
        sonde__jit_settle(&jit) == SONDE_OK) {
        FUZZ_MUST(jit.piece_count <= 2 * jit.count);
        for (size_t i = 0; i < jit.piece_count; i++) {
            const struct sonde__jit_piece *piece = &jit.pieces[i];
            FUZZ_MUST(piece->start < piece->end);
            FUZZ_MUST(i == 0 || jit.pieces[i - 1].end <= piece->start);
            FUZZ_MUST(sonde__jit_find(&jit, piece->end - 1, &code));
            FUZZ_MUST(code.start <= piece->start && piece->end <= code.end);
            for (size_t k = piece->code + 1; k < jit.count && jit.count < 100; k++) {
                FUZZ_MUST(jit.codes[k].end <= piece->start || jit.codes[k].start >= piece->end);
            }
        }
    }
    sonde__jit_done(&jit);
    return 0;
}
