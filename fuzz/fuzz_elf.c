// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: an ELF of any content, as a file and as a loaded image. Walks everything that the
 * reader offers, builds and queries an index, and reads every string to its end. */
#include "fuzz.h"
#include "fuzz_read.h"
#include "image_cfi.h"
#include "image_elf.h"
#include "image_elf_versions.h"
#include "symbol_index.h"

/* Limit of items per table: a table may have as many as the input has bytes. */
#define WALKED_MAX 300u
/* Limit of segments, each of which is looked up among all. */
#define SEGMENTS_MAX 16u

static volatile uint64_t sink;

static bool see_note(void *ctx, const char *owner, uint32_t type, const uint8_t *data, size_t size)
{
    unsigned *count = ctx;
    sink += type;
    fuzz_read_string(owner);
    fuzz_read_bytes(data, size);
    return ++*count < WALKED_MAX;
}

static void walk_symbols(const struct sonde__elf_symbols *symbols)
{
    struct sonde__elf_symbol symbol;
    for (uint32_t i = 0; i < WALKED_MAX && sonde__elf_symbols_at(symbols, i, &symbol); i++) {
        fuzz_read_string(symbol.name);
    }
    if (symbols->count != 0 && sonde__elf_symbols_at(symbols, symbols->count - 1, &symbol)) {
        fuzz_read_string(symbol.name);
    }
}

static void walk_elf(const struct sonde__elf *elf)
{
    struct sonde__elf_segment segment;
    struct sonde__elf_section section;
    struct sonde__elf_symbols symbols;
    struct sonde__elf_versions versions;
    struct sonde__elf_symbol symbol;
    struct sonde__build_id id;
    struct sonde__cfi cfi;
    const char *name;
    uint32_t crc;
    unsigned notes = 0;
    for (uint32_t i = 0; i < SEGMENTS_MAX && sonde__elf_segment(elf, i, &segment); i++) {
        uint64_t left = 0;
        const uint8_t *at = sonde__elf_from_vaddr(elf, segment.vaddr, &left);
        fuzz_read_bytes(at, left);
        fuzz_read_bytes(sonde__elf_at_vaddr(elf, segment.vaddr, segment.filesz), segment.filesz);
    }
    for (uint32_t i = 0; i < WALKED_MAX && sonde__elf_section(elf, i, &section); i++) {
        fuzz_read_string(section.name);
        fuzz_read_bytes(section.data, section.size);
        if (sonde__elf_symbols(elf, &section, &symbols)) {
            walk_symbols(&symbols);
            (void)sonde__elf_symbol(elf, &section, 1, &symbol);
        }
    }
    if (sonde__elf_dynamic_symbols(elf, &symbols)) {
        walk_symbols(&symbols);
        sonde__elf_versions(elf, &versions);
        for (uint32_t i = 0; i < symbols.count && i < 2000; i++) {
            const char *version = sonde__elf_version(&versions, i);
            fuzz_read_string(version != NULL ? version : "");
        }
    }
    sonde__elf_each_note(elf, see_note, &notes);
    (void)sonde__elf_build_id(elf, &id);
    if (sonde__elf_debuglink(elf, &name, &crc)) {
        fuzz_read_string(name);
    }
    if (sonde__elf_debugaltlink(elf, &name, &id)) {
        fuzz_read_string(name);
    }
    if (sonde__elf_cfi(elf, &cfi)) {
        uint64_t start, end;
        fuzz_read_bytes(cfi.eh_frame, cfi.eh_frame_size);
        fuzz_read_bytes(cfi.eh_frame_hdr, cfi.eh_frame_hdr_size);
        fuzz_read_bytes(cfi.debug_frame, cfi.debug_frame_size);
        (void)sonde__cfi_fde_bounds(&cfi, 0, elf->entry, &start, &end);
    }
}

static void walk_index(const struct sonde__elf *elf, const struct sonde__elf *debug)
{
    struct sonde__symbol_index *index = NULL;
    struct sonde__symbol symbol;
    struct sonde_error error;
    uint64_t start, end;
    if (sonde__symbol_index_create(elf, debug, &index, &error) != SONDE_OK) {
        return;
    }
    if (sonde__elf_text_range(elf, &start, &end)) {
        uint64_t step = (end - start) / 50 + 1;
        for (uint64_t vaddr = start; vaddr < end && vaddr >= start; vaddr += step) {
            if (sonde__symbol_find(index, vaddr, &symbol)) {
                FUZZ_MUST(vaddr >= symbol.start && vaddr < symbol.end);
                fuzz_read_string(symbol.name);
            }
        }
    }
    sonde__symbol_index_destroy(index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sonde__elf file, image;
    struct sonde_error error;
    if (sonde__elf_open(data, size, &file, &error) == SONDE_OK) {
        walk_elf(&file);
        walk_index(&file, (data[size - 1] & 1) != 0 ? &file : NULL);
    }
    if (sonde__elf_open_image(data, size, 0x7f0000000000u, &image, &error) == SONDE_OK) {
        walk_elf(&image);
        walk_index(&image, NULL);
    }
    return 0;
}
