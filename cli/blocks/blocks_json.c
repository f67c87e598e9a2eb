// SPDX-License-Identifier: Apache-2.0
/* Prints blocks as JSON (docs/guide/blocks-json.md). */
#include <stdio.h>

#include <sonde/block.h>

#include "blocks_image.h"
#include "cli_report.h"

static void put_text(struct sonde__json *json, const char *key, const char *text)
{
    sonde__json_string(json, key, text != NULL && text[0] != '\0' ? text : NULL);
}

/* A number, or null. */
static void put_uint(struct sonde__json *json, const char *key, uint64_t value, bool is_known)
{
    if (is_known) {
        sonde__json_uint(json, key, value);
    } else {
        sonde__json_string(json, key, NULL);
    }
}

static void put_address(struct sonde__json *json, const struct blocks_image *image, const char *key,
                        uint64_t address)
{
    sonde__json_hex(json, key, blocks_vaddr(image, address));
}

static void put_sources(struct sonde__json *json, uint32_t sources)
{
    sonde__json_array(json, "known_by");
    for (unsigned i = 0; i < BLOCKS_SOURCES; i++) {
        if ((sources >> i & 1) != 0) {
            sonde__json_string(json, NULL, sonde_block_source_text(i));
        }
    }
    sonde__json_close(json);
}

static void put_capture(struct sonde__json *json, const struct blocks_capture *capture)
{
    sonde__json_line(json, 8);
    sonde__json_object(json, NULL);
    sonde__json_uint(json, "offset", capture->offset);
    put_uint(json, "size", capture->size, capture->size != 0);
    sonde__json_string(json, "kind", sonde_block_kind_text(capture->kind));
    sonde__json_bool(json, "part", capture->inside);
    put_sources(json, capture->sources);
    if (capture->other_sources != 0) {
        sonde__json_object(json, "disagreement");
        sonde__json_string(json, "kind",
                           capture->has_other ? sonde_block_kind_text(capture->other) : NULL);
        put_sources(json, capture->other_sources);
        sonde__json_close(json);
    }
    if (capture->type != NULL) {
        char type[1024];
        snprintf(type, sizeof type, "%.*s", (int)capture->type_size, capture->type);
        put_text(json, "encoded_type", type);
    }
    sonde__json_close(json);
}

/* Null without debug information. */
static void put_variables(struct sonde__json *json, struct blocks_image *image, uint64_t invoke)
{
    static struct blocks_variable variable;
    struct blocks_variables variables = {0};
    bool any = false;
    while (
        blocks_next_variable(&image->places, blocks_vaddr(image, invoke), &variables, &variable)) {
        if (!any) {
            sonde__json_array(json, "variables");
            any = true;
        }
        sonde__json_object(json, NULL);
        put_text(json, "name", variable.capture.name);
        put_text(json, "type", variable.type);
        sonde__json_bool(json, "byref", variable.capture.is_byref);
        put_uint(json, "offset", variable.capture.offset, variable.capture.is_stored);
        sonde__json_uint(json, "size", variable.capture.size);
        sonde__json_close(json);
    }
    if (any) {
        sonde__json_close(json);
    } else {
        sonde__json_string(json, "variables", NULL);
    }
}

static void put_helper(struct sonde__json *json, struct blocks_image *image, const char *key,
                       uint64_t vaddr)
{
    if (vaddr == 0) {
        sonde__json_string(json, key, NULL);
        return;
    }
    sonde__json_object(json, key);
    put_address(json, image, "address", vaddr);
    put_text(json, "symbol", sonde__loaded_symbol_at(&image->loaded, vaddr));
    sonde__json_close(json);
}

/* The boxes of the block's __block variables, and their content. */
static void put_boxes(struct sonde__json *json, struct blocks_image *image,
                      const struct sonde__blockfile_desc *found,
                      const struct sonde__blockfile_block *block)
{
    static struct blocks_desc desc;
    static char constants[BLOCKS_CONSTANTS_BYTES];
    desc.capture_count = 0;
    if (image->file.box_count != 0) {
        blocks_describe(image, found, &desc);
        (void)blocks_add_variables(image, &desc, block, constants);
    }
    sonde__json_array(json, "boxes");
    for (unsigned i = 0; i < desc.capture_count; i++) {
        const struct sonde__blockfile_box *box = blocks_box(image, block, &desc.captures[i]);
        if (box == NULL) {
            continue;
        }
        sonde__json_line(json, 9);
        sonde__json_object(json, NULL);
        sonde__json_uint(json, "offset", box->offset);
        sonde__json_uint(json, "size", box->size);
        sonde__json_uint(json, "flags", box->flags);
        put_helper(json, image, "copy", box->copy);
        put_helper(json, image, "dispose", box->dispose);
        sonde__json_array(json, "captures");
        for (unsigned k = i + 1; k < desc.capture_count && desc.captures[k].in_box; k++) {
            put_capture(json, &desc.captures[k]);
        }
        sonde__json_close(json);
        sonde__json_close(json);
    }
    sonde__json_close(json);
}

