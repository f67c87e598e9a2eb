// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: an archive of any content, as it is uploaded with symbols. What comes out has a
 * bound, whatever the archive says, and only what was wanted is given, once. */
#include <stdbool.h>
#include <string.h>

#include "fuzz.h"
#include "zip.h"

#define TOTAL_MAX ((uint64_t)256 << 10)

struct out {
    uint64_t total;
    bool is_wanted;
    unsigned sum; /* of all bytes, so that each is read */
};

static void check_name(const char *name)
{
    FUZZ_MUST(memchr(name, '\0', ZIP_NAME) != NULL);
}

static bool wants(void *ctx, const char *name, const void *head, size_t size)
{
    struct out *out = ctx;
    check_name(name);
    FUZZ_MUST(size <= ZIP_HEAD);
    const uint8_t *bytes = head;
    for (size_t i = 0; i < size; i++) {
        out->sum += bytes[i];
    }
    out->is_wanted = size == 0 || bytes[0] % 8 != 5;
    return out->is_wanted;
}

static bool take(void *ctx, const char *name, const void *bytes, size_t size)
{
    struct out *out = ctx;
    const uint8_t *at = bytes;
    check_name(name);
    FUZZ_MUST(out->is_wanted);
    out->is_wanted = false;
    out->total += size;
    FUZZ_MUST(out->total <= TOTAL_MAX);
    for (size_t i = 0; i < size; i++) {
        out->sum += at[i];
    }
    return out->sum % 64 != 63;
}

static void leave(void *ctx, const char *name, const char *why)
{
    (void)ctx;
    check_name(name);
    FUZZ_MUST(why[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct out out = {0};
    const struct zip_reader reader = {
        .total_max = TOTAL_MAX, .wants = wants, .take = take, .leave = leave, .ctx = &out};
    const char *why = zip_each(data, size, &reader);
    FUZZ_MUST(why == NULL || why[0] != '\0');
    (void)zip_begins(data, size);
    return 0;
}
