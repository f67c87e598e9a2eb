// SPDX-License-Identifier: Apache-2.0
/* The same as JSON: docs/guide/blocks-json.md. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sonde/block.h>

#include "blocks_image.h"
#include "cli_print.h"

static void print_text(const char *key, const char *text)
{
    printf("\"%s\": ", key);
    if (text == NULL || text[0] == '\0') {
        printf("null");
    } else {
        sonde__cli_print_json_string(stdout, text);
    }
}

static void print_address(const struct blocks_image *image, const char *key, uint64_t address)
{
    printf("\"%s\": \"0x%" PRIx64 "\"", key, blocks_vaddr(image, address));
}

static void print_sources(const char *key, uint32_t sources)
{
    const char *comma = "";
    printf("\"%s\": [", key);
    for (unsigned i = 0; i < BLOCKS_SOURCES; i++) {
        if ((sources >> i & 1) != 0) {
            printf("%s\"%s\"", comma, sonde_block_source_text(i));
            comma = ", ";
        }
    }
    putchar(']');
}

static void print_capture(const struct blocks_capture *capture, bool first)
{
    printf("%s\n        {\"offset\": %" PRIu32 ", \"size\": ", first ? "" : ",", capture->offset);
    printf(capture->size != 0 ? "%" PRIu32 : "null", capture->size);
    printf(", \"kind\": \"%s\", \"part\": %s, ", sonde_block_kind_text(capture->kind),
           capture->inside ? "true" : "false");
    print_sources("known_by", capture->sources);
    if (capture->other_sources != 0) {
        printf(", \"disagreement\": {\"kind\": ");
        printf(capture->other_said ? "\"%s\", " : "null, ", sonde_block_kind_text(capture->other));
        print_sources("known_by", capture->other_sources);
        putchar('}');
    }
    if (capture->type != NULL) {
        char type[1024];
        snprintf(type, sizeof type, "%.*s", (int)capture->type_size, capture->type);
        printf(", ");
        print_text("encoded_type", type);
    }
    putchar('}');
}

/* From debug information: null where there is none. */
static void print_variables(struct blocks_image *image, uint64_t invoke)
{
    static struct blocks_variable variable;
    struct blocks_variables variables = {0};
    bool any = false;
    printf(", \"variables\": ");
    while (
        blocks_next_variable(&image->places, blocks_vaddr(image, invoke), &variables, &variable)) {
        printf("%s{", any ? ", " : "[");
        any = true;
        print_text("name", variable.capture.name);
        printf(", ");
        print_text("type", variable.type);
        printf(", \"byref\": %s, \"offset\": ", variable.capture.is_byref ? "true" : "false");
        printf(variable.capture.is_stored ? "%" PRIu64 : "null", variable.capture.offset);
        printf(", \"size\": %" PRIu64 "}", variable.capture.size);
    }
    printf("%s", any ? "]" : "null");
}

static void print_helper(struct blocks_image *image, const char *key, uint64_t vaddr);

/* The boxes of its __block variables, and what is in them. */
static void print_boxes(struct blocks_image *image, const struct sonde__blockfile_desc *found,
                        const struct sonde__blockfile_block *block)
{
    static struct blocks_desc desc;
    static char constants[BLOCKS_CONSTANTS_BYTES];
    bool any = false;
    printf(", \"boxes\": [");
    if (image->file.box_count != 0) {
        blocks_describe(image, found, &desc);
        (void)blocks_add_variables(image, &desc, block, constants);
        for (unsigned i = 0; i < desc.capture_count; i++) {
            const struct sonde__blockfile_box *box = blocks_box(image, block, &desc.captures[i]);
            if (box == NULL) {
                continue;
            }
            printf("%s\n         {\"offset\": %" PRIu32 ", \"size\": %" PRIu32
                   ", \"flags\": %" PRIu32,
                   any ? "," : "", box->offset, box->size, box->flags);
            print_helper(image, "copy", box->copy);
            print_helper(image, "dispose", box->dispose);
            printf(", \"captures\": [");
            for (unsigned k = i + 1; k < desc.capture_count && desc.captures[k].in_box; k++) {
                print_capture(&desc.captures[k], k == i + 1);
            }
            printf("]}");
            any = true;
        }
    }
    putchar(']');
}

