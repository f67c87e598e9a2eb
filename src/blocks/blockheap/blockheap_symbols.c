// SPDX-License-Identifier: Apache-2.0
/* Data symbols related to blocks: classes, and descriptors, whose names encode captures. Functions
 * are in the index of the image's names. */
#include <string.h>

#include "base_search.h"
#include "blockheap_inside.h"
#include "mem_heap.h"
#include "mem_sort.h"

struct reading {
    struct sonde__blockheap *heap;
    const struct sonde__elf *elf;
    uint64_t bias;
    uint32_t first_class; /* of this image */
    enum sonde_status status;
};

static bool table_has(const struct sonde__elf_symbols *table, const char *name)
{
    struct sonde__elf_symbol symbol;
    for (uint32_t i = 1; i < table->count; i++) {
        if (sonde__elf_symbols_at(table, i, &symbol) && symbol.section != 0 &&
            strcmp(symbol.name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Does this image define the symbol? */
static bool image_has(void *ctx, const char *name)
{
    const struct reading *reading = ctx;
    struct sonde__elf_section section;
    struct sonde__elf_symbols table;
    return (sonde__elf_dynamic_symbols(reading->elf, &table) && table_has(&table, name)) ||
           (sonde__elf_section_by_type(reading->elf, SONDE__SHT_SYMTAB, &section) &&
            sonde__elf_symbols(reading->elf, &section, &table) && table_has(&table, name));
}

const struct sonde__blockheap_class *sonde__blockheap_class_at(const struct sonde__blockheap *heap,
                                                               uint64_t address)
{
    for (uint32_t i = 0; i < heap->class_count; i++) {
        if (heap->classes[i].address == address) {
            return &heap->classes[i];
        }
    }
    return NULL;
}

static void add_class(struct reading *reading, uint64_t address, const char *name)
{
    struct sonde__blockheap *heap = reading->heap;
    enum sonde__block_class kind = sonde__block_class_of(name);
    if (kind != SONDE__BLOCK_CLASS_OTHER && heap->class_count < BLOCKHEAP_CLASSES_MAX &&
        sonde__blockheap_class_at(heap, address) == NULL) {
        heap->classes[heap->class_count++] =
            (struct sonde__blockheap_class){address, (uint8_t)kind, 0};
    }
}

static void add_symbols(struct reading *reading, const struct sonde__elf_symbols *table)
{
    struct sonde__blockheap *heap = reading->heap;
    struct sonde__elf_symbol symbol;
    for (uint32_t i = 1; i < table->count; i++) {
        if (!sonde__elf_symbols_at(table, i, &symbol) || symbol.section == 0 ||
            (symbol.name[0] != '_' && symbol.name[0] != 'O')) {
            continue;
        }
        uint64_t address = symbol.value + reading->bias;
        if (strncmp(symbol.name, "_NSConcrete", 11) == 0) {
            add_class(reading, address, symbol.name);
        } else if (strncmp(symbol.name, "__block_descriptor_", 19) != 0 &&
                   strncmp(symbol.name, "OBJC_CLASS_$_", 13) != 0 &&
                   strncmp(symbol.name, "_OBJC_CLASS_", 12) != 0) {
            continue;
        }
        if (!SONDE__MEM_ADD(heap->symbols, heap->symbol_count, heap->symbol_capacity,
                            (struct blockheap_symbol){address, symbol.name})) {
            reading->status = SONDE_MEMORY;
            return;
        }
    }
}

static void read_image(struct reading *reading, const struct sonde__image *image)
{
    struct sonde__elf_section section;
    struct sonde__elf_symbols table;
    const void *bytes = NULL;
    size_t size = 0;
    (void)sonde__target_image_bytes(reading->heap->target, image, &bytes, &size);
    if (sonde__symfile_elf(reading->heap->symfile, image, bytes, size, &reading->elf, NULL) !=
        SONDE_OK) {
        return;
    }
    reading->bias = image->bias;
    reading->first_class = reading->heap->class_count;
    if (sonde__elf_section_by_type(reading->elf, SONDE__SHT_SYMTAB, &section) &&
        sonde__elf_symbols(reading->elf, &section, &table)) {
        add_symbols(reading, &table);
    }
    if (sonde__elf_dynamic_symbols(reading->elf, &table)) {
        add_symbols(reading, &table);
    }
    if (reading->heap->class_count > reading->first_class) {
        enum sonde__block_runtime runtime = sonde__block_runtime_of(image_has, reading);
        for (uint32_t i = reading->first_class; i < reading->heap->class_count; i++) {
            reading->heap->classes[i].runtime = (uint8_t)runtime;
        }
    }
}

/* The linker can copy a class into a program that is not position-independent and has no runtime of
 * its own. Then another image's runtime applies. */
static void share_runtime(struct sonde__blockheap *heap)
{
    uint8_t known = SONDE__BLOCK_RUNTIME_UNKNOWN;
    for (uint32_t i = 0; i < heap->class_count; i++) {
        known = known == SONDE__BLOCK_RUNTIME_UNKNOWN ? heap->classes[i].runtime : known;
    }
    for (uint32_t i = 0; i < heap->class_count; i++) {
        if (heap->classes[i].runtime == SONDE__BLOCK_RUNTIME_UNKNOWN) {
            heap->classes[i].runtime = known;
        }
    }
}

enum sonde_status blockheap_read_symbols(struct sonde__blockheap *heap)
{
    const struct sonde__image_set *set = sonde__target_images(heap->target);
    struct reading reading = {.heap = heap, .status = SONDE_OK};
    for (uint32_t i = 0; i < set->image_count && reading.status == SONDE_OK; i++) {
        read_image(&reading, &set->images[i]);
    }
    share_runtime(heap);
    SONDE__SORT_BY(heap->symbols, heap->symbol_count, address);
    return reading.status;
}

static const char *function_at(struct sonde__blockheap *heap, uint64_t address)
{
    const struct sonde__image *image =
        sonde__image_find(sonde__target_images(heap->target), address);
    struct sonde__function function;
    const void *bytes = NULL;
    size_t size = 0;
    if (image == NULL) {
        return NULL;
    }
    (void)sonde__target_image_bytes(heap->target, image, &bytes, &size);
    sonde__symfile_function(heap->symfile, image, bytes, size, address - image->bias, &function);
    return function.start == address - image->bias && function.name[0] != '\0' ? function.name
                                                                               : NULL;
}

const char *blockheap_name_at(struct sonde__blockheap *heap, uint64_t address)
{
    if (heap->target == NULL) { /* the caller knows */
        return heap->memory.name != NULL ? heap->memory.name(heap->memory.ctx, address) : NULL;
    }
    size_t at = SONDE__SEARCH(0, heap->symbol_count, i, heap->symbols[i].address < address);
    return at < heap->symbol_count && heap->symbols[at].address == address
               ? heap->symbols[at].name
               : function_at(heap, address);
}
