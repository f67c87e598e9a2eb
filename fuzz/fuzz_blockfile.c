// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: blocks in a file of any content (ELF, Mach-O or an archive), and each descriptor's
 * text, names, layout and helpers. */
#include <string.h>

#include "base_text.h"
#include "block_helper.h"
#include "blockfile.h"
#include "fuzz.h"

enum { DESCS_MAX = 40, MEMBERS_MAX = 8 };

static volatile uint64_t sink;

static void read_desc(const struct sonde__block_memory *memory,
                      const struct sonde__blockfile_desc *found)
{
    static struct sonde__block_claim items[256];
    static struct sonde__block_work work;
    static char text[SONDE__BLOCK_TEXT_MAX], type[1024];
    struct sonde__block_claims claims = {.items = items, .capacity = 256};
    struct sonde__block_followed followed;
    struct sonde__block_desc desc;
    struct sonde__text out;
    size_t length;
    FUZZ_MUST(found->size >= SONDE__BLOCK_HEADER_BYTES);
    if (sonde__block_desc_read(memory, found->vaddr, found->flags, &desc) != SONDE_OK) {
        return;
    }
    if (desc.signature != 0 &&
        sonde__block_read_text(memory, desc.signature, text, sizeof text, &length)) {
        sonde__base_text_init(&out, type, sizeof type);
        (void)sonde__block_signature(text, length, NULL, &out);
    }
    if (desc.layout_form != SONDE__BLOCK_LAYOUT_NONE) {
        (void)sonde__block_layout_claims(memory, desc.layout_form, desc.layout,
                                         SONDE__BLOCK_HEADER_BYTES, desc.size,
                                         SONDE_BLOCK_BY_LAYOUT, &claims);
    }
    if (desc.dispose != 0) {
        sonde__block_helper_claims(memory, desc.dispose, SONDE__BLOCK_HELPER_DISPOSE,
                                   SONDE__BLOCK_HEADER_BYTES, desc.size, &work, &claims, &followed);
        sink += followed.steps;
    }
    for (size_t i = 0; i < claims.count; i++) {
        FUZZ_MUST(items[i].offset < desc.size);
    }
}

static void walk(struct sonde__loaded *loaded)
{
    struct sonde__block_memory memory;
    struct sonde__blockfile file;
    struct sonde_error error;
    uint64_t end = 0;
    for (uint32_t i = 0; i < loaded->area_count; i++) { /* sorted, without overlaps */
        FUZZ_MUST(loaded->areas[i].vaddr >= end);
        end = loaded->areas[i].vaddr + loaded->areas[i].size;
    }
    sonde__blockfile_memory(loaded, &memory);
    for (int by_symbols = 0; by_symbols < 2; by_symbols++) {
        if (sonde__blockfile_find(loaded, by_symbols != 0, &file, &error) != SONDE_OK) {
            continue;
        }
        for (uint32_t i = 0; i < file.desc_count && i < DESCS_MAX; i++) {
            read_desc(&memory, &file.descs[i]);
            FUZZ_MUST(file.descs[i].first_block + file.descs[i].block_count <= file.block_count);
        }
        sonde__blockfile_done(&file);
    }
    sonde__loaded_done(loaded);
}

/* Debug information of an object file, in addresses. */
static void relocate(struct sonde__loaded *loaded, const struct sonde__elf *elf)
{
    static const char name[] = ".debug_info";
    struct sonde__elf_section section;
    uint8_t bytes[256] = {0};
    if (sonde__elf_section_by_name(elf, name, &section) && section.data != NULL) {
        size_t size = section.size < sizeof bytes ? (size_t)section.size : sizeof bytes;
        memcpy(bytes, section.data, size);
        sonde__loaded_relocate(loaded, elf, name, bytes, size);
        sink += bytes[0];
    }
}

static bool see_member(void *ctx, const struct sonde__macho_member *member)
{
    unsigned *count = ctx;
    struct sonde__macho macho;
    struct sonde__elf elf;
    struct sonde__loaded loaded;
    struct sonde_error error;
    if (sonde__macho_open(member->data, member->size, &macho, &error) == SONDE_OK) {
        if (sonde__loaded_macho(&macho, &loaded, &error) == SONDE_OK) {
            walk(&loaded);
        }
    } else if (sonde__elf_open(member->data, member->size, &elf, &error) == SONDE_OK &&
               sonde__loaded_elf(&elf, &loaded, &error) == SONDE_OK) {
        relocate(&loaded, &elf);
        walk(&loaded);
    }
    return ++*count < MEMBERS_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sonde__macho_member whole = {.data = data, .size = size};
    struct sonde_error error;
    unsigned count = 0;
    if (sonde__archive_begins(data, size)) {
        (void)(sonde__archive_each(data, size, see_member, &count, &error) == SONDE_OK);
    } else {
        (void)see_member(&count, &whole);
    }
    return 0;
}
