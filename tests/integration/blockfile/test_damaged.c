// SPDX-License-Identifier: Apache-2.0
/* Whole libraries with a few changed bytes, mostly instructions: code that stores what no compiler
 * would, load commands and tables that point anywhere. The fuzz target reads each and checks the
 * result. A number seeds the changes, so a run can be repeated. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "darwin.h"
#include "fuzz.h"
#include "test.h"

#define FOLDER "tests/integration/blockfile/"

enum { CHANGES_MAX = 3, STRETCH = 64, FULL = 24, TRIES = 30 };

/* A place outside padding: linkers fill most of a small file with zeros. */
static size_t place(const uint8_t *data, size_t size, unsigned *seed)
{
    size_t at = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        unsigned bytes = 0;
        at = ((size_t)rand_r(seed) * 32768 + (size_t)rand_r(seed)) % size;
        for (size_t k = at - at % STRETCH; k < at - at % STRETCH + STRETCH && k < size; k++) {
            bytes += data[k] != 0;
        }
        if (bytes > FULL) {
            break;
        }
    }
    return at;
}

static void change(uint8_t *data, const uint8_t *whole, size_t size, unsigned seed)
{
    unsigned count = 1 + (unsigned)rand_r(&seed) % CHANGES_MAX;
    memcpy(data, whole, size);
    for (unsigned i = 0; i < count; i++) {
        uint8_t *byte = &data[place(whole, size, &seed)];
        switch (rand_r(&seed) % 4) {
        case 0:
            *byte = (uint8_t)rand_r(&seed);
            break;
        case 1:
            *byte = (uint8_t)(*byte ^ 1u << rand_r(&seed) % 8);
            break;
        case 2:
            *byte = whole[(size_t)rand_r(&seed) % size];
            break;
        default:
            *byte = (uint8_t)(*byte + (rand_r(&seed) % 2 == 0 ? 1 : 255));
        }
    }
}

static void damage(const char *name)
{
    char path[600];
    size_t size;
    unsigned runs = test_long() ? 100000 : 1500;
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    char *whole = test_read_file(path, &size);
    uint8_t *data = malloc(size);
    CHECK(data != NULL);
    for (unsigned seed = 0; seed < runs; seed++) {
        change(data, (const uint8_t *)whole, size, seed);
        CHECK_EQ(LLVMFuzzerTestOneInput(data, size), 0);
    }
    free(data);
    free(whole);
}

TEST_TIMEOUT(survives_damaged_libraries_of_darwin, 600)
{
    darwin_build(FOLDER "program.c", "arm64-apple-macos13", "-O2", "-dylib", "arm-O2");
    darwin_build(FOLDER "objects.m", "arm64-apple-macos13", "-Oz -fobjc-arc", "-dylib", "arm-Oz");
    darwin_build(FOLDER "program.c", "x86_64-apple-macos13", "-O2", "-dylib", "intel");
    damage("arm-O2");
    damage("arm-Oz");
    damage("intel");
}

TEST_TIMEOUT(survives_damaged_libraries_of_linux, 600)
{
    static const char *const machines[] = {"aarch64", "x86_64"};
    for (unsigned i = 0; i < 2; i++) {
        darwin_shell("clang-19 -target %s-linux-gnu -fblocks -ffreestanding -fPIC -O2 -c "
                     "'%s/" FOLDER "program.c' -o elf.o && ld.lld-19 -shared elf.o -o elf-%s",
                     machines[i], test_source_dir(), machines[i]);
        char name[32];
        snprintf(name, sizeof name, "elf-%s", machines[i]);
        damage(name);
    }
}
