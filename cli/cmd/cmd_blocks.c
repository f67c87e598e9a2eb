// SPDX-License-Identifier: Apache-2.0
/* sonde blocks: the captures of blocks (closures) in a program, library, object or archive. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arch_regs.h"
#include "base_status.h"
#include "blocks_image.h"
#include "blocks_process.h"
#include "cli_fit.h"
#include "cli_symbols.h"
#include "cmd.h"
#include "host_file.h"

enum { MEMBER_BYTES = 256, DEPTH_MAX = 16 };
/* Files are mapped; this is larger than any program. */
#define FILE_BYTES_MAX ((uint64_t)64 << 30)

struct request {
    const struct sonde__cli_command *command;
    const char *arch;
    bool raw, json;
    struct heap_place place; /* empty: files are read */
    struct sonde__cli_symbols symbols;
    /* of the current file */
    const char *path;
    char absolute[4096]; /* "": none */
    unsigned shown, refused;
    struct sonde_error refusal; /* of the first refused file */
    /* for a folder */
    bool in_folder;
    unsigned files;
    /* totals */
    unsigned printed;
    int exit_code;
};

static const struct sonde__cli_option options[] = {
    {"pid", 'p', "PID",
     "the blocks on the heap of this process; operands are then addresses of blocks to show with "
     "their current content",
     sonde__cli_take_pid, offsetof(struct request, place.pid)},
    {"core", 'c', "FILE",
     "the same of a core file; an operand that is not a number is the program, if the path in the "
     "core is wrong",
     sonde__cli_take_core, offsetof(struct request, place.core)},
    {"arch", 0, "NAME",
     "only the code for this machine (arm64, x86_64, ...): one slice of a universal file",
     sonde__cli_take_text, offsetof(struct request, arch)},
    {"symbols", 's', "DIR", "a folder with debug files and dSYM bundles; may be repeated",
     sonde__cli_take_folders, offsetof(struct request, symbols.folders)},
    {"debug-root", 0, "DIR", "where separate debug files are searched (default /usr/lib/debug)",
     sonde__cli_take_text, offsetof(struct request, symbols.debug_root)},
    {"no-demangle", 0, NULL, "names as the file has them", sonde__cli_take_flag,
     offsetof(struct request, raw)},
    {"json", 'j', NULL, "JSON: an array of objects, one for the code of each machine",
     sonde__cli_take_flag, offsetof(struct request, json)},
    {0},
};

static void note(struct request *request, int exit_code)
{
    if (request->exit_code == SONDE__CLI_OK) {
        request->exit_code = exit_code;
    }
}

/* --- one image --- */

/* Show a loaded image with open places; closes both. */
static void show(struct request *request, struct blocks_image *image)
{
    struct sonde_error error;
    enum sonde_status status;
    image->path = request->path;
    image->raw = request->raw;
    sonde__blockfile_memory(&image->loaded, &image->memory);
    status = sonde__blockfile_find(&image->loaded, true, &image->file, &error);
    if (status != SONDE_OK) {
        note(request, sonde__cli_fail(request->command, request->path, status, &error));
    } else {
        /* most members of an archive have no blocks and are not shown */
        if (request->json) {
            blocks_print_image_json(image, request->printed++ == 0);
        } else if (image->member[0] == '\0' || image->file.desc_count != 0 ||
                   image->file.unmatched_count != 0) {
            printf("%s", request->printed++ == 0 ? "" : "\n");
            blocks_print_image(image);
        }
        if (image->file.damage != NULL) {
            sonde__cli_error(request->command, "%s%s%s: %s", request->path,
                             image->member[0] != '\0' ? ": " : "", image->member,
                             image->file.damage);
            note(request, SONDE__CLI_MALFORMED);
        }
        request->shown++;
        sonde__blockfile_done(&image->file);
    }
    blocks_places_done(&image->places);
    sonde__loaded_done(&image->loaded);
}

static void refuse(struct request *request, const struct sonde_error *error)
{
    if (request->refused++ == 0) {
        request->refusal = *error;
    }
}

static bool is_elf(const void *data, size_t size)
{
    return size >= 4 && memcmp(data,
                               "\x7f"
                               "ELF",
                               4) == 0;
}

static void show_elf(struct request *request, const void *data, size_t size, const char *member)
{
    static struct blocks_image image;
    struct sonde__elf elf;
    struct sonde_error error;
    memset(&image, 0, sizeof image);
    if (sonde__elf_open(data, size, &elf, &error) != SONDE_OK ||
        sonde__loaded_elf(&elf, &image.loaded, &error) != SONDE_OK) {
        refuse(request, &error);
        return;
    }
    image.arch = sonde__arch_name(elf.arch);
    image.member = member;
    if (request->arch != NULL && strcmp(request->arch, image.arch) != 0 &&
        (strcmp(request->arch, "arm64") != 0 || elf.arch != SONDE_ARCH_AARCH64)) {
        sonde__loaded_done(&image.loaded);
        return;
    }
    if (image.loaded.object) {
        blocks_places_of_elf_object(&image.places, &elf, &image.loaded);
    } else if (request->absolute[0] != '\0') {
        blocks_places_of_file(&image.places, &request->symbols.options, request->absolute, NULL);
    }
    show(request, &image);
}

