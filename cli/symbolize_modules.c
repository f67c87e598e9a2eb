// SPDX-License-Identifier: Apache-2.0
#include "symbolize_modules.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base_text.h"
#include "cli_hint.h"
#include "mem_heap.h"
#include "symfile_macho.h"
#include "symfile_open.h"

enum { PATH_BYTES = 4096, BUILD_ID_DIGITS_MIN = 16 };

/* More than any process has. A log could name any number, and each costs a search. */
enum { MODULES_MAX = 4096 };

static bool is_build_id(const char *name)
{
    size_t digits = strspn(name, "0123456789abcdef");
    return name[digits] == '\0' && digits % 2 == 0 && digits >= BUILD_ID_DIGITS_MIN;
}

bool symbolize_uuid(const char *text, size_t size, char *ret_digits)
{
    size_t digits = 0;
    if (size != 36) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        char c = text[i];
        if (dash ? c != '-' : strchr("0123456789abcdefABCDEF", c) == NULL || c == '\0') {
            return false;
        }
        if (!dash) {
            ret_digits[digits++] = (char)(c >= 'A' && c <= 'F' ? c | 0x20 : c);
        }
    }
    ret_digits[digits] = '\0';
    return true;
}

/* Does the opened index have this build-id? One without any is accepted. */
static bool is_right(const struct sonde__symfile_index_file *index, const char *build_id)
{
    char own[SONDE__SYMFILE_ID_TEXT];
    sonde__symfile_id_text(&index->index.build_id, own);
    return build_id == NULL || own[0] == '\0' || strcmp(own, build_id) == 0;
}

static bool try_open(struct symbolize_modules *modules, struct symbolize_module *module,
                     const char *path, const char *build_id)
{
    struct sonde__symfile_index_wanted wanted = {.arch = modules->arch};
    struct sonde_error error;
    if (access(path, R_OK) != 0) {
        return false;
    }
    if (build_id != NULL) {
        (void)sonde__symfile_id_parse(build_id, &wanted.uuid);
    }
    if (sonde__symfile_index_file_open(&modules->symbols->options, path,
                                       SONDE__SYMFILE_INDEX_MADE_OF_SYMBOLS, &wanted,
                                       &module->index, &error) != SONDE_OK) {
        sonde__cli_error(modules->command, "%s: %s", path, error.what);
        modules->said = true;
        return false;
    }
    if (is_right(&module->index, build_id)) {
        if (module->index.symbols_only) {
            sonde__cli_error(
                modules->command,
                "%s: its debug information is compressed, and the library for it is not "
                "here; names only",
                path);
        }
        if (module->index.cut) {
            sonde__cli_error(modules->command, "%s: cut off: names of what is left of it only",
                             path);
        }
        sonde__symindex_tails(&module->index.index, &module->tails);
        module->found = true;
        return true;
    }
    sonde__symfile_index_file_close(&module->index);
    return false;
}

/* FOLDER/ID.sndidx, FOLDER/.build-id/xx/rest.debug, FOLDER/NAME.dSYM. */
static bool try_folder(struct symbolize_modules *modules, struct symbolize_module *module,
                       const char *folder, const char *build_id)
{
    char path[PATH_BYTES];
    struct sonde__build_id id;
    snprintf(path, sizeof path, "%s/%s.sndidx", folder, build_id);
    if (try_open(modules, module, path, build_id)) {
        return true;
    }
    snprintf(path, sizeof path, "%s/.build-id/%.2s/%s.debug", folder, build_id, build_id + 2);
    if (try_open(modules, module, path, build_id)) {
        return true;
    }
    return sonde__symfile_id_parse(build_id, &id) &&
           sonde__symfile_macho_find(folder, &id, path, sizeof path) &&
           try_open(modules, module, path, build_id);
}

static bool try_build_id(struct symbolize_modules *modules, struct symbolize_module *module,
                         const char *build_id)
{
    for (unsigned i = 0; i < modules->symbols->folders.count; i++) {
        if (try_folder(modules, module, modules->symbols->folders.items[i], build_id)) {
            return true;
        }
    }
    char kept[SONDE__SYMFILE_KEPT_PATH];
    struct sonde__build_id id;
    return try_folder(modules, module, modules->symbols->options.debug_root, build_id) ||
           (!modules->symbols->no_cache && sonde__symfile_id_parse(build_id, &id) &&
            sonde__symfile_kept_path(&id, kept) && try_open(modules, module, kept, build_id));
}

/* Its index from the folders. */
static bool try_folders(struct symbolize_modules *modules, struct symbolize_module *module,
                        const struct sonde__build_id *id, const char *build_id)
{
    char text[SONDE__SYMFILE_ID_TEXT];
    sonde__symfile_id_text(id, text);
    if (id->size < BUILD_ID_DIGITS_MIN / 2 || (build_id != NULL && strcmp(text, build_id) != 0)) {
        return false;
    }
    for (unsigned i = 0; i < modules->symbols->folders.count; i++) {
        if (try_folder(modules, module, modules->symbols->folders.items[i], text)) {
            return true;
        }
    }
    return false;
}

