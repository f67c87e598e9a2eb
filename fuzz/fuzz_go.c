// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: the function table of a Go program, in the memory of the process that is read.
 * Results lie inside the table, and a function contains the address that it was found by. */
#include "fuzz.h"
#include "image_go.h"

static void use_values(const struct sonde__go *go, const struct sonde__go_function *f,
                       uint64_t values, uint64_t vaddr)
{
    struct sonde__go_value v;
    if (sonde__image_go_value(go, f, values, vaddr, &v)) {
        FUZZ_MUST(v.start <= vaddr && vaddr < v.end);
        FUZZ_MUST(v.start >= f->start && v.end <= f->end);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sonde__go go;
    if (!sonde__image_go_open(data, size, 0x1000, 0, &go)) {
        return 0;
    }
    for (uint32_t i = 0; i < go.count && i < 64; i++) {
        struct sonde__go_function f, found;
        if (!sonde__image_go_function(&go, i, &f)) {
            continue;
        }
        FUZZ_MUST(f.start < f.end);
        FUZZ_MUST((const uint8_t *)f.name >= data && (const uint8_t *)f.name < data + size);
        uint64_t vaddrs[] = {f.start, f.start + (f.end - f.start) / 2, f.end - 1, f.end};
        for (unsigned k = 0; k < 4; k++) {
            if (sonde__image_go_find(&go, vaddrs[k], &found)) {
                FUZZ_MUST(found.start <= vaddrs[k] && vaddrs[k] < found.end);
            }
            use_values(&go, &f, f.stack_values, vaddrs[k]);
            use_values(&go, &f, f.file_values, vaddrs[k]);
            use_values(&go, &f, f.line_values, vaddrs[k]);
            const char *file;
            uint32_t line;
            if (sonde__image_go_line(&go, &f, vaddrs[k], &file, &line)) {
                FUZZ_MUST((const uint8_t *)file >= data && (const uint8_t *)file < data + size);
            }
        }
    }
    return 0;
}
