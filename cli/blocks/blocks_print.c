// SPDX-License-Identifier: Apache-2.0
/* Prints blocks as text: source place, type, captures. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sonde/block.h>

#include "base_text.h"
#include "blocks_image.h"
#include "cli_print.h"
#include "demangle.h"

static void print_sources(uint32_t sources)
{
    const char *comma = "";
    for (unsigned i = 0; i < BLOCKS_SOURCES; i++) {
        if ((sources >> i & 1) != 0) {
            printf("%s%s", comma, sonde_block_source_text(i));
            comma = ", ";
        }
    }
}

/* The variable's declaration; else the C++ type of an encoded name, if it can be decoded. */
static const char *type_text(const struct blocks_image *image, const struct blocks_capture *capture)
{
    static char name[SONDE__DEMANGLE_INPUT_MAX + 1], buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    if (capture->declaration[0] != '\0') {
        return capture->declaration;
    }
    if (capture->type == NULL || capture->type_size >= sizeof name) {
        return "";
    }
    memcpy(name, capture->type, capture->type_size);
    name[capture->type_size] = '\0';
    if (!image->raw && strncmp(name, "_ZTS", 4) == 0) {
        /* "typeinfo name for WTF::CString" */
        const char *decoded = sonde__demangle(name, buffer);
        const char *of = strstr(decoded, " for ");
        return of != NULL ? of + 5 : decoded;
    }
    return name;
}

/* Indent of an object's parts and of a box's content, whose offsets start at 0. */
enum { PART_INDENT = 2, BOX_INDENT = 4 };

struct widths {
    int kind, type;
};

static struct widths measure(const struct blocks_image *image, const struct blocks_desc *desc)
{
    struct widths widths = {0, 0};
    for (unsigned i = 0; i < desc->capture_count; i++) {
        int kind = (int)strlen(sonde_block_kind_text(desc->captures[i].kind)) +
                   (desc->captures[i].inside ? PART_INDENT : 0) +
                   (desc->captures[i].in_box ? BOX_INDENT : 0);
        int type = (int)strlen(type_text(image, &desc->captures[i]));
        widths.kind = kind > widths.kind ? kind : widths.kind;
        widths.type = type > widths.type && type <= 40 ? type : widths.type;
    }
    return widths;
}

static void print_capture(const struct blocks_image *image, const struct blocks_capture *capture,
                          const struct widths *widths)
{
    int part = capture->inside ? PART_INDENT : 0, box = capture->in_box ? BOX_INDENT : 0;
    printf("%*s+%-5" PRIu32 "%*s%-*s", 4 + box, "", capture->offset, part, "",
           widths->kind + 2 - part - box, sonde_block_kind_text(capture->kind));
    const char *text = type_text(image, capture);
    if (widths->type != 0 || text[0] != '\0') {
        int pad = widths->type - (int)strlen(text);
        sonde__cli_print_visible(stdout, text);
        printf("%*s", (pad > 0 ? pad : 0) + 2, "");
    }
    print_sources(capture->sources);
    if (capture->other_sources != 0) {
        printf("%s", capture->sources != 0 ? "; " : "");
        print_sources(capture->other_sources);
        printf("%s: %s", capture->sources != 0 ? "" : " alone",
               capture->has_other ? sonde_block_kind_text(capture->other) : "nothing");
    }
    putchar('\n');
}

/* Bytes that no source describes, mostly numbers or padding. */
static void print_gap(uint32_t begin, uint32_t end)
{
    if (begin < end) {
        printf("    +%-5" PRIu32 "%" PRIu32 " byte%s not known\n", begin, end - begin,
               end - begin == 1 ? "" : "s");
    }
}

/* Offset of the next capture after this one and its parts. */
static uint32_t next_offset(const struct blocks_desc *desc, unsigned capture)
{
    while (++capture < desc->capture_count &&
           (desc->captures[capture].inside || desc->captures[capture].in_box)) {
    }
    return capture < desc->capture_count ? desc->captures[capture].offset : desc->desc.size;
}

static void print_captures(const struct blocks_image *image, const struct blocks_desc *desc)
{
    struct widths widths = measure(image, desc);
    uint32_t at = SONDE__BLOCK_HEADER_BYTES;
    for (unsigned i = 0; i < desc->capture_count; i++) {
        const struct blocks_capture *capture = &desc->captures[i];
        /* without a size: a pointer, or an object of unknown size */
        bool open_end = capture->size == 0 && capture->kind == SONDE_BLOCK_OBJECT;
        uint32_t end = open_end ? next_offset(desc, i)
                                : capture->offset + (capture->size != 0 ? capture->size : 8);
        if (capture->in_box) {
            print_capture(image, capture, &widths);
            continue;
        }
        if (!capture->inside) {
            print_gap(at, capture->offset);
        }
        print_capture(image, capture, &widths);
        at = end > at ? end : at;
    }
    print_gap(at, desc->desc.size);
}

