// SPDX-License-Identifier: Apache-2.0
#include "heap_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/block.h>

#include "base_search.h"
#include "base_text.h"
#include "cli_print.h"
#include "demangle.h"
#include "target.h"

bool heap_view_is_program(const struct heap_place *place, const char *operand)
{
    return place->core != NULL && place->program == NULL && (operand[0] < '0' || operand[0] > '9');
}

bool heap_view_parse_address(const char *text, uint64_t *ret_address)
{
    char *end;
    if (text[0] < '0' || text[0] > '9') { /* strtoull() would accept signs and blanks */
        return false;
    }
    *ret_address = strtoull(text, &end, 0);
    return *end == '\0' && *ret_address != 0;
}

void heap_view_function(struct heap_view *view, uint64_t pc, struct sonde__call *ret_function)
{
    const struct sonde__image *image = sonde__image_find(sonde__target_images(view->target), pc);
    struct sonde__answer *answer = &view->answer;
    const void *bytes = NULL;
    size_t size = 0;
    *ret_function = (struct sonde__call){"", "", 0};
    if (image == NULL) {
        return;
    }
    (void)sonde__target_image_bytes(view->target, image, &bytes, &size);
    sonde__symfile_ask(view->symfile, image, bytes, size, pc - image->bias, answer);
    if (answer->count > 0) {
        ret_function->file = answer->calls[answer->count - 1].file;
        ret_function->line = answer->calls[answer->count - 1].line;
    }
    const char *name = answer->function.name;
    if (name[0] != '\0') {
        char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
        snprintf(view->name, sizeof view->name, "%s", sonde__demangle(name, buffer));
        ret_function->name = view->name;
    }
}

void heap_view_print_function(struct heap_view *view, uint64_t pc)
{
    struct sonde__call function;
    heap_view_function(view, pc, &function);
    if (function.name[0] != '\0') {
        sonde__cli_print_visible(stdout, function.name);
    } else {
        printf("function 0x%" PRIx64, pc);
    }
    if (function.file[0] != '\0') {
        printf(" (");
        sonde__cli_print_source(stdout, sonde__base_file_name(function.file), function.line);
        putchar(')');
    }
}

const struct sonde__blockheap_item *heap_view_block(const struct heap_view *view, uint64_t address)
{
    size_t at = SONDE__SEARCH(0, view->found.count, i, view->found.items[i].address < address);
    return at < view->found.count && view->found.items[at].address == address
               ? &view->found.items[at]
               : NULL;
}

void heap_view_print_wrapped(struct heap_view *view, uint64_t address, uint32_t size)
{
    struct sonde__block_wrapped wrapped;
    if (!sonde__blockheap_unwrap(view->heap, address, size, &wrapped)) {
        return;
    }
    if (wrapped.form == SONDE__BLOCK_WRAPPED_DISPATCH) {
        printf(", which runs block 0x%" PRIx64 " ", wrapped.block);
    } else {
        printf(", which runs Swift's ");
    }
    heap_view_print_function(view, wrapped.function);
    if (wrapped.queue != 0) {
        printf(" on queue 0x%" PRIx64, wrapped.queue);
    }
    if (wrapped.context != 0) {
        printf(" with context 0x%" PRIx64, wrapped.context);
    }
}

void heap_view_print_value(struct heap_view *view, uint64_t value, bool is_known)
{
    const struct sonde__blockheap_item *block = heap_view_block(view, value);
    const struct sonde__block_memory *memory = sonde__blockheap_memory(view->heap);
    struct sonde__blockheap_object object;
    struct sonde__block_literal literal;
    if (value == 0) {
        printf("nil");
    } else if (block != NULL) {
        printf("block 0x%" PRIx64 " ", value);
        heap_view_print_function(view, block->invoke);
        heap_view_print_wrapped(view, value, block->size);
    } else if (value % 8 != 0) {
        printf("0x%" PRIx64 " (tagged)", value);
    } else if (is_known && sonde__block_literal_read(memory, value, &literal) == SONDE_OK &&
               sonde__blockheap_class_at(view->heap, literal.isa) != NULL) {
        printf("block 0x%" PRIx64 " ", value); /* a global one */
        heap_view_print_function(view, literal.invoke);
    } else if (is_known && sonde__blockheap_object_at(view->heap, value, &object)) {
        sonde__cli_print_visible(stdout, object.name);
        printf(" 0x%" PRIx64, value);
    } else {
        printf("0x%" PRIx64, value);
    }
}

const struct sonde__block_member *heap_view_variable(struct heap_view *view, uint64_t block,
                                                     uint32_t offset)
{
    const struct sonde__blockheap_item *item = heap_view_block(view, block);
    const struct sonde__blockheap_captures *captures =
        item != NULL
            ? sonde__blockheap_captures(view->heap, item->descriptor, item->flags, item->invoke)
            : NULL;
    for (uint32_t i = 0; captures != NULL && i < captures->count; i++) {
        const struct sonde__block_member *variable = captures->items[i].variable;
        if (variable != NULL && offset >= variable->offset &&
            offset - variable->offset < variable->size) {
            return variable;
        }
    }
    return NULL;
}
