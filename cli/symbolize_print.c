// SPDX-License-Identifier: Apache-2.0
#include "symbolize_print.h"

#include <inttypes.h>

#include "cli_print.h"
#include "demangle.h"

static void print_name(bool raw, const char *name)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    if (name[0] == '\0') {
        fputs("??", stdout);
    } else {
        sonde__cli_print_visible(stdout, raw ? name : sonde__demangle(name, buffer));
    }
}

/* Its name, `between`, its place in the source. */
static void print_call(bool raw, const struct sonde__call *call, const char *between)
{
    print_name(raw, call->name);
    if (call->file[0] != '\0') {
        fputs(between, stdout);
        sonde__cli_print_source(stdout, call->file, call->line);
    }
}

void symbolize_print_inside(bool raw, const struct symbolize_answer *answer)
{
    printf(" [");
    if (answer->jit != NULL) {
        sonde__cli_print_visible(stdout, answer->jit);
    }
    for (size_t i = 0; answer->jit == NULL && i < answer->count; i++) {
        if (i > 0) {
            printf(", inlined into ");
        }
        print_call(raw, &answer->calls[i], " at ");
    }
    putchar(']');
}

void symbolize_print_block(bool raw, const char *asked, const struct symbolize_answer *answer)
{
    sonde__cli_print_visible(stdout, asked);
    putchar('\n');
    for (size_t i = 0; i < answer->count; i++) {
        printf("  ");
        print_call(raw, &answer->calls[i], "  ");
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

void symbolize_print_frames_json(bool raw, const struct symbolize_answer *answer)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    putchar('[');
    for (size_t i = 0; i < answer->count; i++) {
        const struct sonde__call *call = &answer->calls[i];
        printf("%s{\"function\": ", i > 0 ? ", " : "");
        sonde__cli_print_json_string(stdout,
                                     raw ? call->name : sonde__demangle(call->name, buffer));
        printf(", \"raw_name\": ");
        sonde__cli_print_json_string(stdout, call->name);
        printf(", \"file\": ");
        sonde__cli_print_json_string(stdout, call->file);
        printf(", \"line\": %" PRIu32 ", \"inlined\": %s}", call->line,
               i + 1 < answer->count ? "true" : "false");
    }
    putchar(']');
}

/* Tail call `i` as an answer. */
static const struct symbolize_answer *tail_call(const struct symbolize_tails *tails, uint32_t i)
{
    static struct symbolize_answer inferred;
    inferred.module = tails->frames[i].module;
    inferred.vaddr = tails->frames[i].vaddr;
    symbolize_find_calls(&inferred, inferred.vaddr);
    return &inferred;
}

static void print_tail_calls_json(bool raw, const struct symbolize_tails *tails)
{
    printf(", \"tail_calls\": [");
    if (tails->ways != 0) {
        printf("{\"alternatives\": %" PRIu32 "}, ", tails->ways);
    }
    for (uint32_t i = 0; i < tails->count; i++) {
        const struct symbolize_answer *call = tail_call(tails, i);
        printf("%s{\"module\": ", i > 0 ? ", " : "");
        sonde__cli_print_json_string(stdout, call->module->name);
        printf(", \"vaddr\": \"0x%" PRIx64 "\", \"frames\": ", call->vaddr);
        symbolize_print_frames_json(raw, call);
        putchar('}');
    }
    putchar(']');
}

void symbolize_print_json(bool raw, bool is_first, const char *asked, size_t size,
                          const struct symbolize_answer *answer)
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
    if (answer->tails != NULL) {
        print_tail_calls_json(raw, answer->tails);
    }
    printf(", \"frames\": ");
    symbolize_print_frames_json(raw, answer);
    putchar('}');
}

void symbolize_print_tail_calls(bool raw, const struct symbolize_answer *answer)
{
    const struct symbolize_tails *tails = answer->tails;
    if (tails->ways == UINT32_MAX) {
        printf("      ... tail calls, any number of ways ...\n");
    } else if (tails->ways != 0) {
        printf("      ... tail calls, %" PRIu32 " ways ...\n", tails->ways);
    }
    for (uint32_t i = 0; i < tails->count; i++) {
        const struct symbolize_answer *call = tail_call(tails, i);
        printf("      tail call (inferred)");
        if (call->count != 0) {
            symbolize_print_inside(raw, call);
        } else {
            putchar(' ');
            sonde__cli_print_visible(stdout, call->module->name);
            printf("+0x%" PRIx64, call->vaddr);
        }
        putchar('\n');
    }
}