static void print_function(struct blocks_image *image, const struct sonde__blockfile_block *block)
{
    static struct blocks_function function;
    blocks_name_function(image, block->invoke, &function);
    if (function.place.file[0] != '\0') {
        sonde__cli_print_source(stdout, sonde__base_file_name(function.place.file),
                                function.place.line);
        printf("  ");
    }
    if (function.name[0] != '\0') {
        sonde__cli_print_visible(stdout, function.name);
    } else {
        printf("block with function 0x%" PRIx64, blocks_vaddr(image, block->invoke));
    }
    if (blocks_name_run(image, block, &function)) {
        printf("  runs ");
        if (function.name[0] != '\0') {
            sonde__cli_print_visible(stdout, function.name);
        } else {
            printf("0x%" PRIx64, blocks_vaddr(image, block->first));
        }
    }
    if (block->is_global) {
        printf("  (global, at 0x%" PRIx64 ")", blocks_vaddr(image, block->at));
    }
    putchar('\n');
}

static void print_constants(const char *constants)
{
    while (*constants != '\0') {
        char line[256];
        size_t length = strcspn(constants, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, constants);
        printf("    in code  ");
        sonde__cli_print_visible(stdout, line);
        putchar('\n');
        constants += length + (constants[length] != '\0');
    }
}

/* Type, size and captures, printed after the functions. */
static void print_rest(const struct blocks_image *image, const struct blocks_desc *desc,
                       const char *constants)
{
    printf("    ");
    sonde__cli_print_visible(stdout, desc->type[0] != '\0'       ? desc->type
                                     : desc->encoding[0] != '\0' ? desc->encoding
                                                                 : "type not known");
    printf("\n    %" PRIu32 " bytes, descriptor 0x%" PRIx64 "\n", desc->desc.size,
           blocks_vaddr(image, desc->found->vaddr));
    print_captures(image, desc);
    print_constants(constants);
    if (desc->found->flags_differ) {
        printf("    its blocks have different flags\n");
    }
    if (desc->problem != NULL) {
        printf("    %s\n", desc->problem);
    }
}

/* Blocks with one descriptor have the same captures and are shown together, except those with known
 * variables. */
static void print_desc(struct blocks_image *image, const struct sonde__blockfile_desc *found)
{
    static struct blocks_desc desc;
    static char constants[BLOCKS_CONSTANTS_BYTES];
    uint32_t together = 0;
    for (uint32_t i = 0; i < found->block_count; i++) {
        const struct sonde__blockfile_block *block = &image->file.blocks[found->first_block + i];
        blocks_describe(image, found, &desc);
        if (blocks_add_variables(image, &desc, block, constants)) {
            putchar('\n');
            print_function(image, block);
            print_rest(image, &desc, constants);
        } else {
            printf("%s", together++ == 0 ? "\n" : "");
            print_function(image, block);
        }
    }
    if (found->block_count == 0) {
        printf("\nblock of a function that was not found\n");
    }
    if (together != 0 || found->block_count == 0) {
        blocks_describe(image, found, &desc);
        print_rest(image, &desc, "");
    }
}

/* Functions whose blocks were not found. */
static void print_unmatched(struct blocks_image *image)
{
    static struct blocks_function function;
    uint32_t count = image->file.unmatched_count;
    if (count == 0) {
        return;
    }
    printf("\n%" PRIu32 " function%s like a block's and %s not matched: the code that makes the "
           "block was not understood\n",
           count, count == 1 ? " looks" : "s look", count == 1 ? "was" : "were");
    for (uint32_t i = 0; i < count; i++) {
        blocks_name_function(image, image->file.unmatched[i], &function);
        printf("    0x%" PRIx64 "  ", blocks_vaddr(image, image->file.unmatched[i]));
        sonde__cli_print_visible(stdout, function.name);
        putchar('\n');
    }
}

void blocks_print_image(struct blocks_image *image)
{
    sonde__cli_print_visible(stdout, image->path);
    if (image->member[0] != '\0') {
        putchar('(');
        sonde__cli_print_visible(stdout, image->member);
        putchar(')');
    }
    printf(" (%s): %" PRIu32 " descriptor%s, %" PRIu32 " block%s\n", image->arch,
           image->file.desc_count, image->file.desc_count == 1 ? "" : "s", image->file.block_count,
           image->file.block_count == 1 ? "" : "s");
    for (uint32_t i = 0; i < image->file.desc_count; i++) {
        print_desc(image, &image->file.descs[i]);
    }
    print_unmatched(image);
}
