// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: a log of any content, read as Apple's. All of it is output, in order, and every
 * frame lies in it. */
#include "fuzz.h"
#include "symbolize_apple.h"

#include <string.h>

struct seen {
    const char *log;
    size_t size, out;
};

static void text(void *ctx, const char *bytes, size_t size)
{
    struct seen *seen = ctx;
    FUZZ_MUST(bytes == seen->log + seen->out && size <= seen->size - seen->out);
    seen->out += size;
}

static void frame(void *ctx, const struct symbolize_place *place, const char *asked, size_t size,
                  bool in_json)
{
    struct seen *seen = ctx;
    (void)in_json;
    FUZZ_MUST(asked >= seen->log && asked + size <= seen->log + seen->size);
    FUZZ_MUST(strnlen(place->image, sizeof place->image) < sizeof place->image);
    FUZZ_MUST(place->image[0] != '\0' || strlen(place->build_id) == 32);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen seen = {.log = (const char *)data, .size = size};
    const struct symbolize_apple_sink sink = {text, text, frame, &seen};
    struct symbolize_apple_seen counts;
    (void)symbolize_apple_begins(seen.log, size);
    FUZZ_MUST(symbolize_apple(seen.log, size, &sink, &counts));
    FUZZ_MUST(counts.outside <= counts.frames);
    FUZZ_MUST(seen.out == size);
    return 0;
}
