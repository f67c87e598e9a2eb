// SPDX-License-Identifier: Apache-2.0
/* Data symbols related to blocks: classes, and descriptors, whose names encode captures. Functions
 * are in the index of the image's names. */
#include <string.h>

#include "base_search.h"
#include "blockheap_inside.h"
#include "host_blocks.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "symfile_macho.h"

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

static void add_class(struct sonde__blockheap *heap, uint64_t address, const char *name)
{
    enum sonde__block_class kind = sonde__block_class_of(name);
    if (kind != SONDE__BLOCK_CLASS_OTHER && heap->class_count < BLOCKHEAP_CLASSES_MAX &&
        sonde__blockheap_class_at(heap, address) == NULL) {
        heap->classes[heap->class_count++] =
            (struct sonde__blockheap_class){address, (uint8_t)kind, 0};
    }
}

/* One symbol, if it is related to blocks. False: no memory. */
static bool add_symbol(struct sonde__blockheap *heap, uint64_t address, const char *name)
{
    if (name[0] != '_' && name[0] != 'O') {
        return true;
    }
    if (strncmp(name, "_NSConcrete", 11) == 0) {
        add_class(heap, address, name);
    } else if (strncmp(name, "__block_descriptor_", 19) != 0 &&
               strncmp(name, "OBJC_CLASS_$_", 13) != 0 && strncmp(name, "_OBJC_CLASS_", 12) != 0) {
        return true;
    }
    return SONDE__MEM_ADD(heap->symbols, heap->symbol_count, heap->symbol_capacity,
                          (struct blockheap_symbol){address, name});
}

static void add_symbols(struct reading *reading, const struct sonde__elf_symbols *table)
{
    struct sonde__elf_symbol symbol;
    for (uint32_t i = 1; i < table->count; i++) {
        if (sonde__elf_symbols_at(table, i, &symbol) && symbol.section != 0 &&
            !add_symbol(reading->heap, symbol.value + reading->bias, symbol.name)) {
            reading->status = SONDE_MEMORY;
            return;
        }
    }
}

/* Names of a Mach-O, without its leading underscore. */
static void add_macho_symbols(struct reading *reading, const struct sonde__macho *macho)
{
    struct sonde__macho_symbols table;
    struct sonde__macho_symbol symbol;
    for (uint32_t i = 0; sonde__macho_symbols(macho, &table) && i < table.count; i++) {
        if (sonde__macho_symbols_at(&table, i, &symbol) && symbol.section != 0 &&
            (symbol.type & SONDE__N_STAB) == 0 && symbol.name[0] == '_' &&
            !add_symbol(reading->heap, symbol.value + reading->bias, symbol.name + 1)) {
            reading->status = SONDE_MEMORY;
            return;
        }
    }
}

static void read_macho(struct reading *reading, const struct sonde__image *image)
{
    const struct sonde__symfile_macho *macho;
    reading->bias = image->bias;
    if (sonde__symfile_macho(reading->heap->symfile, image, &macho, NULL) == SONDE_OK) {
        add_macho_symbols(reading, &macho->own);
        if (macho->separate) {
            add_macho_symbols(reading, &macho->debug);
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
        read_macho(reading, image);
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

/* The classes of this process' runtime where the system gives their addresses; symbols would be in
 * no file there. */
static void add_own_classes(struct sonde__blockheap *heap)
{
    struct sonde__host_block_classes classes;
    if (heap->is_self && sonde__host_block_classes(&classes)) {
        add_class(heap, classes.stack, "_NSConcreteStackBlock");
        add_class(heap, classes.malloc, "_NSConcreteMallocBlock");
        add_class(heap, classes.global, "_NSConcreteGlobalBlock");
        for (uint32_t i = 0; i < heap->class_count; i++) {
            heap->classes[i].runtime = SONDE__BLOCK_RUNTIME_APPLE;
        }
    }
}

enum sonde_status blockheap_read_symbols(struct sonde__blockheap *heap)
{
    const struct sonde__image_set *set = sonde__target_images(heap->target);
    struct reading reading = {.heap = heap, .status = SONDE_OK};
    add_own_classes(heap);
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
    if (function.start == address - image->bias && function.name[0] != '\0') {
        return function.name;
    }
    return heap->is_self ? sonde__host_exported_name(address) : NULL;
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
