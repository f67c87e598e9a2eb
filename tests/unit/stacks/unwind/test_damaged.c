// SPDX-License-Identifier: Apache-2.0
/* Programs of real libraries with random instructions put into them: the table must say at every
 * place what the records say in place. (What undamaged ones say, readelf tells: test_oracle.c.) */
#include <stdlib.h>
#include <string.h>

#include "file_cfi.h"
#include "test.h"
#include "unwind_table.h"

enum { RECORDS_MAX = 1 << 16, DAMAGED = 40, ROUNDS = 60, PLACES = 4000 };

static struct {
    struct file_cfi file;
    uint8_t *records; /* what file.cfi reads, to be written to */
    struct sonde__cfi_fde fdes[RECORDS_MAX];
    uint32_t count;
    uint64_t random;
} all;

static uint32_t pick(uint32_t count)
{
    all.random = all.random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((all.random >> 33) % count);
}

/* Instructions and small operands, as they may follow each other, and now and then anything. */
static uint8_t pick_byte(void)
{
    static const uint8_t likely[] = {
        0x00, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0a, 0x0a, 0x0b, 0x0b, 0x0b,
        0x0c, 0x0d, 0x0e, 0x0e, 0x0e, 0x0f, 0x10, 0x11, 0x13, 0x16, 0x1d, 0x1e, 0x1f, 0x20, 0x2d,
        0x2e, 0x41, 0x42, 0x44, 0x48, 0x81, 0x83, 0x86, 0x86, 0x87, 0x90, 0x9d, 0x9e, 0xc3, 0xc6,
        0xc6, 0xc7, 0xd0, 0xdd, 0xde, 0x01, 0x02, 0x03, 0x04, 0x06, 0x07, 0x08, 0x10, 0x7f};
    return pick(20) == 0 ? (uint8_t)pick(256) : likely[pick(sizeof likely)];
}

static void list_records(void)
{
    struct sonde__cfi_fde fde;
    uint64_t offset = 0, next = 0;
    enum sonde__cfi_record record;
    fde.cie.program = NULL;
    while ((record = sonde__cfi_record_read(&all.file.cfi, all.file.arch, SONDE__CFI_EH_FRAME,
                                            offset, &fde, &next)) != SONDE__CFI_RECORD_END) {
        if (record == SONDE__CFI_RECORD_FDE && fde.program_size > 0 && all.count < RECORDS_MAX) {
            all.fdes[all.count++] = fde;
        }
        offset = next;
    }
}

static void compare_at(const struct sonde__rules *table, uint64_t at)
{
    struct sonde__rule rule =
        sonde__compact_find(&all.file.cfi, all.file.arch, SONDE__CFI_EH_FRAME, at);
    if (memcmp(sonde__table_find(table, at), &rule, sizeof rule) != 0) {
        FAIL("%#llx: the table differs from the rule in place", (unsigned long long)at);
    }
}

static void compare(const uint32_t *damaged)
{
    const struct sonde__rules *table = NULL;
    void *memory;
    size_t size = 0;
    CHECK_OK(sonde__unwind_rules_size(&all.file.cfi, all.file.arch, &size));
    memory = malloc(size);
    CHECK(memory != NULL);
    CHECK_OK(sonde__unwind_rules_build(&all.file.cfi, all.file.arch, memory, size, &table));
    for (unsigned i = 0; i < DAMAGED; i++) {
        const struct sonde__cfi_fde *fde = &all.fdes[damaged[i]];
        for (uint64_t at = fde->start; at < fde->end && at - fde->start < 300; at++) {
            compare_at(table, at);
        }
        compare_at(table, fde->end - 1);
    }
    for (unsigned i = 0; i < PLACES; i++) {
        const struct sonde__cfi_fde *fde = &all.fdes[pick(all.count)];
        compare_at(table, fde->start + pick((uint32_t)(fde->end - fde->start)));
    }
    free(memory);
}

static void check(const char *path, bool with_search)
{
    uint8_t *whole;
    memset(&all, 0, sizeof all);
    all.random = with_search;
    if (!file_cfi_open(&all.file, path)) {
        SKIP("%s is not here", path);
    }
    all.records = (uint8_t *)(uintptr_t)all.file.cfi.eh_frame;
    if (!with_search) { /* the records are sorted then */
        all.file.cfi.eh_frame_hdr = NULL;
        all.file.cfi.eh_frame_hdr_size = 0;
    }
    list_records();
    CHECK(all.count > 100);
    whole = malloc(all.file.cfi.eh_frame_size);
    CHECK(whole != NULL);
    memcpy(whole, all.records, all.file.cfi.eh_frame_size);
    for (unsigned round = 0; round < (with_search ? ROUNDS : 1); round++) {
        uint32_t damaged[DAMAGED];
        for (unsigned i = 0; i < DAMAGED; i++) {
            damaged[i] = pick(all.count);
            const struct sonde__cfi_fde *fde = &all.fdes[damaged[i]];
            uint8_t *program = all.records + (fde->program - all.file.cfi.eh_frame);
            for (size_t byte = pick((uint32_t)fde->program_size); byte < fde->program_size;
                 byte++) {
                program[byte] = pick_byte();
            }
        }
        compare(damaged);
        memcpy(all.records, whole, all.file.cfi.eh_frame_size);
    }
    free(whole);
    file_cfi_close(&all.file);
}

TEST(damaged_programs_of_libc)
{
    check("/lib/x86_64-linux-gnu/libc.so.6", true);
}

TEST(damaged_programs_of_aarch64_libc)
{
    check("/usr/aarch64-linux-gnu/lib/libc.so.6", true);
}

TEST(damaged_programs_without_a_search_table)
{
    check("/lib64/ld-linux-x86-64.so.2", false);
}
