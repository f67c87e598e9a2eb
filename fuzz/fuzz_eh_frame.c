// SPDX-License-Identifier: Apache-2.0
/* Call frame sections: list, look up, interpret, compile. The table must agree with the rule that
 * is read in place.
 *
 * Input: flags, size of .eh_frame_hdr in 4-byte units, then .eh_frame_hdr and the records. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "unwind_table.h"

enum { FLAG_AARCH64 = 1, FLAG_DEBUG_FRAME = 2 };

#define ADDRESSES_MAX 64

struct seen {
    uint64_t addresses[ADDRESSES_MAX];
    unsigned count;
    unsigned records;
};

static bool note_fde(void *ctx, uint64_t start, uint64_t end)
{
    struct seen *seen = ctx;
    FUZZ_MUST(start < end);
    if (seen->count + 4 <= ADDRESSES_MAX) {
        seen->addresses[seen->count++] = start;
        seen->addresses[seen->count++] = start + (end - start) / 2;
        seen->addresses[seen->count++] = end - 1;
        seen->addresses[seen->count++] = end;
    }
    return ++seen->records < 10000;
}

static void interpret(const struct sonde__cfi *cfi, unsigned arch, uint64_t vaddr)
{
    static struct sonde__cell cells[SONDE__PROGRAM_STATES * (SONDE__REG_COUNT + 1)];
    uint8_t cell_of[SONDE__REG_COUNT];
    struct sonde__program program;
    struct sonde__cfi_fde fde;
    unsigned rows = 0;
    for (unsigned i = 0; i < SONDE__REG_COUNT; i++) {
        cell_of[i] = (uint8_t)i;
    }
    if (!sonde__cfi_fde_find(cfi, arch, vaddr, &fde)) {
        return;
    }
    FUZZ_MUST(fde.start <= vaddr && vaddr < fde.end);
    sonde__program_init(&program, cfi, cell_of, cells, SONDE__REG_COUNT + 1);
    uint64_t at = fde.start;
    for (bool more = sonde__program_start(&program, &fde); more && rows < 10000; rows++) {
        more = sonde__program_next(&program);
        if (more) {
            FUZZ_MUST(program.row_start == at && program.row_end > at &&
                      program.row_end <= fde.end);
            at = program.row_end;
        }
    }
}

/* Compare every pc of a page with the rules in place; only without .eh_frame_hdr, whose order
 * nobody checks. */
static void compare(const struct sonde__cfi *cfi, unsigned arch, const struct seen *seen)
{
    const struct sonde__rules *table = NULL;
    size_t size = 0;
    if (sonde__unwind_rules_size(cfi, arch, &size) != SONDE_OK || size == 0 ||
        size > (size_t)256 << 20) {
        return;
    }
    void *memory = malloc(size);
    if (memory != NULL && sonde__unwind_rules_build(cfi, arch, memory, size, &table) == SONDE_OK) {
        FUZZ_MUST(sonde__unwind_rules_bytes(table) <= size);
        for (unsigned i = 0; i < seen->count; i++) {
            struct sonde__rule rule =
                sonde__compact_find(cfi, arch, SONDE__CFI_EH_FRAME, seen->addresses[i]);
            const struct sonde__rule *compiled = sonde__table_find(table, seen->addresses[i]);
            FUZZ_MUST(cfi->eh_frame_hdr != NULL || compiled->cfa == SONDE__RULE_OTHER ||
                      memcmp(&rule, compiled, sizeof rule) == 0);
        }
    }
    free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sonde__cfi cfi = {.eh_frame_vaddr = 0x2000, .eh_frame_hdr_vaddr = 0x1000};
    struct seen seen = {.count = 0};
    if (size < 2) {
        return 0;
    }
    unsigned arch = (data[0] & FLAG_AARCH64) != 0 ? SONDE_ARCH_AARCH64 : SONDE_ARCH_X86_64;
    size_t hdr_size = (size_t)data[1] * 4;
    bool is_debug = (data[0] & FLAG_DEBUG_FRAME) != 0;
    data += 2;
    size -= 2;
    if (hdr_size > size) {
        return 0;
    }
    if (hdr_size > 0) {
        cfi.eh_frame_hdr = data;
        cfi.eh_frame_hdr_size = hdr_size;
    }
    *(is_debug ? &cfi.debug_frame : &cfi.eh_frame) = data + hdr_size;
    *(is_debug ? &cfi.debug_frame_size : &cfi.eh_frame_size) = size - hdr_size;
    sonde__cfi_each_fde(&cfi, arch, note_fde, &seen);
    for (unsigned i = 0; i < seen.count; i++) {
        uint64_t start = 0;
        uint64_t end = 0;
        interpret(&cfi, arch, seen.addresses[i]);
        if (sonde__cfi_fde_bounds(&cfi, arch, seen.addresses[i], &start, &end)) {
            FUZZ_MUST(start <= seen.addresses[i] && seen.addresses[i] < end);
        }
    }
    compare(&cfi, arch, &seen);
    return 0;
}
