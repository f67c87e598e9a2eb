// SPDX-License-Identifier: Apache-2.0
/* sonde types: the layout of a type or the parameters of a function, from debug information. */
#include <stdlib.h>
#include <string.h>

#include "cli_fit.h"
#include "cli_hint.h"
#include "cli_symbols.h"
#include "cmd.h"
#include "symfile_types.h"
#include "types_print.h"

enum {
    /* more types of one name than WHOLE_MAX are listed in one line each */
    WHOLE_MAX = 4,
    FOUND_MAX = 1000,
};

struct request {
    const char *path, *arch;
    char **names;
    unsigned count, printed;
    bool json;
    struct sonde__cli_symbols symbols;
    struct sonde__symfile_types file;
    struct types_print print;
};

static const struct sonde__cli_option options[] = {
    {"expand", 'x', NULL, "show the members of all nested structures, not only of anonymous ones",
     sonde__cli_take_flag, offsetof(struct request, print.expand)},
    {"symbols", 's', "DIR", "a folder with debug files and dSYM bundles; may be repeated",
     sonde__cli_take_folders, offsetof(struct request, symbols.folders)},
    {"debug-root", 0, "DIR", "where separate debug files are searched (default /usr/lib/debug)",
     sonde__cli_take_text, offsetof(struct request, symbols.debug_root)},
    {"no-network", 0, NULL,
     "do not ask debuginfod servers (without DEBUGINFOD_URLS none is asked anyway)",
     sonde__cli_take_flag, offsetof(struct request, symbols.no_network)},
    {"arch", 0, "NAME", "the code for this machine in a universal Mach-O (arm64, x86_64, ...)",
     sonde__cli_take_text, offsetof(struct request, arch)},
    {"json", 'j', NULL, "JSON: an array of objects, one for each type or function",
     sonde__cli_take_flag, offsetof(struct request, json)},
    {0},
};

/* --- names --- */

struct found {
    struct sonde__type types[FOUND_MAX];
    unsigned count;
    bool more;
};

static bool add_type(void *ctx, const struct sonde__type *type)
{
    struct found *found = ctx;
    if (found->count == FOUND_MAX) {
        found->more = true;
        return false;
    }
    found->types[found->count++] = *type;
    return true;
}

/* Skip `typedef struct T T`, which adds nothing in C. */
static bool is_shown_by_another(struct request *request, const struct found *found,
                                const struct sonde__type *type)
{
    struct sonde__type whole;
    if (type->kind != SONDE__TYPE_TYPEDEF ||
        sonde__type_strip(request->print.types, type->target, &whole) != SONDE_OK) {
        return false;
    }
    for (unsigned i = 0; i < found->count; i++) {
        const struct sonde__type *other = &found->types[i];
        if (other->kind == whole.kind && other->size == whole.size && other->line == whole.line &&
            other->name != NULL && whole.name != NULL && strcmp(other->name, whole.name) == 0) {
            return true;
        }
    }
    return false;
}

static void begin_json(struct request *request)
{
    printf("%s\n  ", request->printed++ == 0 ? "" : ",");
}

static int show_name(const struct sonde__cli_command *command, struct request *request,
                     const char *name)
{
    static struct found found;
    found.count = 0;
    found.more = false;
    enum sonde_status status = sonde__types_find(request->print.types, name, add_type, &found);
    if (status != SONDE_OK) {
        if (status == SONDE_ABSENT) {
            sonde__cli_error(command, "%s: no type of the name %s is defined in it", request->path,
                             name);
            return SONDE__CLI_ABSENT;
        }
        return sonde__cli_fail(command, name, status, NULL);
    }
    bool lines = found.count > WHOLE_MAX && !request->json;
    for (unsigned i = 0; i < found.count; i++) {
        sonde__types_refill(request->print.types);
        if (is_shown_by_another(request, &found, &found.types[i])) {
            continue;
        }
        if (request->json) {
            begin_json(request);
            types_json_type(&request->print, &found.types[i], name);
        } else if (lines) {
            types_print_line(&request->print, &found.types[i]);
        } else {
            printf("%s", request->printed++ == 0 ? "" : "\n");
            types_print_type(&request->print, &found.types[i]);
        }
    }
    if (found.more) {
        sonde__cli_error(command, "%s: more than %d types: the first are shown", name, FOUND_MAX);
    }
    return SONDE__CLI_OK;
}

/* --- addresses --- */

