// SPDX-License-Identifier: Apache-2.0
#include "symbolize_print.h"

#include <inttypes.h>

#include "cli_fit.h"
#include "cli_print.h"
#include "cli_report.h"
#include "demangle.h"
#include "report_view.h"

static bool is_jit(const struct sonde__answer *names)
{
    return names->function.source == SONDE__NAME_JIT;
}

void symbolize_print_inside(bool raw, const struct symbolize_answer *answer)
{
    const struct sonde__answer *names = &answer->names;
    printf(" [");
    if (is_jit(names)) {
        sonde__cli_print_visible(stdout, names->function.name);
    }
    for (uint32_t i = 0; i < names->count; i++) {
        if (i > 0) {
            printf(", inlined into ");
        }
        sonde__cli_print_call(stdout, raw, &names->calls[i], " at ");
    }
    putchar(']');
}

void symbolize_print_block(bool raw, const char *asked, const struct symbolize_answer *answer)
{
    const struct sonde__answer *names = &answer->names;
    sonde__cli_fit_output();
    sonde__cli_print_visible(stdout, asked);
    putchar('\n');
    for (uint32_t i = 0; i < names->count; i++) {
        printf("  ");
        sonde__cli_print_call(stdout, raw, &names->calls[i], "  ");
        printf("%s\n", i + 1 < names->count ? "  " SONDE__REPORT_MARK_INLINED : "");
    }
    if (is_jit(names)) {
        printf("  ");
        sonde__cli_print_visible(stdout, names->function.name);
        printf("  [JIT]\n");
    } else if (names->count == 0) {
        printf("  ??\n");
    }
}

static void json_frames(struct sonde__json *json, const char *key, bool raw,
                        const struct sonde__answer *names)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    sonde__json_array(json, key);
    for (uint32_t i = 0; i < names->count; i++) {
        const struct sonde__call *call = &names->calls[i];
        sonde__json_object(json, NULL);
        sonde__json_string(json, "function",
                           raw ? call->name : sonde__demangle(call->name, buffer));
        sonde__json_string(json, "raw_name", call->name);
        sonde__json_string(json, "file", call->file);
        sonde__json_uint(json, "line", call->line);
        sonde__json_bool(json, "inlined", i + 1 < names->count);
        sonde__json_close(json);
    }
    sonde__json_close(json);
}

void symbolize_print_frames_json(bool raw, const struct sonde__answer *names)
{
    struct sonde__report_out out;
    struct sonde__json json;
    sonde__cli_json_begin(&json, &out);
    json_frames(&json, NULL, raw, names);
    sonde__report_out_flush(&out);
}

/* The frame of a tail call. */
static const struct symbolize_answer *tail_call(const struct symbolize_images *images,
                                                const struct sonde__tail_place *place)
{
    static struct symbolize_answer inferred;
    inferred.image = symbolize_image_at(images, place->image);
    inferred.vaddr = place->vaddr;
    symbolize_find_names(inferred.image, inferred.vaddr, &inferred.names);
    return &inferred;
}

static void json_tail_calls(struct sonde__json *json, const struct symbolize_images *images,
                            bool raw, const struct sonde__tail_frames *tails)
{
    sonde__json_array(json, "tail_calls");
    if (tails->ways != 0) {
        sonde__json_object(json, NULL);
        sonde__json_uint(json, "alternatives", tails->ways);
        sonde__json_close(json);
    }
    for (uint32_t i = 0; i < tails->count; i++) {
        const struct symbolize_answer *call = tail_call(images, &tails->places[i]);
        sonde__json_object(json, NULL);
        sonde__json_string(json, "image", call->image->name);
        sonde__json_hex(json, "vaddr", call->vaddr);
        json_frames(json, "frames", raw, &call->names);
        if (tails->is_possible) {
            sonde__json_bool(json, "possible", true);
        }
        sonde__json_close(json);
    }
    sonde__json_close(json);
}

void symbolize_print_json(const struct symbolize_images *images, bool raw, bool is_first,
                          const char *asked, size_t size, const struct symbolize_answer *answer)
{
    const struct sonde__answer *names = &answer->names;
    char id[SONDE__SYMFILE_ID_TEXT];
    char text[SYMBOLIZE_LINE_BYTES];
    struct sonde__report_out out;
    struct sonde__json json;
    fputs(is_first ? "\n  " : ",\n  ", stdout);
    sonde__cli_json_begin(&json, &out);
    sonde__json_object(&json, NULL);
    snprintf(text, sizeof text, "%.*s", (int)(size < sizeof text ? size : sizeof text - 1), asked);
    sonde__json_string(&json, "input", text);
    if (answer->image != NULL) {
        sonde__symfile_id_text(&answer->image->index.index.build_id, id);
        sonde__json_string(&json, "image", answer->image->name);
        sonde__json_string(&json, "build_id", id);
        sonde__json_hex(&json, "vaddr", answer->vaddr);
    }
    if (is_jit(names)) {
        sonde__json_hex(&json, "address", answer->vaddr);
        sonde__json_string(&json, "jit", names->function.name);
    }
    if (names->tails.count != 0 || names->tails.ways != 0) {
        json_tail_calls(&json, images, raw, &names->tails);
    }
    json_frames(&json, "frames", raw, names);
    sonde__json_close(&json);
    sonde__report_out_flush(&out);
}

void symbolize_print_tail_calls(const struct symbolize_images *images, bool raw,
                                const struct symbolize_answer *answer)
{
    const struct sonde__tail_frames *tails = &answer->names.tails;
    if (tails->ways != 0) {
        struct sonde__report_out out;
        sonde__report_out_init(&out, sonde__cli_sink(stdout), false);
        sonde__report_out_str(&out, "      ");
        sonde__report_put_tail_ways(&out, tails->ways);
        sonde__report_out_flush(&out);
    }
    for (uint32_t i = 0; i < tails->count; i++) {
        const struct symbolize_answer *call = tail_call(images, &tails->places[i]);
        printf("      tail call (%s)", tails->is_possible ? "possible" : "inferred");
        if (call->names.count != 0) {
            symbolize_print_inside(raw, call);
        } else {
            putchar(' ');
            sonde__cli_print_visible(stdout, call->image->name);
            printf("+0x%" PRIx64, call->vaddr);
        }
        putchar('\n');
    }
}
