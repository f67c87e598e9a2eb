// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: compiled rules of any content, behind a header that fits. What is accepted can be
 * written again, is the same then, and becomes conditions that are safe to evaluate. */
#include <string.h>

#include "audit_blob.h"
#include "audit_list.h"
#include "audit_ruling.h"
#include "base_bytes.h"
#include "base_crc32c.h"
#include "fuzz.h"
#include "mem_heap.h"

enum { HEADER = SONDE__AUDIT_BLOB_HEADER, LONGEST = 1 << 16 };

static void write_again(const struct sonde__audit_rules *rules, const uint8_t *bytes, size_t size)
{
    struct sonde_error error;
    uint8_t *again = NULL;
    size_t again_size = 0;
    FUZZ_MUST(sonde__audit_blob_write(rules, &again, &again_size, &error) == SONDE_OK);
    FUZZ_MUST(again_size == size && memcmp(again, bytes, size) == 0);
    sonde__mem_free(again);
}

static void rule(const struct sonde__audit_rules *rules)
{
    static struct sonde__audit_list list;
    static char text[LONGEST];
    struct sonde__audit_ruling *ruling;
    struct sonde_error error;
    list.count = 0;
    if (sonde__audit_rules_list(rules, &list, text, sizeof text, &error) != SONDE_OK) {
        return;
    }
    for (uint32_t i = 0; i < list.count; i++) {
        list.same[i] = i;
    }
    enum sonde_status status = sonde__audit_ruling_make(rules, &list, &ruling, &error);
    FUZZ_MUST(status == SONDE_OK || status == SONDE_LIMIT || status == SONDE_CORRUPT);
    if (status == SONDE_OK) {
        FUZZ_MUST(sonde__when_check(sonde__audit_ruling_when(ruling), SONDE__RECORD_LABELS));
        sonde__audit_ruling_free(ruling);
    }
}

static const uint8_t header[16] = {'S', 'O', 'N', 'D', 'E', 'A', 'U', 'D', 1};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[LONGEST];
    struct sonde__audit_blob blob;
    struct sonde_error error = {0};
    if (sonde__audit_blob_read(data, size, &blob, &error) ==
        SONDE_OK) { /* seldom the header fits */
        sonde__audit_blob_done(&blob);
    }
    if (size < HEADER || size > sizeof bytes) {
        return 0;
    }
    memcpy(bytes, data, size);
    memcpy(bytes, header, sizeof header);
    sonde__base_put_le32(bytes + 16, (uint32_t)size);
    sonde__base_put_le32(bytes + 20, sonde__base_crc32c(0, bytes + HEADER, size - HEADER));
    enum sonde_status status = sonde__audit_blob_read(bytes, size, &blob, &error);
    FUZZ_MUST(status == SONDE_OK || (error.what[0] != '\0' && error.at <= size));
    if (status == SONDE_OK) {
        write_again(&blob.rules, bytes, size);
        rule(&blob.rules);
        sonde__audit_blob_done(&blob);
    }
    return 0;
}
