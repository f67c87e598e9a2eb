// SPDX-License-Identifier: Apache-2.0
/* Names of frames. The symbolizer owns what it hands out: names lie in the symbol files that its
 * cache keeps open, paths are copied, because an image's own go with its snapshot. */
#include <sonde/symbol.h>

#include "base_mem.h"
#include "base_status.h"
#include "base_text.h"
#include "capture_images.h"
#include "demangle.h"
#include "mem_heap.h"
#include "symfile_cache.h"
#include "target_self.h"

enum { PC_DIGITS = 16 };

struct path {
    struct path *next;
    char text[];
};

struct sonde_symbolizer {
    struct sonde__symfile_cache *files;
    struct path *paths;
};

enum sonde_status sonde_symbolizer_create(struct sonde_symbolizer **ret_symbolizer)
{
    struct sonde_symbolizer *symbolizer = sonde__mem_alloc(sizeof *symbolizer);
    enum sonde_status status;
    if (symbolizer == NULL) {
        return SONDE_MEMORY;
    }
    symbolizer->paths = NULL;
    status = sonde__symfile_cache_create(NULL, &symbolizer->files);
    if (status != SONDE_OK) {
        sonde__mem_free(symbolizer);
        return status;
    }
    *ret_symbolizer = symbolizer;
    return SONDE_OK;
}

void sonde_symbolizer_destroy(struct sonde_symbolizer *symbolizer)
{
    if (symbolizer == NULL) {
        return;
    }
    while (symbolizer->paths != NULL) {
        struct path *path = symbolizer->paths;
        symbolizer->paths = path->next;
        sonde__mem_free(path);
    }
    sonde__symfile_cache_destroy(symbolizer->files);
    sonde__mem_free(symbolizer);
}

/* A process has some dozen images: a list is enough. Null: no memory. */
static const char *keep_path(struct sonde_symbolizer *symbolizer, const char *text)
{
    size_t size = sonde__base_str_length(text) + 1;
    struct path *path;
    for (path = symbolizer->paths; path != NULL; path = path->next) {
        if (sonde__base_str_compare(path->text, text) == 0) {
            return path->text;
        }
    }
    path = sonde__mem_alloc(sizeof *path + size);
    if (path == NULL) {
        return NULL;
    }
    sonde__base_mem_copy(path->text, text, size);
    path->next = symbolizer->paths;
    symbolizer->paths = path;
    return path->text;
}

static uint8_t name_source(uint8_t source)
{
    switch (source) {
    case SONDE__SYMBOL_SYMTAB:
        return SONDE_NAME_SYMTAB;
    case SONDE__SYMBOL_DYNSYM:
        return SONDE_NAME_DYNSYM;
    case SONDE__SYMBOL_PLT:
        return SONDE_NAME_PLT;
    default:
        return SONDE_NAME_NONE;
    }
}

static enum sonde_status name_in_image(struct sonde_symbolizer *symbolizer,
                                       const struct sonde__image *image, uint64_t pc,
                                       uint64_t lookup_pc, struct sonde_symbol *symbol)
{
    /* the vdso is whole in memory and has no file */
    bool is_vdso = (image->flags & SONDE__IMAGE_VDSO) != 0;
    const void *memory = is_vdso ? (const void *)(uintptr_t)image->start : NULL;
    const struct sonde__symbol_index *index;
    struct sonde__symbol found;
    enum sonde_status status;
    symbol->image = keep_path(symbolizer, image->path);
    if (symbol->image == NULL) {
        return SONDE_MEMORY;
    }
    symbol->image_offset = pc - image->bias;
    status = sonde__symfile_index(symbolizer->files, image, memory,
                                  is_vdso ? (size_t)(image->end - image->start) : 0, &index, NULL);
    if (status == SONDE_OK && sonde__symbol_find(index, lookup_pc - image->bias, &found) &&
        found.name[0] != '\0') {
        symbol->name = found.name;
        symbol->name_offset = pc - image->bias - found.start;
        symbol->source = name_source(found.source);
    }
    return status == SONDE_MEMORY ? SONDE_MEMORY : SONDE_OK;
}