static bool show_macho(void *ctx, const struct sonde__macho_member *member)
{
    static struct blocks_image image;
    struct request *request = ctx;
    struct sonde__macho macho;
    struct sonde_error error;
    static char name[MEMBER_BYTES];
    memset(&image, 0, sizeof image);
    snprintf(name, sizeof name, "%.*s", (int)member->name_size,
             member->name != NULL ? member->name : "");
    image.member = name;
    if (sonde__macho_open(member->data, member->size, &macho, &error) != SONDE_OK) {
        refuse(request, &error);
        return true;
    }
    image.arch = sonde__macho_arch_name(macho.cpu, macho.subtype);
    if (request->arch != NULL && strcmp(request->arch, image.arch) != 0) {
        return true;
    }
    if (sonde__loaded_macho(&macho, &image.loaded, &error) != SONDE_OK) {
        refuse(request, &error);
        return true;
    }
    if (member->name != NULL || image.loaded.object) {
        blocks_places_of_object(&image.places, &macho);
    } else if (request->absolute[0] != '\0') {
        blocks_places_of_file(&image.places, &request->symbols.options, request->absolute, &macho);
    }
    show(request, &image);
    return true;
}

/* A member of an archive, of any system. */
static bool show_member(void *ctx, const struct sonde__macho_member *member)
{
    static char name[MEMBER_BYTES];
    if (sonde__macho_begins(member->data, member->size)) {
        return show_macho(ctx, member);
    }
    if (is_elf(member->data, member->size)) {
        snprintf(name, sizeof name, "%.*s", (int)member->name_size, member->name);
        show_elf(ctx, member->data, member->size, name);
    }
    return true;
}

/* --- one file --- */

static enum sonde_status show_parts(struct request *request, const struct sonde__host_file *file,
                                    struct sonde_error *ret_error)
{
    if (sonde__archive_begins(file->data, file->size)) {
        return sonde__archive_each(file->data, file->size, show_member, request, ret_error);
    }
    if (is_elf(file->data, file->size)) {
        show_elf(request, file->data, file->size, "");
        return SONDE_OK;
    }
    if (sonde__macho_begins(file->data, file->size)) {
        return sonde__macho_each(file->data, file->size, show_macho, request, ret_error);
    }
    return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                            "not an ELF or Mach-O program, library, object or archive", NULL, 0, 0);
}

static void show_file(struct request *request, const char *path)
{
    struct sonde__host_file file;
    struct sonde_error error;
    enum sonde_status status = sonde__host_file_map(NULL, path, FILE_BYTES_MAX, &file, &error);
    if (status != SONDE_OK) {
        note(request, sonde__cli_fail(request->command, path, status, &error));
        return;
    }
    request->path = path;
    request->shown = request->refused = 0;
    if (realpath(path, request->absolute) == NULL) {
        request->absolute[0] = '\0';
    }
    status = show_parts(request, &file, &error);
    if (status != SONDE_OK) {
        note(request, sonde__cli_fail(request->command, path, status, &error));
    }
    if (request->refused != 0 && request->shown == 0) {
        note(request,
             sonde__cli_fail(request->command, path, request->refusal.status, &request->refusal));
    } else if (request->refused != 0) {
        sonde__cli_error(request->command, "%s: %u of its parts were not read: %s", path,
                         request->refused, request->refusal.what);
    } else if (request->shown == 0 && status == SONDE_OK && request->in_folder) {
        request->files--; /* for another machine than requested */
    } else if (request->shown == 0 && status == SONDE_OK) {
        sonde__cli_error(request->command, "%s: %s%s", path,
                         request->arch != NULL ? "nothing in it is of the machine "
                                               : "no code is in it",
                         request->arch != NULL ? request->arch : "");
        note(request, SONDE__CLI_ABSENT);
    }
    sonde__host_file_unmap(&file);
}

/* --- folders: frameworks, xcframeworks, apps --- */

static bool may_have_blocks(const struct sonde__host_file *file)
{
    return sonde__archive_begins(file->data, file->size) || is_elf(file->data, file->size) ||
           sonde__macho_begins(file->data, file->size);
}

static bool is_code_file(const char *path)
{
    struct sonde__host_file file;
    struct sonde_error error;
    bool is_code = sonde__host_file_map(NULL, path, FILE_BYTES_MAX, &file, &error) == SONDE_OK;
    if (is_code) {
        is_code = may_have_blocks(&file);
        sonde__host_file_unmap(&file);
    }
    return is_code;
}

