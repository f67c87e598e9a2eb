// SPDX-License-Identifier: Apache-2.0
/* sonde index: makes index files from debug information. */
#include <inttypes.h>
#include <string.h>

#include "base_text.h"
#include "cli_file.h"
#include "cli_fit.h"
#include "cli_print.h"
#include "cli_report.h"
#include "cli_symbols.h"
#include "cmd.h"
#include "symfile_macho.h"
#include "symindex_convert.h"
#include "tail_graph.h"

enum { PATH_BYTES = 4096 };

struct request {
    const char *output;
    bool info, json;
    uint32_t jobs; /* 0: not given */
    struct sonde__cli_symbols symbols;
    struct sonde__report_out out;
    struct sonde__json writer;
};

static const struct sonde__cli_option options[] = {
    {"output", 'o', "DIR",
     "the folder to write to, made if missing (default: the current one); files are named after "
     "their build-ids",
     sonde__cli_take_text, offsetof(struct request, output)},
    {"info", 0, NULL, "show what is in index files, and check them", sonde__cli_take_flag,
     offsetof(struct request, info)},
    {"json", 'j', NULL, "JSON: an array of objects, one for each file", sonde__cli_take_flag,
     offsetof(struct request, json)},
    {"jobs", 'J', "N", "threads that read a file, 1 to 64 (default: one for each CPU, at most 8)",
     sonde__cli_take_number, offsetof(struct request, jobs), 1, 64},
    {0},
};

static void put_bad_units(struct sonde__json *json, const struct sonde__symindex *index)
{
    struct sonde__symindex_bad_unit unit;
    sonde__json_array(json, "bad_units");
    for (uint32_t i = 0; sonde__symindex_bad_unit(index, i, &unit); i++) {
        sonde__json_object(json, NULL);
        sonde__json_uint(json, "offset", unit.offset);
        sonde__json_string(json, "name", unit.name);
        sonde__json_string(json, "what", unit.what);
        sonde__json_close(json);
    }
    sonde__json_close(json);
}

static uint32_t count_tail_callers(const struct sonde__tail_graph *graph)
{
    struct sonde__tail_node node;
    uint32_t count = 0;
    for (uint32_t i = 0; sonde__tail_node(graph, i, &node); i++) {
        count += node.edge_count != 0;
    }
    return count;
}

static const char *tail_sources(uint32_t sources)
{
    static const char *const names[] = {"nothing", "the code", "call sites",
                                        "the code and call sites"};
    return names[sources & 3];
}

static void put_tails(struct sonde__json *json, const struct sonde__symindex *index)
{
    struct sonde__tail_graph graph;
    struct sonde__tail_origin origin;
    sonde__symindex_tails(index, &graph);
    sonde__symindex_tail_origin(index, &origin);
    sonde__json_object(json, "tail_calls");
    sonde__json_uint(json, "functions", count_tail_callers(&graph));
    sonde__json_uint(json, "jumps", graph.edge_count);
    sonde__json_uint(json, "jumps_to_other_images", graph.external_count);
    sonde__json_uint(json, "call_sites", graph.site_count);
    sonde__json_bool(json, "from_code", (origin.sources & SONDE__TAIL_FROM_CODE) != 0);
    sonde__json_bool(json, "from_call_sites", (origin.sources & SONDE__TAIL_FROM_SITES) != 0);
    sonde__json_uint(json, "functions_disputed", origin.functions);
    sonde__json_uint(json, "call_sites_disputed", origin.calls);
    sonde__json_close(json);
}

static void print_tails(const struct sonde__symindex *index)
{
    struct sonde__tail_graph graph;
    struct sonde__tail_origin origin;
    sonde__symindex_tails(index, &graph);
    sonde__symindex_tail_origin(index, &origin);
    uint32_t functions = count_tail_callers(&graph);
    printf("  tail calls %" PRIu32 " of %" PRIu32 " function%s, %" PRIu32
           " to other images, %" PRIu32 " call site%s of such functions; from %s\n",
           graph.edge_count, functions, sonde__base_plural(functions), graph.external_count,
           graph.site_count, sonde__base_plural(graph.site_count), tail_sources(origin.sources));
    if (origin.functions != 0 || origin.calls != 0) {
        printf("             the two differ on %" PRIu32 " function%s and %" PRIu32
               " call site%s: only what both allow is kept\n",
               origin.functions, sonde__base_plural(origin.functions), origin.calls,
               sonde__base_plural(origin.calls));
    }
}