/* A number with 0x; no type has such a name. */
static bool parse_address(const char *text, uint64_t *ret_address)
{
    char *end;
    if (text[0] != '0' || (text[1] != 'x' && text[1] != 'X') || strlen(text) > 18 ||
        text[2 + strspn(text + 2, "0123456789abcdefABCDEF")] != '\0') {
        return false;
    }
    *ret_address = strtoull(text + 2, &end, 16);
    return end != text + 2;
}

static int show_address(const struct sonde__cli_command *command, struct request *request,
                        const char *text, uint64_t address)
{
    struct sonde__type_function function;
    enum sonde_status status = sonde__types_function_at(request->print.types, address, &function);
    if (status == SONDE_ABSENT) {
        sonde__cli_error(command, "%s: no function of the debug information has code at %s",
                         request->path, text);
        return SONDE__CLI_ABSENT;
    }
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, text, status, NULL);
    }
    if (request->json) {
        begin_json(request);
        types_json_function(&request->print, &function, text);
    } else {
        printf("%s", request->printed++ == 0 ? "" : "\n");
        types_print_function(&request->print, &function);
    }
    return SONDE__CLI_OK;
}

/* --- all --- */

static int show_all(const struct sonde__cli_command *command, struct request *request)
{
    int exit_code = SONDE__CLI_OK;
    request->print.types = request->file.types;
    if (request->file.damage != NULL) {
        sonde__cli_error(command, "%s: %s", request->path, request->file.damage);
        exit_code = SONDE__CLI_MALFORMED;
    }
    if (request->json) {
        putchar('[');
    } else {
        sonde__cli_fit_output();
    }
    for (unsigned i = 0; i < request->count; i++) {
        uint64_t address;
        int one = parse_address(request->names[i], &address)
                      ? show_address(command, request, request->names[i], address)
                      : show_name(command, request, request->names[i]);
        exit_code = exit_code == SONDE__CLI_OK ? one : exit_code;
    }
    if (request->json) {
        printf("\n]\n");
    }
    if (request->print.incomplete) {
        sonde__cli_error(command, "%s: %s", request->path, request->print.why);
        exit_code = exit_code == SONDE__CLI_OK ? SONDE__CLI_MALFORMED : exit_code;
    }
    return exit_code;
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    static struct request request;
    struct sonde__cli_operands operands;
    struct sonde_error error;
    bool no_debug;
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (operands.count < 2) {
        return sonde__cli_usage_error(
            command, operands.count == 0 ? "which program, library or debug file?"
                                         : "which type, or the address of which function?");
    }
    request.path = operands.list[0];
    request.names = operands.list + 1;
    request.count = operands.count - 1;
    sonde__cli_symbols_start(&request.symbols, command, 0);
    const struct sonde__symfile_index_wanted wanted = {.arch = request.arch};
    enum sonde_status status = sonde__symfile_types_open(&request.symbols.options, request.path,
                                                         &wanted, &request.file, &no_debug, &error);
    if (status == SONDE_ABSENT && no_debug) {
        char hint[SONDE__CLI_HINT_BYTES];
        char *absolute = realpath(request.path, NULL);
        sonde__cli_hint(NULL, absolute, !request.symbols.no_network, hint);
        free(absolute);
        sonde__cli_error(command, "%s: no debug information, so no types: %s", request.path, hint);
        return SONDE__CLI_ABSENT;
    }
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, request.path, status, &error);
    }
    exit_code = show_all(command, &request);
    sonde__symfile_types_close(&request.file);
    return exit_code;
}

const struct sonde__cli_command sonde__cmd_types = {
    .name = "types",
    .summary = "show the layout of a type, or the parameters of a function",
    .usage = "[OPTION...] FILE NAME|ADDRESS...",
    .about = "Shows types of a program, library or debug file as C text: each member with\n"
             "its offset and size, and the holes between them. NAME is a structure, class,\n"
             "union, enum, typedef or base type (\"struct stat\", \"ns::List<int>\"), also\n"
             "without its namespace, or a template without its arguments. If a name has\n"
             "different definitions in the file, each is shown.\n"
             "\n"
             "ADDRESS is in the code of a function, as linked (0x1139): its declaration and\n"
             "parameters are shown, and for the code of a block (`^{...}`) its captures,\n"
             "including variables that the layout of the block does not describe, and\n"
             "constants that it does not store.\n"
             "\n"
             "The comment behind a member is its offset and size in bytes; of a bit-field\n"
             "the offset of its first bit (BYTE:BIT) and its bits. The debug information of\n"
             "a stripped file is found as for `sonde index`.",
    .options = options,
    .examples = "  sonde types build/server \"struct request\"\n"
                "  sonde types --expand libcore.so core::Session\n"
                "  sonde types App.app.dSYM --arch arm64 0x100003f20\n",
    .run = run,
};