/* Skip symbolic links, which lead to files of the folder, and dSYM bundles, which have no code. */
static bool is_wanted(const char *name)
{
    const char *dot = strrchr(name, '.');
    return name[0] != '.' && (dot == NULL || strcmp(dot, ".dSYM") != 0);
}

static void show_folder(struct request *request, const char *path, unsigned depth)
{
    struct dirent **entries;
    int count = depth < DEPTH_MAX ? scandir(path, &entries, NULL, alphasort) : 0;
    if (count < 0) {
        struct sonde_error error = {.status = SONDE_OK};
        (void)sonde__base_fail(&error, SONDE_OS, "read a folder", NULL, errno, 0);
        note(request, sonde__cli_fail(request->command, path, SONDE_OS, &error));
        return;
    }
    for (int i = 0; i < count; i++) {
        char *inner = NULL;
        struct stat state;
        if (is_wanted(entries[i]->d_name) &&
            asprintf(&inner, "%s/%s", path, entries[i]->d_name) >= 0 && lstat(inner, &state) == 0) {
            if (S_ISDIR(state.st_mode)) {
                show_folder(request, inner, depth + 1);
            } else if (S_ISREG(state.st_mode) && is_code_file(inner)) {
                request->files++;
                show_file(request, inner);
            }
        }
        free(inner);
        free(entries[i]);
    }
    if (depth < DEPTH_MAX) {
        free(entries);
    }
}

static void show_path(struct request *request, const char *path)
{
    struct stat state;
    size_t length = strlen(path);
    char *folder;
    if (stat(path, &state) != 0 || !S_ISDIR(state.st_mode)) {
        show_file(request, path);
        return;
    }
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    folder = strndup(path, length);
    request->files = 0;
    request->in_folder = true;
    if (folder != NULL) {
        show_folder(request, folder, 0);
    }
    request->in_folder = false;
    if (request->files == 0) {
        sonde__cli_error(request->command, "%s: no file in this folder has code%s%s", path,
                         request->arch != NULL ? " of the machine " : "",
                         request->arch != NULL ? request->arch : "");
        note(request, SONDE__CLI_ABSENT);
    }
    free(folder);
}

/* Operands are addresses and, with a core, its program, in any order. */
static int show_heap(struct request *request, const struct sonde__cli_operands *operands)
{
    unsigned count = 0;
    for (unsigned i = 0; i < operands->count; i++) {
        if (heap_view_is_program(&request->place, operands->list[i])) {
            request->place.program = operands->list[i];
        } else {
            operands->list[count++] = operands->list[i];
        }
    }
    return blocks_process(request->command, &request->place, operands->list, count,
                          &request->symbols, request->json);
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    static struct request request;
    struct sonde__cli_operands operands;
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    bool heap = request.place.pid != 0 || request.place.core != NULL;
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (request.place.pid != 0 && request.place.core != NULL) {
        return sonde__cli_usage_error(command, "--pid and --core cannot be combined");
    }
    if (operands.count == 0 && !heap) {
        return sonde__cli_usage_error(command,
                                      "which program, library, object or archive? give its path");
    }
    request.command = command;
    sonde__cli_symbols_start(&request.symbols, command, 0);
    request.symbols.options.fetch = NULL;
    if (!request.json) {
        sonde__cli_fit_output();
    }
    if (heap) {
        return show_heap(&request, &operands);
    }
    if (request.json) {
        putchar('[');
    }
    for (unsigned i = 0; i < operands.count; i++) {
        show_path(&request, operands.list[i]);
    }
    if (request.json) {
        printf("\n]\n");
    }
    return request.exit_code;
}

const struct sonde__cli_command sonde__cmd_blocks = {
    .name = "blocks",
    .summary = "the blocks (closures) of a file, process or core, and what they hold",
    .usage = "[OPTION...] FILE...\n[OPTION...] --pid=PID [ADDRESS...]\n"
             "[OPTION...] --core=FILE [PROGRAM] [ADDRESS...]",
    .about = "Lists each kind of block in a program, library, object or archive: its place\n"
             "in the source, its type and its captures, with the sources of each. Reads ELF\n"
             "and Mach-O, including universal files and archives, of x86-64 and arm64.\n"
             "Symbols are not needed: blocks of stripped files are found by the shape of\n"
             "their descriptors, and their functions by the code that makes them.\n"
             "\n"
             "If sources disagree, the second opinion follows a semicolon. No code of the\n"
             "file is run. In a folder (a framework, an .xcframework) each file with code is\n"
             "read.\n"
             "\n"
             "With --pid: the live blocks on the heap of a process, most frequent first. The\n"
             "process is not stopped. With --core: those of a core file.",
    .options = options,
    .examples = "  sonde blocks build/server\n"
                "  sonde blocks --arch=arm64 App.app/Contents/MacOS/App\n"
                "  sonde blocks --json libThing.a\n"
                "  sonde blocks Thing.xcframework\n"
                "  sonde blocks --pid=4711\n"
                "  sonde blocks --core=core.4711 0x55d0f7a41120\n",
    .run = run,
};
