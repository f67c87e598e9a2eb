// SPDX-License-Identifier: Apache-2.0
#include "symbolize_modules.h"

#include <string.h>
#include <unistd.h>

#include "mem_heap.h"
#include "symfile_open.h"

enum { PATH_BYTES = 4096, BUILD_ID_DIGITS_MIN = 16 };

/* More than any process has; a log could name any number, and each is looked for. */
enum { MODULES_MAX = 4096 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool is_build_id(const char *name)
{
    size_t digits = strspn(name, "0123456789abcdef");
    return name[digits] == '\0' && digits % 2 == 0 && digits >= BUILD_ID_DIGITS_MIN;
}

/* Has the opened index this build-id? One that has none is not refused. */
static bool is_right(const struct sonde__cli_index *index, const char *build_id)
{
    char own[SONDE__CLI_BUILD_ID_TEXT];
    sonde__cli_build_id_text(&index->index.build_id, own);
    return build_id == NULL || own[0] == '\0' || strcmp(own, build_id) == 0;
}

static bool try_open(const struct symbolize_modules *modules, struct symbolize_module *module,
                     const char *path, const char *build_id)
{
    struct sonde_error error;
    if (access(path, R_OK) != 0) {
        return false;
    }
    if (sonde__cli_index_open(path, SONDE__CLI_INDEX_MADE_OF_SYMBOLS, &module->index, &error) !=
        SONDE_OK) {
        sonde__cli_error(modules->command, "%s: %s", path, error.what);
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
        module->found = true;
        return true;
    }
    sonde__cli_index_close(&module->index);
    return false;
}

/* FOLDER/ID.sndidx, FOLDER/.build-id/xx/rest.debug. */
static bool try_folder(const struct symbolize_modules *modules, struct symbolize_module *module,
                       const char *folder, const char *build_id)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s.sndidx", folder, build_id);
    if (try_open(modules, module, path, build_id)) {
        return true;
    }
    snprintf(path, sizeof path, "%s/.build-id/%.2s/%s.debug", folder, build_id, build_id + 2);
    return try_open(modules, module, path, build_id);
}

static bool try_build_id(const struct symbolize_modules *modules, struct symbolize_module *module,
                         const char *build_id)
{
    for (unsigned i = 0; i < modules->folder_count; i++) {
        if (try_folder(modules, module, modules->folders[i], build_id)) {
            return true;
        }
    }
    return try_folder(modules, module, "/usr/lib/debug", build_id);
}

/* A file's index from the folders, by the build-id that the file has; else the file itself. */
static bool try_file(const struct symbolize_modules *modules, struct symbolize_module *module,
                     const char *path, const char *build_id)
{
    struct sonde__symfile_options options = {.debug_root = "/nonexistent"};
    struct sonde__symfile_pair pair;
    struct sonde__build_id id = {0};
    if (modules->folder_count != 0 && path[0] == '/' &&
        sonde__symfile_open(&options, path, &pair, NULL) == SONDE_OK) {
        char text[SONDE__CLI_BUILD_ID_TEXT];
        (void)sonde__elf_build_id(&pair.own, &id);
        sonde__symfile_close(&pair);
        sonde__cli_build_id_text(&id, text);
        if (id.size >= BUILD_ID_DIGITS_MIN / 2 &&
            (build_id == NULL || strcmp(text, build_id) == 0)) {
            for (unsigned i = 0; i < modules->folder_count; i++) {
                if (try_folder(modules, module, modules->folders[i], text)) {
                    return true;
                }
            }
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

static bool find(struct symbolize_modules *modules, struct symbolize_module *module)
{
    const char *name = module->name;
    const char *build_id = module->build_id;
    const struct symbolize_image *image = image_of(modules, name);
    if (image != NULL) {
        name = image->path;
        build_id = image->build_id[0] != '\0' ? image->build_id : NULL;
    }
    if (build_id == NULL && is_build_id(name)) {
        build_id = name;
    }
    for (unsigned i = 0; i < modules->file_count; i++) {
        const char *file = modules->files[i];
        const char *equals = strchr(file, '=');
        bool named;
        if (equals != NULL && memchr(file, '/', (size_t)(equals - file)) == NULL) {
            size_t length = (size_t)(equals - file);
            named = strncmp(file, base_name(name), length) == 0 && base_name(name)[length] == '\0';
            file = equals + 1;
        } else {
            named = strcmp(base_name(file), base_name(name)) == 0;
        }
        /* by its name, or an index by its build-id; without a name the first */
        if (name[0] == '\0' || named || (build_id != NULL && strstr(file, ".sndidx") != NULL)) {
            if (try_open(modules, module, file, build_id)) {
                return true;
            }
        }
    }
    if (build_id != NULL && try_build_id(modules, module, build_id)) {
        return true;
    }
    return strchr(name, '/') != NULL && try_file(modules, module, name, build_id);
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
    if (!find(modules, module)) {
        sonde__cli_error(modules->command, "%s: no file or index of it%s%s",
                         name[0] != '\0' ? name : "an address without a module",
                         build_id != NULL ? " with build-id " : "",
                         build_id != NULL ? build_id : "");
        if (modules->exit_code == SONDE__CLI_OK) {
            modules->exit_code = SONDE__CLI_ABSENT;
        }
        return NULL;
    }
    return module;
}

void symbolize_modules_done(struct symbolize_modules *modules)
{
    while (modules->opened != NULL) {
        struct symbolize_module *module = modules->opened;
        modules->opened = module->next;
        if (module->found) {
            sonde__cli_index_close(&module->index);
        }
        sonde__mem_free(module->name);
        sonde__mem_free(module->build_id);
        sonde__mem_free(module);
    }
}
