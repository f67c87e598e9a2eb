// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: texts of a watched program through all rules. The output ends inside its buffer, and
 * scrubbed text has no value after "--password=". */
#include <string.h>

#include "fuzz.h"
#include "scrub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sonde__scrub_rules rules;
    static char out[16384];
    struct sonde__text text;
    sonde__scrub_init(&rules);
    sonde__scrub_set_home(&rules, "/srv/kim");
    sonde__scrub_add_name(&rules, "kim");
    (void)sonde__scrub_add(&rules, "all", 3);
    (void)sonde__scrub_add(&rules, "path:/data=<data>", 17);
    sonde__base_text_init(&text, out, sizeof out);
    sonde__scrub(&rules, (const char *)data, size, &text);
    FUZZ_MUST(text.length < sizeof out && out[text.length] == '\0');
    const char *at = strstr(out, " --password=");
    FUZZ_MUST(at == NULL || at[12] == '\0' || (unsigned char)at[12] <= ' ' || at[12] == '*' ||
              at[12] == '"' || at[12] == '\'');
    return 0;
}