static void put_block(struct sonde__json *json, struct blocks_image *image,
                      const struct sonde__blockfile_desc *found,
                      const struct sonde__blockfile_block *block)
{
    static struct blocks_function function;
    blocks_name_function(image, block->invoke, &function);
    sonde__json_line(json, 8);
    sonde__json_object(json, NULL);
    put_address(json, image, "function", block->invoke);
    put_text(json, "symbol", function.symbol);
    put_text(json, "name", function.name);
    put_text(json, "file", function.place.file);
    put_uint(json, "line", function.place.line, function.place.line != 0);
    sonde__json_string(json, "place", block->is_global ? "global" : "stack");
    put_address(json, image, block->is_global ? "literal" : "made_at", block->at);
    put_uint(json, "flags", block->flags, block->flags_known);
    if (blocks_name_run(image, block, &function)) {
        sonde__json_object(json, "runs");
        put_address(json, image, "function", block->first);
        put_text(json, "symbol", function.symbol);
        put_text(json, "name", function.name);
        sonde__json_close(json);
    }
    put_variables(json, image, block->invoke);
    put_boxes(json, image, found, block);
    sonde__json_close(json);
}

static void put_desc(struct sonde__json *json, struct blocks_image *image,
                     const struct blocks_desc *desc)
{
    static const char *const found_by[] = {"shape", "symbol", "block", "code"};
    const struct sonde__blockfile_desc *found = desc->found;
    sonde__json_line(json, 6);
    sonde__json_object(json, NULL);
    put_address(json, image, "address", found->vaddr);
    put_text(json, "symbol", found->symbol);
    sonde__json_array(json, "found_by");
    for (unsigned i = 0; i < sizeof found_by / sizeof found_by[0]; i++) {
        if ((found->found >> i & 1) != 0) {
            sonde__json_string(json, NULL, found_by[i]);
        }
    }
    sonde__json_close(json);
    sonde__json_uint(json, "size", desc->desc.size);
    sonde__json_uint(json, "flags", found->flags);
    sonde__json_bool(json, "flags_known", found->flags_known);
    put_text(json, "encoding", desc->encoding);
    put_text(json, "type", desc->type);
    put_helper(json, image, "copy", desc->desc.copy);
    put_helper(json, image, "dispose", desc->desc.dispose);
    put_text(json, "problem", desc->problem);
    sonde__json_line(json, 7);
    sonde__json_array(json, "blocks");
    for (uint32_t i = 0; i < found->block_count; i++) {
        put_block(json, image, found, &image->file.blocks[found->first_block + i]);
    }
    sonde__json_close(json);
    sonde__json_line(json, 7);
    sonde__json_array(json, "captures");
    for (unsigned i = 0; i < desc->capture_count; i++) {
        put_capture(json, &desc->captures[i]);
    }
    sonde__json_close(json);
    sonde__json_close(json);
}

void blocks_print_image_json(struct blocks_image *image, bool first)
{
    static struct blocks_function function;
    static struct blocks_desc desc;
    struct sonde__report_out out;
    struct sonde__json json;
    fputs(first ? "\n  " : ",\n  ", stdout);
    sonde__cli_json_begin(&json, &out);
    sonde__json_object(&json, NULL);
    put_text(&json, "file", image->path);
    put_text(&json, "member", image->member);
    put_text(&json, "arch", image->arch);
    put_text(&json, "damage", image->file.damage);
    sonde__json_array(&json, "descriptors");
    for (uint32_t i = 0; i < image->file.desc_count; i++) {
        blocks_describe(image, &image->file.descs[i], &desc);
        put_desc(&json, image, &desc);
    }
    sonde__json_close(&json);
    sonde__json_array(&json, "unmatched");
    for (uint32_t i = 0; i < image->file.unmatched_count; i++) {
        blocks_name_function(image, image->file.unmatched[i], &function);
        sonde__json_object(&json, NULL);
        put_address(&json, image, "function", image->file.unmatched[i]);
        put_text(&json, "symbol", function.symbol);
        put_text(&json, "name", function.name);
        sonde__json_close(&json);
    }
    sonde__json_close(&json);
    sonde__json_close(&json);
    sonde__report_out_flush(&out);
}
