// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: jitdump files, and the ELFs of GDB's list, of any content. */
#include "fuzz.h"
#include "jit_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sonde__jit jit;
    struct sonde__jit_code code;
    sonde__jit_init(&jit);
    enum sonde_status status = sonde__jit_add_dump(&jit, data, size);
    if (status == SONDE_UNSUPPORTED) {
        status = sonde__jit_add_elf(&jit, data, size);
    }
    if (status == SONDE_OK && sonde__jit_settle(&jit) == SONDE_OK) {
        for (size_t i = 0; i < jit.piece_count; i++) {
            FUZZ_MUST(sonde__jit_find(&jit, jit.pieces[i].start, &code));
            FUZZ_MUST(code.name[0] != '\0');
        }
    }
    sonde__jit_done(&jit);
    return 0;
}