/* The ids of a file: one, or one for each machine of a Mach-O. */
static unsigned ids_of(const char *path, struct sonde__symfile_slice *ret_slices)
{
    struct sonde__symfile_options options = {.debug_root = "/nonexistent"};
    struct sonde__symfile_pair pair;
    unsigned count = sonde__symfile_macho_slices(path, ret_slices);
    if (count == 0 && sonde__symfile_open(&options, path, &pair, NULL) == SONDE_OK) {
        ret_slices[0] = (struct sonde__symfile_slice){0};
        (void)sonde__elf_build_id(&pair.own, &ret_slices[0].uuid);
        sonde__symfile_close(&pair);
        count = 1;
    }
    return count;
}

/* The index of a file from the folders, by build-id; else the file itself. */
static bool try_file(struct symbolize_modules *modules, struct symbolize_module *module,
                     const char *path, const char *build_id)
{
    struct sonde__symfile_slice slices[SONDE__SYMFILE_SLICES_MAX];
    unsigned count =
        modules->symbols->folders.count != 0 && path[0] == '/' ? ids_of(path, slices) : 0;
    for (unsigned i = 0; i < count; i++) {
        bool meant = count == 1 || build_id != NULL ||
                     (modules->arch != NULL && strcmp(modules->arch, slices[i].arch) == 0);
        if (meant && try_folders(modules, module, &slices[i].uuid, build_id)) {
            return true;
        }
    }
    return try_open(modules, module, path, build_id);
}

/* The only image of a report that has this name; null: none, or several. */
static const struct symbolize_image *image_of(const struct symbolize_modules *modules,
                                              const char *name)
{
    const struct symbolize_image *found = NULL;
    for (uint32_t i = 0; i < modules->image_count; i++) {
        if (strcmp(modules->images[i].name, name) == 0) {
            if (found != NULL && strcmp(found->build_id, modules->images[i].build_id) != 0) {
                return NULL;
            }
            found = &modules->images[i];
        }
    }
    return found;
}

/* Does `file` of --module have that name? A bundle is named after its program. */
static bool is_named(const char *file, const char *name)
{
    size_t size = strlen(name);
    file = sonde__base_file_name(file);
    return strncmp(file, name, size) == 0 &&
           (file[size] == '\0' || strcmp(file + size, ".dSYM") == 0);
}

/* "NAME=FILE": the file, and the length of NAME; 0: no name is given. */
static const char *given_file(const char *given, size_t *ret_name_size)
{
    const char *equals = strchr(given, '=');
    bool has_name = equals != NULL && memchr(given, '/', (size_t)(equals - given)) == NULL;
    *ret_name_size = has_name ? (size_t)(equals - given) : 0;
    return has_name ? equals + 1 : given;
}

static bool try_fetched(struct symbolize_modules *modules, struct symbolize_module *module,
                        const char *build_id)
{
    char path[SONDE__SYMFILE_KEPT_PATH];
    struct sonde__build_id id;
    return sonde__symfile_id_parse(build_id, &id) &&
           sonde__symfile_fetched(&modules->symbols->options, &id, path) &&
           try_open(modules, module, path, build_id);
}

static bool find(struct symbolize_modules *modules, struct symbolize_module *module)
{
    char uuid[SONDE__SYMFILE_ID_TEXT];
    const char *name = module->name;
    const char *build_id = module->build_id;
    const struct symbolize_image *image = image_of(modules, name);
    if (image != NULL) {
        name = image->path;
        build_id = image->build_id[0] != '\0' ? image->build_id : NULL;
    }
    if (build_id == NULL && is_build_id(name)) {
        build_id = name;
    } else if (build_id == NULL && symbolize_uuid(name, strlen(name), uuid)) {
        build_id = uuid;
    }
    for (unsigned i = 0; i < modules->files.count; i++) {
        const char *given = modules->files.items[i];
        size_t length;
        const char *file = given_file(given, &length);
        bool named = length == 0 ? is_named(file, sonde__base_file_name(name))
                                 : strncmp(given, sonde__base_file_name(name), length) == 0 &&
                                       sonde__base_file_name(name)[length] == '\0';
        /* by its name, or an index by its build-id; without a name the first */
        if (name[0] == '\0' && i != 0) {
            break; /* addresses without a module belong to the first one */
        }
        if (name[0] == '\0' || named || (build_id != NULL && strstr(file, ".sndidx") != NULL)) {
            if (try_open(modules, module, file, build_id)) {
                return true;
            }
            if (access(file, R_OK) != 0) {
                sonde__cli_error(modules->command, "%s: %s", file, strerror(errno));
                modules->said = true;
            }
        }
    }
    if (build_id != NULL && try_build_id(modules, module, build_id)) {
        return true;
    }
    /* modules that the user names may be in the working directory */
    bool is_path = strchr(name, '/') != NULL || (modules->asked && name[0] != '\0');
    return (is_path && try_file(modules, module, name, build_id)) ||
           (build_id != NULL && try_fetched(modules, module, build_id));
}