/* written: the new index; null: none. */
static void put_file(struct sonde__json *json, const char *path,
                     const struct sonde__symfile_index_file *file, const char *written)
{
    const struct sonde__symindex *index = &file->index;
    char id[SONDE__SYMFILE_ID_TEXT];
    sonde__symfile_id_text(&index->build_id, id);
    sonde__json_line(json, 2);
    sonde__json_object(json, NULL);
    sonde__json_string(json, "file", path);
    if (written != NULL) {
        sonde__json_string(json, "index", written);
    }
    sonde__json_string(json, "build_id", id);
    sonde__json_uint(json, "size_bytes", file->size);
    sonde__json_uint(json, "code_bytes", index->code_bytes);
    sonde__json_uint(json, "units", index->units);
    sonde__json_uint(json, "ranges", index->ranges);
    sonde__json_uint(json, "calls", index->calls);
    sonde__json_uint(json, "names", index->names);
    sonde__json_uint(json, "files", index->files);
    sonde__json_uint(json, "symbols", index->symbols);
    put_tails(json, index);
    put_bad_units(json, index);
    sonde__json_close(json);
}

static void print_bad_units(const struct sonde__symindex *index)
{
    struct sonde__symindex_bad_unit unit;
    for (uint32_t i = 0; sonde__symindex_bad_unit(index, i, &unit); i++) {
        printf("  unit at 0x%" PRIx64, unit.offset);
        if (unit.name[0] != '\0') {
            putchar(' ');
            sonde__cli_print_visible(stdout, unit.name);
        }
        printf(": ");
        sonde__cli_print_visible(stdout, unit.what);
        putchar('\n');
    }
}

static void print_info(const char *path, const struct sonde__symfile_index_file *opened)
{
    static const char *const machines[] = {"another machine", "x86_64", "aarch64"};
    const struct sonde__symindex *index = &opened->index;
    char id[SONDE__SYMFILE_ID_TEXT];
    sonde__symfile_id_text(&index->build_id, id);
    sonde__cli_print_visible(stdout, path);
    printf("\n  build-id   %s\n  machine    %s\n", id[0] != '\0' ? id : "none",
           machines[index->arch < 3 ? index->arch : 0]);
    printf("  code       0x%" PRIx64 " to 0x%" PRIx64 "\n", index->base,
           index->base + index->code_bytes);
    printf("  size       %zu bytes\n", opened->size);
    printf("  units      %" PRIu32 ", %" PRIu32 " of them with errors\n", index->units,
           index->bad_units);
    printf("  ranges     %" PRIu32 "\n  calls      %" PRIu32 "\n  names      %" PRIu32
           "\n  files      %" PRIu32 "\n  symbols    %" PRIu32 "\n",
           index->ranges, index->calls, index->names, index->files, index->symbols);
    print_tails(index);
    print_bad_units(index);
}

/* --- one file --- */

static int show_info(const struct sonde__cli_command *command, struct request *request,
                     const char *path)
{
    struct sonde__symfile_index_file opened;
    struct sonde_error error;
    int exit_code = SONDE__CLI_OK;
    enum sonde_status status = sonde__symfile_index_file_open(
        &request->symbols.options, path, SONDE__SYMFILE_INDEX_NOT_MADE, NULL, &opened, &error);
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, path, status, &error);
    }
    if (request->json) {
        put_file(&request->writer, path, &opened, NULL);
    } else {
        print_info(path, &opened);
    }
    if (!sonde__symindex_intact(&opened.index)) {
        sonde__cli_error(command, "%s: damaged: the checksum of a section is wrong", path);
        exit_code = SONDE__CLI_MALFORMED;
    }
    sonde__symfile_index_file_close(&opened);
    return exit_code;
}