enum sonde_status sonde_symbolize(struct sonde_symbolizer *symbolizer,
                                  const struct sonde_stack *stack, uint32_t index,
                                  struct sonde_symbol *ret_symbol)
{
    struct sonde_symbol symbol = {.name = "", .image = ""};
    struct sonde__capture_pin pin;
    const struct sonde__image *image;
    uint64_t lookup_pc;
    enum sonde_status status;
    if (symbolizer == NULL || stack == NULL || ret_symbol == NULL || index >= stack->count) {
        return SONDE_USAGE;
    }
    SONDE_TRY(sonde__target_self_refresh(false));
    lookup_pc = sonde_stack_lookup_pc(stack, index);
    symbol.image_offset = stack->pcs[index];
    pin = sonde__capture_pin();
    image = sonde__image_find(pin.images, lookup_pc);
    status = image == NULL
                 ? SONDE_OK
                 : name_in_image(symbolizer, image, stack->pcs[index], lookup_pc, &symbol);
    sonde__capture_unpin(pin);
    if (status == SONDE_OK) {
        *ret_symbol = symbol;
    }
    return status;
}

enum sonde_status sonde_name_demangle(const char *name, char *text, size_t size_bytes)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    struct sonde__text out;
    const char *shown;
    if (name == NULL || text == NULL || size_bytes == 0) {
        return SONDE_USAGE;
    }
    shown = sonde__demangle(name, buffer);
    sonde__base_text_init(&out, text, size_bytes);
    sonde__base_text_str(&out, shown);
    if (out.cut) {
        return SONDE_LIMIT;
    }
    return shown == name ? SONDE_ABSENT : SONDE_OK;
}

static const char *last_part(const char *path)
{
    const char *part = path;
    for (; *path != '\0'; path++) {
        if (*path == '/' && path[1] != '\0') {
            part = path + 1;
        }
    }
    return part;
}

static void put_frame(struct sonde__text *text, const struct sonde_stack *stack, uint32_t index,
                      const struct sonde_symbol *symbol)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    unsigned found = stack->how[index] & SONDE_HOW_FOUND_MASK;
    sonde__base_text_char(text, '#');
    sonde__base_text_dec(text, index < stack->lost_at ? index : index + stack->lost_count);
    sonde__base_text_str(text, index < 10 ? "  0x" : " 0x");
    sonde__base_text_hex(text, stack->pcs[index], PC_DIGITS);
    sonde__base_text_str(text, "  ");
    if (symbol->name[0] != '\0') {
        sonde__base_text_str(text, sonde__demangle(symbol->name, buffer));
        sonde__base_text_str(text, symbol->source == SONDE_NAME_PLT ? "@plt+0x" : "+0x");
        sonde__base_text_hex(text, symbol->name_offset, 0);
        sonde__base_text_str(text, "  ");
        sonde__base_text_str(text, last_part(symbol->image));
    } else if (symbol->image[0] != '\0') {
        sonde__base_text_str(text, last_part(symbol->image));
        sonde__base_text_str(text, "+0x");
        sonde__base_text_hex(text, symbol->image_offset, 0);
    } else {
        sonde__base_text_str(text, "(no image)");
    }
    if (found != SONDE_FOUND_REGISTERS && found != SONDE_FOUND_CFI) {
        sonde__base_text_str(text, "  by ");
        sonde__base_text_str(text, sonde_found_text((enum sonde_found_by)found));
    }
    sonde__base_text_char(text, '\n');
}

enum sonde_status sonde_stack_format(struct sonde_symbolizer *symbolizer,
                                     const struct sonde_stack *stack, char *text, size_t size_bytes,
                                     size_t *ret_length)
{
    struct sonde__text out;
    if (symbolizer == NULL || stack == NULL || text == NULL || size_bytes == 0) {
        return SONDE_USAGE;
    }
    sonde__base_text_init(&out, text, size_bytes);
    for (uint32_t i = 0; i < stack->count; i++) {
        struct sonde_symbol symbol;
        if (i == stack->lost_at) {
            sonde__base_text_str(&out, "    ");
            sonde__base_text_dec(&out, stack->lost_count);
            sonde__base_text_str(&out, " frames left out\n");
        }
        SONDE_TRY(sonde_symbolize(symbolizer, stack, i, &symbol));
        put_frame(&out, stack, i, &symbol);
    }
    if (stack->end != SONDE_END_ROOT) {
        sonde__base_text_str(&out, "    ended: ");
        sonde__base_text_str(&out, sonde_end_text((enum sonde_end_reason)stack->end));
        sonde__base_text_str(&out, "\n");
    }
    if (ret_length != NULL) {
        *ret_length = out.length;
    }
    return out.cut ? SONDE_LIMIT : SONDE_OK;
}