static void say_absent(const struct symbolize_modules *modules, const char *name,
                       const char *build_id)
{
    const struct symbolize_image *image = image_of(modules, name);
    const char *path = image != NULL ? image->path : name;
    char hint[SONDE__CLI_HINT_BYTES] = "";
    if (build_id != NULL || path[0] == '/' || is_build_id(name)) {
        sonde__cli_hint(NULL, path, !modules->symbols->no_network, hint);
    }
    sonde__cli_error(modules->command, "%s: no file or index of it%s%s%s%s%s",
                     name[0] != '\0' ? name : "an address without a module",
                     build_id != NULL ? " with build-id " : "", build_id != NULL ? build_id : "",
                     hint[0] != '\0' ? " (" : "", hint, hint[0] != '\0' ? ")" : "");
}

struct symbolize_module *symbolize_module(struct symbolize_modules *modules, const char *name,
                                          const char *build_id)
{
    struct symbolize_module *module;
    for (module = modules->opened; module != NULL; module = module->next) {
        if (strcmp(module->name, name) == 0 && (build_id == NULL) == (module->build_id == NULL) &&
            (build_id == NULL || strcmp(build_id, module->build_id) == 0)) {
            return module->found ? module : NULL;
        }
    }
    if (modules->opened_count == MODULES_MAX) {
        if (!modules->too_many) {
            sonde__cli_error(modules->command, "more than %d modules: further ones are left out",
                             MODULES_MAX);
        }
        modules->too_many = true;
        return NULL;
    }
    modules->opened_count++;
    module = sonde__mem_alloc_zeroed(sizeof *module);
    if (module == NULL) {
        return NULL;
    }
    module->name = sonde__mem_copy_string(name);
    module->build_id = build_id != NULL ? sonde__mem_copy_string(build_id) : NULL;
    if (module->name == NULL || (build_id != NULL && module->build_id == NULL)) {
        sonde__mem_free(module->name);
        sonde__mem_free(module);
        return NULL;
    }
    module->next = modules->opened;
    modules->opened = module;
    modules->said = false;
    if (!find(modules, module)) {
        if (!modules->said || name[0] != '\0') {
            say_absent(modules, name, build_id);
        }
        if (modules->exit_code == SONDE__CLI_OK) {
            modules->exit_code = SONDE__CLI_ABSENT;
        }
        return NULL;
    }
    return module;
}

static bool is_same_image(const struct symbolize_module *a, const struct symbolize_module *b)
{
    const struct sonde__build_id *x = &a->index.index.build_id, *y = &b->index.index.build_id;
    return a == b ||
           (x->size != 0 && x->size == y->size && memcmp(x->bytes, y->bytes, x->size) == 0);
}

/* New modules are put in front: numbers count from the end of the list, so that they stay. */
uint32_t symbolize_module_number(const struct symbolize_modules *modules,
                                 const struct symbolize_module *module)
{
    uint32_t number = 0;
    for (const struct symbolize_module *at = modules->opened; at != NULL; at = at->next) {
        number = at->found && is_same_image(at, module) ? 0 : number + 1; /* it is in the list */
    }
    return number;
}

struct symbolize_module *symbolize_module_at(const struct symbolize_modules *modules,
                                             uint32_t number)
{
    struct symbolize_module *module = modules->opened;
    uint32_t count = 0;
    for (const struct symbolize_module *at = module; at != NULL; at = at->next) {
        count++;
    }
    for (uint32_t i = 0; i + number + 1 < count; i++) {
        module = module->next;
    }
    return module;
}

void symbolize_open_named(struct symbolize_modules *modules)
{
    if (modules->named_opened) {
        return;
    }
    modules->named_opened = true;
    for (unsigned i = 0; i < modules->files.count; i++) {
        char name[PATH_BYTES];
        size_t length;
        const char *file = given_file(modules->files.items[i], &length);
        if (length == 0) {
            snprintf(name, sizeof name, "%s", sonde__base_file_name(file));
        } else {
            snprintf(name, sizeof name, "%.*s", (int)length, modules->files.items[i]);
        }
        (void)symbolize_module(modules, name, NULL);
    }
}

void symbolize_modules_done(struct symbolize_modules *modules)
{
    while (modules->opened != NULL) {
        struct symbolize_module *module = modules->opened;
        modules->opened = module->next;
        if (module->found) {
            sonde__symfile_index_file_close(&module->index);
        }
        sonde__mem_free(module->name);
        sonde__mem_free(module->build_id);
        sonde__mem_free(module);
    }
}
