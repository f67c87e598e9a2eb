// SPDX-License-Identifier: Apache-2.0
/* Replays the kept inputs of one fuzz target, whole and cut short. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "test.h"

static void replay(const char *path)
{
    size_t size = 0;
    char *data = test_read_file(path, &size);
    for (unsigned part = 0; part <= 8; part++) {
        /* a copy of exactly its size, so that a sanitizer detects every read past the end */
        size_t cut = part == 8 ? size : size * part / 8;
        uint8_t *copy = malloc(cut + (cut == 0));
        CHECK(copy != NULL);
        memcpy(copy, data, cut);
        (void)LLVMFuzzerTestOneInput(copy, cut);
        free(copy);
    }
    free(data);
}

TEST(kept_inputs_do_no_harm)
{
    char folder[512];
    char path[1024];
    unsigned count = 0;
    snprintf(folder, sizeof folder, "%s/fuzz/regress/%s", test_source_dir(), FUZZ_NAME);
    DIR *dir = opendir(folder);
    CHECK(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        replay(path);
        count++;
    }
    closedir(dir);
    CHECK(count > 0);
}
