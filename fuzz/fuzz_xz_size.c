// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: the size that an xz stream of any content states, and the output. An accepted stream
 * never yields more than it states. */
#include <dlfcn.h>
#include <stdlib.h>

#include "fuzz.h"
#include "inflate.h"

/* Load the library before the harness counts the heap: its memory is no leak of ours. */
__attribute__((constructor)) static void load_library(void)
{
    (void)dlopen("liblzma.so.5", RTLD_NOW | RTLD_LOCAL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t says = 0;
    size_t done = 0;
    uint8_t *to;
    if (!sonde__inflate_xz_size(data, size, &says) || says > 1u << 20) {
        return 0;
    }
    to = calloc(1, says + 1);
    if (to != NULL &&
        sonde__inflate(SONDE__INFLATE_XZ, data, size, to, says, &done, NULL) == SONDE_OK &&
        done > says) {
        abort();
    }
    free(to);
    return 0;
}