static int make_one(const struct sonde__cli_command *command, struct request *request,
                    const char *path, const struct sonde__symfile_index_wanted *wanted)
{
    struct sonde__symfile_index_file made;
    struct sonde_error error;
    char id[SONDE__SYMFILE_ID_TEXT];
    char written[PATH_BYTES];
    int exit_code;
    enum sonde_status status = sonde__symfile_index_file_open(
        &request->symbols.options, path, SONDE__SYMFILE_INDEX_MADE, wanted, &made, &error);
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, path, status, &error);
    }
    if (made.file.data != NULL) {
        sonde__cli_error(command, "%s: already an index (--info shows what is in it)", path);
        sonde__symfile_index_file_close(&made);
        return SONDE__CLI_UNSUPPORTED;
    }
    sonde__symfile_id_text(&made.index.build_id, id);
    int length = snprintf(written, sizeof written, "%s/%s.sndidx", request->output,
                          id[0] != '\0' ? id : sonde__base_file_name(path));
    if (length < 0 || (size_t)length >= sizeof written) {
        sonde__cli_error(command, "%s: the path is too long", request->output);
        sonde__symfile_index_file_close(&made);
        return SONDE__CLI_FAILED;
    }
    exit_code = sonde__cli_write_file(command, written, made.made, made.size);
    if (exit_code == SONDE__CLI_OK) {
        if (request->json) {
            put_file(&request->writer, path, &made, written);
        } else {
            sonde__cli_print_visible(stdout, written);
            printf("  %.1f MB, %" PRIu32 " units%s", (double)made.size / 1e6, made.index.units,
                   made.index.units == 0 ? " (symbols only)" : "");
            printf("%s%s\n", made.separate ? ", from the separate debug file" : "",
                   made.encrypted ? ", encrypted code" : "");
            print_bad_units(&made.index);
        }
        if (made.index.bad_units != 0) {
            sonde__cli_error(command,
                             "%s: %" PRIu32 " of %" PRIu32 " units have errors; what could be "
                             "read of them is in the index",
                             path, made.index.bad_units, made.index.units);
            exit_code = SONDE__CLI_MALFORMED;
        }
    }
    sonde__symfile_index_file_close(&made);
    return exit_code;
}

/* One index for each machine of a universal file. */
static int make_index(const struct sonde__cli_command *command, struct request *request,
                      const char *path)
{
    struct sonde__symfile_slice slices[SONDE__SYMFILE_SLICES_MAX];
    unsigned count = sonde__symfile_macho_slices(path, slices);
    int exit_code = SONDE__CLI_OK;
    if (count < 2) {
        return make_one(command, request, path, NULL);
    }
    for (unsigned i = 0; i < count; i++) {
        const struct sonde__symfile_index_wanted wanted = {.uuid = slices[i].uuid,
                                                           .arch = slices[i].arch};
        int one = make_one(command, request, path, &wanted);
        exit_code = exit_code == SONDE__CLI_OK ? one : exit_code;
    }
    return exit_code;
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    static struct request request;
    struct sonde__cli_operands operands;
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (operands.count == 0) {
        return sonde__cli_usage_error(command,
                                      "which program, library or debug file? give its path");
    }
    if (request.info && request.output != NULL) {
        return sonde__cli_usage_error(command, "--info writes nothing: no --output");
    }
    exit_code = SONDE__CLI_OK;
    sonde__cli_symbols_start(&request.symbols, command, 0);
    if (request.jobs != 0) {
        request.symbols.making.threads = request.jobs;
    }
    if (request.output == NULL) {
        request.output = ".";
    } else {
        exit_code = sonde__cli_make_folder(command, request.output);
        if (exit_code != SONDE__CLI_OK) {
            return exit_code;
        }
    }
    if (request.json) {
        sonde__cli_json_begin(&request.writer, &request.out);
        sonde__json_array(&request.writer, NULL);
    } else {
        sonde__cli_fit_output();
    }
    for (unsigned i = 0; i < operands.count; i++) {
        int one = request.info ? show_info(command, &request, operands.list[i])
                               : make_index(command, &request, operands.list[i]);
        exit_code = exit_code == SONDE__CLI_OK ? one : exit_code;
    }
    if (request.json) {
        sonde__json_line(&request.writer, 0);
        sonde__cli_json_end(&request.writer);
    }
    return exit_code;
}

const struct sonde__cli_command sonde__cmd_index = {
    .name = "index",
    .summary = "make index files of debug information",
    .usage = "[OPTION...] FILE...\n--info FILE...",
    .about = "Makes an index file of each program, library or debug file: functions, files\n"
             "and lines of every address, including inlined calls, at about a thirtieth of\n"
             "the size of the debug information and much faster to search. The separate\n"
             "debug file of a stripped file is found by build-id or debug link. `sonde\n"
             "symbolize` uses index files.\n"
             "\n"
             "Mach-O files are read with the dSYM bundle of the same UUID beside them, as\n"
             "are dSYM bundles; a universal file gives one index for each machine.\n"
             "\n"
             "Breakpad symbol files (.sym) are read, too. Their addresses count from the begin\n"
             "of the image, so programs that are linked to a fixed address need the ELF.\n"
             "\n"
             "A malformed unit of the debug information is listed and left out; the rest is\n"
             "indexed, and the exit code is 5.",
    .options = options,
    .examples = "  sonde index -o indexes build/server build/libcore.so\n"
                "  sonde index -o indexes App.xcarchive/dSYMs/App.app.dSYM\n"
                "  sonde index --info indexes/*.sndidx\n",
    .run = run,
};
