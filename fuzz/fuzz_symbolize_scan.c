// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: a log of any content. Every place that is found lies in the line, and the search
 * continues after it. */
#include <string.h>

#include "fuzz.h"
#include "symbolize_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct symbolize_place place;
    const char *text = (const char *)data;
    for (size_t begin = 0; begin < size;) {
        const char *newline = memchr(text + begin, '\n', size - begin);
        size_t length = newline != NULL ? (size_t)(newline - text) + 1 - begin : size - begin;
        for (int addresses = 0; addresses < 2; addresses++) {
            size_t at = 0;
            while (symbolize_scan(text + begin, length, at, addresses != 0, &place)) {
                FUZZ_MUST(place.end > at && place.end <= length);
                FUZZ_MUST(strlen(place.image) < sizeof place.image);
                FUZZ_MUST(strlen(place.symbol) < sizeof place.symbol);
                FUZZ_MUST(strlen(place.build_id) < sizeof place.build_id);
                FUZZ_MUST(addresses != 0 || place.image[0] != '\0');
                at = place.end;
            }
        }
        (void)symbolize_frame_number(text + begin, length);
        begin += length;
    }
    return 0;
}
