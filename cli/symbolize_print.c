// SPDX-License-Identifier: Apache-2.0
#include "symbolize_print.h"

#include <inttypes.h>

#include "cli_file.h"
#include "demangle.h"
#include "tail_graph.h"

static void print_name(bool raw, const char *name)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    if (name[0] == '\0') {
        fputs("??", stdout);
    } else {
        sonde__cli_print_visible(stdout, raw ? name : sonde__demangle(name, buffer));
    }
}

static void print_line(struct symbolize_module *module, const struct sonde__symindex_frame *frame)
{
    const char *file = sonde__symindex_file(&module->index.strings, frame->file);
    if (file[0] != '\0') {
        sonde__cli_print_visible(stdout, file);
        if (frame->line != 0) {
            printf(":%" PRIu32, frame->line);
        }
    }
}

void symbolize_print_inside(bool raw, struct symbolize_answer *answer)
{
    struct symbolize_module *module = answer->module;
    if (answer->jit != NULL) {
        printf(" [");
        sonde__cli_print_visible(stdout, answer->jit);
        printf("]");
        return;
    }
    printf(" [");
    for (size_t i = 0; i < answer->count; i++) {
        const struct sonde__symindex_frame *frame = &answer->frames[i];
        if (i > 0) {
            printf(", inlined into ");
        }
        print_name(raw, sonde__symindex_name(&module->index.strings, frame->name));
        if (frame->file != 0) {
            printf(" at ");
            print_line(module, frame);
        }
    }
    putchar(']');
}

void symbolize_print_block(bool raw, const char *asked, struct symbolize_answer *answer)
{
    sonde__cli_print_visible(stdout, asked);
    putchar('\n');
    for (size_t i = 0; i < answer->count; i++) {
        const struct sonde__symindex_frame *frame = &answer->frames[i];
        struct symbolize_module *module = answer->module;
        printf("  ");
        print_name(raw, sonde__symindex_name(&module->index.strings, frame->name));
        if (frame->file != 0) {
            printf("  ");
            print_line(module, frame);
        }
        printf("%s\n", i + 1 < answer->count ? "  (inlined)" : "");
    }
    if (answer->jit != NULL) {
        printf("  ");
        sonde__cli_print_visible(stdout, answer->jit);
        printf("  [JIT]\n");
    } else if (answer->count == 0) {
        printf("  ??\n");
    }
}

void symbolize_print_frames_json(bool raw, struct symbolize_answer *answer)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    putchar('[');
    for (size_t i = 0; i < answer->count; i++) {
        const struct sonde__symindex_frame *frame = &answer->frames[i];
        struct sonde__symindex_strings *strings = &answer->module->index.strings;
        const char *name = sonde__symindex_name(strings, frame->name);
        printf("%s{\"function\": ", i > 0 ? ", " : "");
        sonde__cli_print_json_string(stdout, raw ? name : sonde__demangle(name, buffer));
        printf(", \"raw_name\": ");
        sonde__cli_print_json_string(stdout, name);
        printf(", \"file\": ");
        sonde__cli_print_json_string(stdout, sonde__symindex_file(strings, frame->file));
        printf(", \"line\": %" PRIu32 ", \"inlined\": %s}", frame->line,
               i + 1 < answer->count ? "true" : "false");
    }
    putchar(']');
}

/* What is missing between a frame and the one before it. */
static enum sonde__tail_answer find_tail_calls(const struct symbolize_answer *answer,
                                               struct sonde__tail_found *ret_found)
{
    const struct sonde__symindex *index = &answer->module->index.index;
    struct sonde__tail_graph graph;
    uint32_t entry;
    bool is_main;
    ret_found->count = 0;
    sonde__symindex_tails(index, &graph);
    if (!answer->has_inner ||
        !sonde__tail_site(&graph, (uint32_t)(answer->vaddr - index->base), &entry, &is_main) ||
        is_main) {
        return SONDE__TAIL_NOTHING;
    }
    return sonde__tail_between(&graph, entry, (uint32_t)(answer->inner - index->base), ret_found);
}

/* Frame `i` of those, as an answer. */
static struct symbolize_answer *tail_call(const struct symbolize_answer *answer,
                                          const struct sonde__tail_found *found, uint32_t i)
{
    static struct symbolize_answer inferred;
    const struct sonde__symindex *index = &answer->module->index.index;
    inferred.module = answer->module;
    inferred.vaddr = index->base + found->frames[i].place;
    inferred.count =
        sonde__symindex_find(index, inferred.vaddr, inferred.frames, SYMBOLIZE_FRAMES_MAX);
    return &inferred;
}

static void print_tail_calls_json(bool raw, const struct symbolize_answer *answer)
{
    struct sonde__tail_found found;
    enum sonde__tail_answer what = find_tail_calls(answer, &found);
    if (what == SONDE__TAIL_NOTHING) {
        return;
    }
    printf(", \"tail_calls\": [");
    if (what == SONDE__TAIL_SEVERAL) {
        printf("{\"alternatives\": %" PRIu32 "}, ", found.ways);
    }
    for (uint32_t i = 0; i < found.count; i++) {
        struct symbolize_answer *call = tail_call(answer, &found, i);
        printf("%s{\"vaddr\": \"0x%" PRIx64 "\", \"frames\": ", i > 0 ? ", " : "", call->vaddr);
        symbolize_print_frames_json(raw, call);
        putchar('}');
    }
    putchar(']');
}

void symbolize_print_json(bool raw, bool is_first, const char *asked, size_t size,
                          struct symbolize_answer *answer)
{
    char id[SONDE__SYMFILE_ID_TEXT] = "";
    char text[SYMBOLIZE_LINE_BYTES];
    snprintf(text, sizeof text, "%.*s", (int)(size < sizeof text ? size : sizeof text - 1), asked);
    printf("%s\n  {\"input\": ", is_first ? "" : ",");
    sonde__cli_print_json_string(stdout, text);
    if (answer->module != NULL) {
        sonde__symfile_id_text(&answer->module->index.index.build_id, id);
        printf(", \"module\": ");
        sonde__cli_print_json_string(stdout, answer->module->name);
        printf(", \"build_id\": \"%s\", \"vaddr\": \"0x%" PRIx64 "\"", id, answer->vaddr);
    }
    if (answer->jit != NULL) {
        printf(", \"address\": \"0x%" PRIx64 "\", \"jit\": ", answer->vaddr);
        sonde__cli_print_json_string(stdout, answer->jit);
    }
    if (answer->module != NULL) {
        print_tail_calls_json(raw, answer);
    }
    printf(", \"frames\": ");
    symbolize_print_frames_json(raw, answer);
    putchar('}');
}

void symbolize_print_tail_calls(bool raw, struct symbolize_answer *answer)
{
    struct sonde__tail_found found;
    if (find_tail_calls(answer, &found) == SONDE__TAIL_SEVERAL) {
        if (found.ways == UINT32_MAX) {
            printf("      ... tail calls, any number of ways ...\n");
        } else {
            printf("      ... tail calls, %" PRIu32 " ways ...\n", found.ways);
        }
    }
    for (uint32_t i = 0; i < found.count; i++) {
        struct symbolize_answer *call = tail_call(answer, &found, i);
        printf("      tail call (inferred)");
        if (call->count != 0) {
            symbolize_print_inside(raw, call);
        }
        putchar('\n');
    }
}
