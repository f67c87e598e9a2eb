// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: names of Swift. A text is never longer than its buffer, and does not depend on its
 * size; a name that has one style has the other. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "swift.h"

enum { TEXT_BYTES = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char full[TEXT_BYTES], brief[TEXT_BYTES];
    char *name = malloc(size + 1);
    if (name == NULL) {
        return 0;
    }
    memcpy(name, data, size);
    name[size] = '\0';
    bool is_full = sonde__swift_decode(name, SONDE__SWIFT_FULL, full, sizeof full);
    bool is_brief = sonde__swift_decode(name, SONDE__SWIFT_SHORT, brief, sizeof brief);
    FUZZ_MUST(!is_full || sonde__swift_is_encoded(name));
    FUZZ_MUST(!is_brief || (strlen(brief) != 0 && strlen(brief) < sizeof brief));
    if (is_full) {
        size_t needed = strlen(full) + 1;
        char *exact = malloc(needed);
        if (exact != NULL) {
            FUZZ_MUST(sonde__swift_decode(name, SONDE__SWIFT_FULL, exact, needed));
            FUZZ_MUST(strcmp(exact, full) == 0);
            FUZZ_MUST(!sonde__swift_decode(name, SONDE__SWIFT_FULL, exact, needed - 1));
        }
        free(exact);
    }
    free(name);
    return 0;
}
