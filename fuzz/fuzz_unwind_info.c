// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: a section __unwind_info of any content. Entries ascend, none is empty, and a result
 * covers the pc that was looked up. Each encoding becomes a rule or none; the input also serves as
 * the code and the call frame information. */
#include "fuzz.h"
#include "unwind_encoding.h"

#define BASE         0x100000000u
#define ENTRIES_MAX  1000u
#define STRIDE_BYTES 0x333u

static void must_cover(const struct sonde__unwind_info *info, uint64_t vaddr)
{
    struct sonde__unwind_info_entry found;
    if (sonde__unwind_info_find(info, vaddr, &found)) {
        FUZZ_MUST(found.start <= vaddr && vaddr < found.end);
    }
}

static void decode(const struct sonde__image *image, const struct sonde__unwind_info_entry *entry)
{
    static const unsigned arches[] = {SONDE_ARCH_X86_64, SONDE_ARCH_AARCH64};
    for (unsigned i = 0; i < 2; i++) {
        struct sonde__encoded encoded;
        sonde__encoding_decode(&image->encodings, arches[i], entry, &encoded);
        FUZZ_MUST(encoded.count <= SONDE__ENCODED_SAVED_MAX);
        for (unsigned k = 0; k < encoded.count; k++) {
            FUZZ_MUST(encoded.saved[k].reg < SONDE__REG_COUNT && encoded.saved[k].offset < 0);
        }
        (void)sonde__encoding_find(image, arches[i], entry->start);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sonde__unwind_info info;
    struct sonde__unwind_info_walk walk;
    struct sonde__unwind_info_entry entry;
    uint64_t start = 0, end = 0, covered = BASE;
    uint32_t count = 0;
    if (!sonde__unwind_info_open(data, size, BASE, &info)) {
        return 0;
    }
    struct sonde__image image = {
        .cfi = {.eh_frame = data, .eh_frame_size = size, .eh_frame_vaddr = BASE},
        .encodings = {info, data, size},
    };
    uint32_t count_max = sonde__unwind_info_count_max(&info);
    sonde__unwind_info_begin(&info, &walk);
    while (count < ENTRIES_MAX && sonde__unwind_info_next(&walk, &entry)) {
        FUZZ_MUST(entry.start >= covered && entry.start < entry.end);
        covered = entry.end;
        decode(&image, &entry);
        must_cover(&info, entry.start);
        must_cover(&info, entry.end - 1);
        count++;
    }
    FUZZ_MUST(count <= count_max);
    if (sonde__unwind_info_range(&info, &start, &end)) {
        for (unsigned i = 0; i < 64; i++) {
            must_cover(&info, start - 1 + (uint64_t)i * STRIDE_BYTES);
        }
    }
    must_cover(&info, UINT64_MAX);
    must_cover(&info, 0);
    return 0;
}
