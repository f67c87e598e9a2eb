// SPDX-License-Identifier: Apache-2.0
/* Fuzz targets: what another tool sent, of any content, in the format FUZZ_FORM. What is made of it
 * is a whole report, which the digest reads. */
#include "digest.h"
#include "fuzz.h"
#include "import.h"
#include "mem_heap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sonde_error error = {0};
    struct digest digest;
    void *bytes;
    size_t bytes_size;
    enum sonde_status status = import_read(
        FUZZ_FORM, data, size, "0123456789abcdef0123456789abcdef", &bytes, &bytes_size, &error);
    if (status != SONDE_OK) {
        FUZZ_MUST(error.what[0] != '\0' || status == SONDE_MEMORY);
        return 0;
    }
    FUZZ_MUST(digest_read(bytes, bytes_size, NULL, &digest, &error) == SONDE_OK);
    FUZZ_MUST(digest.loss[0] == '\0');
    digest_done(&digest);
    sonde__mem_free(bytes);
    return 0;
}