static void print_block(struct blocks_image *image, const struct sonde__blockfile_desc *found,
                        const struct sonde__blockfile_block *block, bool first)
{
    static struct blocks_function function;
    blocks_name_function(image, block->invoke, &function);
    printf("%s\n        {", first ? "" : ",");
    print_address(image, "function", block->invoke);
    printf(", ");
    print_text("symbol", function.symbol);
    printf(", ");
    print_text("name", function.name);
    printf(", ");
    print_text("file", function.place.file);
    printf(", \"line\": ");
    printf(function.place.line != 0 ? "%" PRIu32 : "null", function.place.line);
    printf(", \"place\": \"%s\", ", block->is_global ? "global" : "stack");
    print_address(image, block->is_global ? "literal" : "made_at", block->at);
    printf(", \"flags\": ");
    printf(block->flags_known ? "%" PRIu32 : "null", block->flags);
    if (blocks_name_run(image, block, &function)) {
        printf(", \"runs\": {");
        print_address(image, "function", block->first);
        printf(", ");
        print_text("symbol", function.symbol);
        printf(", ");
        print_text("name", function.name);
        putchar('}');
    }
    print_variables(image, block->invoke);
    print_boxes(image, found, block);
    putchar('}');
}

static void print_helper(struct blocks_image *image, const char *key, uint64_t vaddr)
{
    printf(", \"%s\": ", key);
    if (vaddr == 0) {
        printf("null");
        return;
    }
    putchar('{');
    print_address(image, "address", vaddr);
    printf(", ");
    print_text("symbol", sonde__loaded_symbol_at(&image->loaded, vaddr));
    putchar('}');
}

static void print_desc(struct blocks_image *image, const struct blocks_desc *desc, bool first)
{
    static const char *const found_by[] = {"shape", "symbol", "block", "code"};
    const struct sonde__blockfile_desc *found = desc->found;
    const char *comma = "";
    printf("%s\n      {", first ? "" : ",");
    print_address(image, "address", found->vaddr);
    printf(", ");
    print_text("symbol", found->symbol);
    printf(", \"found_by\": [");
    for (unsigned i = 0; i < sizeof found_by / sizeof found_by[0]; i++) {
        if ((found->found >> i & 1) != 0) {
            printf("%s\"%s\"", comma, found_by[i]);
            comma = ", ";
        }
    }
    printf("], \"size\": %" PRIu32 ", \"flags\": %" PRIu32 ", \"flags_known\": %s, ",
           desc->desc.size, found->flags, found->flags_known ? "true" : "false");
    print_text("encoding", desc->encoding);
    printf(", ");
    print_text("type", desc->type);
    print_helper(image, "copy", desc->desc.copy);
    print_helper(image, "dispose", desc->desc.dispose);
    printf(", ");
    print_text("problem", desc->problem);
    printf(",\n       \"blocks\": [");
    for (uint32_t i = 0; i < found->block_count; i++) {
        print_block(image, found, &image->file.blocks[found->first_block + i], i == 0);
    }
    printf("],\n       \"captures\": [");
    for (unsigned i = 0; i < desc->capture_count; i++) {
        print_capture(&desc->captures[i], i == 0);
    }
    printf("]}");
}

void blocks_print_image_json(struct blocks_image *image, bool first)
{
    static struct blocks_function function;
    static struct blocks_desc desc;
    printf("%s\n  {", first ? "" : ",");
    print_text("file", image->path);
    printf(", ");
    print_text("member", image->member);
    printf(", ");
    print_text("arch", image->arch);
    printf(", ");
    print_text("damage", image->file.damage);
    printf(", \"descriptors\": [");
    for (uint32_t i = 0; i < image->file.desc_count; i++) {
        blocks_describe(image, &image->file.descs[i], &desc);
        print_desc(image, &desc, i == 0);
    }
    printf("], \"unmatched\": [");
    for (uint32_t i = 0; i < image->file.unmatched_count; i++) {
        printf("%s{\"function\": \"0x%" PRIx64 "\", ", i == 0 ? "" : ", ",
               blocks_vaddr(image, image->file.unmatched[i]));
        blocks_name_function(image, image->file.unmatched[i], &function);
        print_text("symbol", function.symbol);
        printf(", ");
        print_text("name", function.name);
        printf("}");
    }
    printf("]}");
}
