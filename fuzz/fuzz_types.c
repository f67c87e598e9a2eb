// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: debug information of any content. Queries types by many names, with all members,
 * texts and functions, and blocks. Results keep the promises of the headers, and the queries
 * end. */
#include <string.h>

#include "fuzz.h"
#include "image_elf.h"
#include "image_macho.h"
#include "types.h"
#include "types_block.h"

enum { TEXT_BYTES = 512, CHILDREN_MAX = 200, FOUND_MAX = 40 };

static void read_text(struct sonde__types *types, struct sonde__type_ref ref)
{
    char text[TEXT_BYTES];
    uint64_t size;
    uint32_t line;
    memset(text, 1, sizeof text);
    enum sonde_status status = sonde__type_text(types, ref, "name", text, sizeof text);
    FUZZ_MUST(memchr(text, 0, sizeof text) != NULL);
    FUZZ_MUST(status != SONDE_OK || strlen(text) >= 5);
    status = sonde__type_qualified_name(types, ref, text, 7);
    FUZZ_MUST(memchr(text, 0, 7) != NULL);
    (void)sonde__type_size(types, ref, &size);
    (void)sonde__type_declared_at(types, ref, text, sizeof text, &line);
    (void)status;
}

static void read_members(struct sonde__types *types, struct sonde__type_ref ref, unsigned depth)
{
    struct sonde__type_cursor cursor;
    struct sonde__type_member member;
    struct sonde__type_enumerator enumerator;
    uint64_t count;
    if (sonde__type_children(types, ref, &cursor) == SONDE_OK) {
        for (int i = 0; i < CHILDREN_MAX; i++) {
            if (sonde__type_next_member(types, &cursor, &member) != SONDE_OK) {
                break;
            }
            read_text(types, member.type);
            if (depth < 3 && member.type.die != 0) {
                read_members(types, member.type, depth + 1);
            }
        }
    }
    if (sonde__type_children(types, ref, &cursor) == SONDE_OK) {
        for (int i = 0; i < CHILDREN_MAX; i++) {
            if (sonde__type_next_enumerator(types, &cursor, &enumerator) != SONDE_OK) {
                break;
            }
            FUZZ_MUST(enumerator.name != NULL);
        }
    }
    if (sonde__type_children(types, ref, &cursor) == SONDE_OK) {
        for (int i = 0; i < CHILDREN_MAX; i++) {
            if (sonde__type_next_dimension(types, &cursor, &count) != SONDE_OK) {
                break;
            }
        }
    }
}

struct found {
    struct sonde__types *types;
    unsigned count;
};

static bool take(void *ctx, const struct sonde__type *type)
{
    struct found *found = ctx;
    struct sonde__type other;
    FUZZ_MUST(type->self.die != 0);
    read_text(found->types, type->self);
    read_members(found->types, type->self, 0);
    (void)(sonde__type_strip(found->types, type->self, &other) == SONDE_OK);
    return ++found->count < FOUND_MAX;
}

static void read_function(struct sonde__types *types, uint64_t vaddr)
{
    struct sonde__type_function function;
    struct sonde__types_block block;
    struct sonde__types_captures captures = {0};
    struct sonde__types_capture capture;
    char text[TEXT_BYTES];
    if (sonde__types_function_at(types, vaddr, &function) != SONDE_OK) {
        return;
    }
    FUZZ_MUST(function.low < function.high);
    (void)(sonde__type_function_text(types, &function, text, sizeof text) == SONDE_OK);
    FUZZ_MUST(memchr(text, 0, sizeof text) != NULL);
    if (sonde__types_block_of(types, &function, &block) != SONDE_OK) {
        return;
    }
    for (int i = 0; i < CHILDREN_MAX; i++) {
        if (sonde__types_next_capture(types, &block, &captures, &capture) != SONDE_OK) {
            break;
        }
        read_text(types, capture.type);
    }
}

static void read_all(const struct sonde__dwarf_sections *sections, uint64_t code)
{
    static const char *const names[] = {"int",  "struct S", "ns::A",       "A",
                                        "B",    "adder",    "point",       "L",
                                        "name", "char",     "struct point"};
    struct sonde__types_source source = {.sections = sections};
    struct found found = {0};
    if (sonde__types_open(&source, &found.types) != SONDE_OK) {
        return;
    }
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        found.count = 0;
        (void)(sonde__types_find(found.types, names[i], take, &found) == SONDE_OK);
    }
    for (uint64_t at = 0; at < 64; at++) {
        read_function(found.types, code + at * 24);
    }
    sonde__types_close(found.types);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sonde__elf elf;
    struct sonde__macho macho;
    struct sonde_error error;
    struct sonde__elf_section text;
    struct sonde__dwarf_sections sections;
    if (sonde__elf_open(data, size, &elf, &error) == SONDE_OK) {
        (void)sonde__dwarf_sections_of_elf(&elf, &sections);
        bool known = sonde__elf_section_by_name(&elf, ".text", &text);
        read_all(&sections, known ? text.vaddr : 0x1000);
    } else if (sonde__macho_open(data, size, &macho, &error) == SONDE_OK) {
        (void)sonde__dwarf_sections_of_macho(&macho, &sections);
        read_all(&sections, 0x300);
    }
    return 0;
}
