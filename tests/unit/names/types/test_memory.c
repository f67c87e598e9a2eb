// SPDX-License-Identifier: Apache-2.0
/* If any allocation fails, nothing is lost and nothing breaks: each one alone, and each with all
 * that follow. (The harness checks for leaks.) */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "mem_heap.h"
#include "test.h"

enum { TRIED = 150 };

static void without_memory(const char *name)
{
    char path[600];
    size_t size;
    snprintf(path, sizeof path, "%s/fuzz/regress/types/%s", test_source_dir(), name);
    char *data = test_read_file(path, &size);
    sonde__mem_fail_from(UINT64_MAX);
    (void)LLVMFuzzerTestOneInput((const uint8_t *)data, size);
    uint64_t asked = sonde__mem_asked();
    CHECK(asked > 20);
    uint64_t step = asked / TRIED + 1;
    for (uint64_t i = 0; i < asked; i += step) {
        sonde__mem_fail_once(i);
        (void)LLVMFuzzerTestOneInput((const uint8_t *)data, size);
        sonde__mem_fail_from(i);
        (void)LLVMFuzzerTestOneInput((const uint8_t *)data, size);
    }
    sonde__mem_fail_from(UINT64_MAX);
    free(data);
}

TEST(types_without_memory)
{
    without_memory("gcc4_types");
    without_memory("blocks");
}
