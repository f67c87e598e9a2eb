// SPDX-License-Identifier: Apache-2.0
#include "symfile_dwarf.h"

#include <stdio.h>
#include <string.h>

#include "base_status.h"
#include "base_text.h"
#include "mem_heap.h"
#include "symfile_fetch.h"
#include "symfile_find.h"
#include "symfile_kept.h"

enum { PATH_BYTES = 4096 };

/* As for debug files. */
#define FILE_BYTES_MAX ((uint64_t)64 << 30)

/* FOLDER OF `file`/NAME; an absolute name alone. False: it does not fit. */
static bool path_beside(const char *file, const char *name, char *ret_path)
{
    const char *slash = strrchr(file, '/');
    int folder = slash != NULL && name[0] != '/' ? (int)(slash - file + 1) : 0;
    int size = snprintf(ret_path, PATH_BYTES, "%.*s%s", folder, file, name);
    return size > 0 && size < PATH_BYTES;
}

/* Open the sections, unless they are compressed and must not be inflated. */
static enum sonde_status open_sections(const struct sonde__symfile_options *options,
                                       const struct sonde__elf *elf, bool split,
                                       struct sonde__symfile_sections *ret_sections,
                                       struct sonde_error *ret_error)
{
    struct sonde__elf_section info;
    if (options->no_inflate &&
        (sonde__elf_section_by_name(elf, split ? ".zdebug_info.dwo" : ".zdebug_info", &info) ||
         (sonde__elf_section_by_name(elf, split ? ".debug_info.dwo" : ".debug_info", &info) &&
          (info.flags & SONDE__SHF_COMPRESSED) != 0))) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "its debug sections are compressed",
                                NULL, 0, 0);
    }
    return sonde__symfile_sections_open(elf, split, ret_sections, ret_error);
}

/* --- dwz's file --- */

/* .debug_sup (DWARF 5 §7.3.6). is_common: in the supplementary file itself. */
static bool read_sup(const struct sonde__elf *elf, bool is_common, const char **ret_name,
                     struct sonde__build_id *ret_id)
{
    struct sonde__elf_section section;
    struct sonde__bytes b;
    if (!sonde__elf_section_by_name(elf, ".debug_sup", &section) || section.data == NULL) {
        return false;
    }
    sonde__base_bytes_init(&b, section.data, section.size);
    (void)sonde__base_bytes_u16(&b); /* version */
    bool common = sonde__base_bytes_u8(&b) != 0;
    *ret_name = sonde__base_bytes_string(&b);
    uint64_t size = sonde__base_bytes_uleb(&b);
    if (b.failed || common != is_common || size == 0 || size > SONDE__BUILD_ID_MAX ||
        !sonde__base_bytes_need(&b, size)) {
        return false;
    }
    ret_id->size = (uint8_t)size;
    memcpy(ret_id->bytes, b.at, size);
    return true;
}

static bool is_common_file(const struct sonde__elf *elf, const struct sonde__build_id *wanted)
{
    struct sonde__build_id id = {0};
    const char *name;
    return (sonde__elf_build_id(elf, &id) && symfile_same_build_id(&id, wanted)) ||
           (read_sup(elf, true, &name, &id) && symfile_same_build_id(&id, wanted));
}

static bool try_common(struct sonde__symfile_dwarf *dwarf, const char *root, const char *path,
                       const struct sonde__build_id *id)
{
    struct sonde__host_file file;
    struct sonde__elf elf;
    if (sonde__host_file_map(root, path, FILE_BYTES_MAX, &file, NULL) != SONDE_OK) {
        return false;
    }
    if (sonde__elf_open(file.data, file.size, &elf, NULL) == SONDE_OK && is_common_file(&elf, id) &&
        open_sections(dwarf->options, &elf, false, &dwarf->common, NULL) == SONDE_OK) {
        dwarf->common_file = file;
        return true;
    }
    sonde__host_file_unmap(&file);
    return false;
}

static bool find_fetched(struct sonde__symfile_dwarf *dwarf, const struct sonde__build_id *id)
{
    char path[SONDE__SYMFILE_KEPT_PATH];
    for (unsigned i = 0; i < 2; i++) {
        if (symfile_fetched_path(id, i, path) && try_common(dwarf, NULL, path, id)) {
            return true;
        }
    }
    if (!symfile_fetch(dwarf->options->fetch, id, path)) {
        return false;
    }
    if (try_common(dwarf, NULL, path, id)) {
        return true;
    }
    symfile_fetch_refuse(dwarf->options->fetch, path);
    return false;
}

/* Search the image's root, then ours. */
static bool find_common(struct sonde__symfile_dwarf *dwarf, const char *name,
                        const struct sonde__build_id *id)
{
    const char *const roots[] = {dwarf->options->root, NULL};
    const char *debug_root = dwarf->options->debug_root;
    char path[PATH_BYTES];
    for (unsigned i = 0; i < (roots[0] != NULL && roots[0][0] != '\0' ? 2u : 1u); i++) {
        const char *root = roots[i];
        if ((path_beside(dwarf->pair->debug_path, name, path) &&
             try_common(dwarf, root, path, id)) ||
            (snprintf(path, sizeof path, "%s/.dwz/%s", debug_root, sonde__base_file_name(name)) <
                 PATH_BYTES &&
             try_common(dwarf, root, path, id)) ||
            (symfile_build_id_path(debug_root, id, path, sizeof path) &&
             try_common(dwarf, root, path, id))) {
            return true;
        }
    }
    return dwarf->options->fetch != NULL && find_fetched(dwarf, id);
}

static void open_common(struct sonde__symfile_dwarf *dwarf)
{
    const char *name;
    struct sonde__build_id id;
    if (!sonde__elf_debugaltlink(&dwarf->pair->debug, &name, &id) &&
        !read_sup(&dwarf->pair->debug, false, &name, &id)) {
        return;
    }
    if (!find_common(dwarf, name, &id)) {
        dwarf->damage =
            "dwz's supplementary file (.gnu_debugaltlink) was not found: names are missing";
        return;
    }
    dwarf->damage = dwarf->damage != NULL ? dwarf->damage : dwarf->common.damage;
    dwarf->sections.supplementary = &dwarf->common.views;
}

/* --- split files --- */

struct symfile_split_file {
    struct symfile_split_file *next;
    struct sonde__host_file file;
    struct sonde__symfile_sections sections;
    uint8_t *info, *types; /* joined from several sections, or null */
};

static void close_split(struct symfile_split_file *file)
{
    sonde__mem_free(file->info);
    sonde__mem_free(file->types);
    sonde__symfile_sections_close(&file->sections);
    sonde__host_file_unmap(&file->file);
    sonde__mem_free(file);
}

/* A .dwo is not linked: gcc puts each type unit into its own section, all with the same name. Units
 * are position-independent within a section, so the sections are concatenated, as in a package.
 * False: no memory. */
static bool join_sections(const struct sonde__elf *elf, const char *name, uint8_t **ret_bytes,
                          struct sonde__bytes *view)
{
    struct sonde__elf_section section;
    uint64_t size = 0, at = 0;
    unsigned count = 0;
    for (uint32_t i = 0; sonde__elf_section(elf, i, &section); i++) {
        if (strcmp(section.name, name) == 0 && section.data != NULL) {
            if ((section.flags & SONDE__SHF_COMPRESSED) != 0 ||
                section.size > FILE_BYTES_MAX - size) {
                return true; /* use the first section only */
            }
            size += section.size;
            count++;
        }
    }
    /* sections of a real file do not overlap, so their sum fits in it */
    if (count < 2 || size > (uint64_t)(elf->file.end - elf->file.begin)) {
        return true;
    }
    *ret_bytes = sonde__mem_alloc(size);
    if (*ret_bytes == NULL) {
        return false;
    }
    for (uint32_t i = 0; sonde__elf_section(elf, i, &section); i++) {
        if (strcmp(section.name, name) == 0 && section.data != NULL) {
            memcpy(*ret_bytes + at, section.data, section.size);
            at += section.size;
        }
    }
    sonde__base_bytes_init(view, *ret_bytes, size);
    return true;
}

static struct symfile_split_file *open_split(const struct sonde__symfile_dwarf *dwarf,
                                             const char *path)
{
    struct symfile_split_file *file = sonde__mem_alloc_zeroed(sizeof *file);
    struct sonde__elf elf;
    if (file == NULL) {
        return NULL;
    }
    if (sonde__host_file_map(dwarf->options->root, path, FILE_BYTES_MAX, &file->file, NULL) ==
            SONDE_OK &&
        sonde__elf_open(file->file.data, file->file.size, &elf, NULL) == SONDE_OK &&
        open_sections(dwarf->options, &elf, true, &file->sections, NULL) == SONDE_OK &&
        join_sections(&elf, ".debug_info.dwo", &file->info, &file->sections.views.info) &&
        join_sections(&elf, ".debug_types.dwo", &file->types, &file->sections.views.types)) {
        return file;
    }
    close_split(file);
    return NULL;
}

/* --- ownership of split units --- */

struct symfile_given {
    uint64_t id; /* of the split unit */
    uint64_t skeleton;
};

/* Only the first skeleton in the file that claims a split unit gets it, each time it asks. False:
 * another one has it, or no memory. */
static bool give(struct sonde__symfile_dwarf *dwarf, const struct sonde__dwarf_unit *skeleton)
{
    uint64_t id = skeleton->dwo_id;
    uint32_t hash = sonde__mem_hash(id);
    uint32_t given = SONDE__TABLE_FIND(&dwarf->given_table, hash, i, dwarf->given[i].id == id);
    if (given == SONDE__TABLE_NONE) {
        given = (uint32_t)dwarf->given_count;
        if (!sonde__mem_grow(&dwarf->given, given, &dwarf->given_capacity, sizeof *dwarf->given) ||
            !sonde__mem_table_add(&dwarf->given_table, hash, given)) {
            return false;
        }
        dwarf->given_count++;
    } else if (dwarf->given[given].skeleton < skeleton->offset) {
        return false;
    }
    dwarf->given[given] = (struct symfile_given){id, skeleton->offset};
    return true;
}

/* --- packages --- */

static bool try_package(struct sonde__symfile_dwarf *dwarf, const char *path, size_t size)
{
    char text[PATH_BYTES];
    int length = snprintf(text, sizeof text, "%.*s.dwp", (int)size, path);
    if (dwarf->package == NULL && length > 0 && length < PATH_BYTES) {
        dwarf->package = open_split(dwarf, text);
    }
    return dwarf->package != NULL;
}

static void find_package(struct sonde__symfile_dwarf *dwarf)
{
    const char *debug = dwarf->pair->debug_path;
    size_t size = strlen(debug);
    dwarf->package_tried = true;
    if (try_package(dwarf, debug, size) ||
        try_package(dwarf, dwarf->pair->own_path, strlen(dwarf->pair->own_path))) {
        return;
    }
    if (size > 6 && strcmp(debug + size - 6, ".debug") == 0) {
        (void)try_package(dwarf, debug, size - 6);
    }
}

static bool in_package(struct sonde__symfile_dwarf *dwarf, uint64_t id,
                       struct sonde__dwarf_split *ret_split)
{
    uint32_t row;
    if (!dwarf->package_tried) {
        find_package(dwarf);
    }
    return dwarf->package != NULL &&
           sonde__dwarf_package_find(&dwarf->package->sections.views, id, &ret_split->sections,
                                     &row) &&
           sonde__dwarf_split_find(&ret_split->sections, id, &ret_split->offset);
}

bool sonde__symfile_dwarf_type(void *ctx, uint64_t signature, struct sonde__dwarf_split *ret_split)
{
    struct sonde__symfile_dwarf *dwarf = ctx;
    if (!dwarf->package_tried) {
        find_package(dwarf);
    }
    if (dwarf->package == NULL || !sonde__dwarf_package_type(&dwarf->package->sections.views,
                                                             signature, &ret_split->sections)) {
        return false;
    }
    ret_split->offset = 0;
    sonde__dwarf_split_join(&ret_split->sections, &dwarf->sections);
    return true;
}

bool sonde__symfile_dwarf_type_at(void *ctx, uint32_t index, uint64_t *ret_signature)
{
    struct sonde__symfile_dwarf *dwarf = ctx;
    if (!dwarf->package_tried) {
        find_package(dwarf);
    }
    return dwarf->package != NULL &&
           sonde__dwarf_package_type_at(&dwarf->package->sections.views, index, ret_signature);
}

/* --- .dwo files --- */

static bool try_file(struct sonde__symfile_dwarf *dwarf, const char *path, uint64_t id,
                     struct sonde__dwarf_split *ret_split)
{
    struct symfile_split_file *file = open_split(dwarf, path);
    if (file == NULL) {
        return false;
    }
    if (!sonde__dwarf_split_find(&file->sections.views, id, &ret_split->offset)) {
        close_split(file);
        return false;
    }
    ret_split->sections = file->sections.views;
    file->next = dwarf->files;
    dwarf->files = file;
    return true;
}

static bool in_file(struct sonde__symfile_dwarf *dwarf, const struct sonde__dwarf_unit *skeleton,
                    struct sonde__dwarf_split *ret_split)
{
    const char *name = skeleton->dwo_name;
    const char *folder = name[0] != '/' && skeleton->comp_dir != NULL ? skeleton->comp_dir : "";
    const char *const files[] = {dwarf->pair->debug_path, dwarf->pair->own_path};
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s%s%s", folder, folder[0] != '\0' ? "/" : "", name);
    if (length > 0 && length < PATH_BYTES && path[0] == '/' &&
        try_file(dwarf, path, skeleton->dwo_id, ret_split)) {
        return true;
    }
    for (unsigned i = 0; i < sizeof files / sizeof files[0]; i++) {
        if ((name[0] != '/' && path_beside(files[i], name, path) &&
             try_file(dwarf, path, skeleton->dwo_id, ret_split)) ||
            (path_beside(files[i], sonde__base_file_name(name), path) &&
             try_file(dwarf, path, skeleton->dwo_id, ret_split))) {
            return true;
        }
    }
    return false;
}

bool sonde__symfile_dwarf_split(void *ctx, const struct sonde__dwarf_unit *skeleton,
                                struct sonde__dwarf_split *ret_split)
{
    struct sonde__symfile_dwarf *dwarf = ctx;
    if (!give(dwarf, skeleton) ||
        (!in_package(dwarf, skeleton->dwo_id, ret_split) && !in_file(dwarf, skeleton, ret_split))) {
        return false;
    }
    sonde__dwarf_split_join(&ret_split->sections, &dwarf->sections);
    return true;
}

/* --- everything --- */

enum sonde_status sonde__symfile_dwarf_open(const struct sonde__symfile_options *options,
                                            const struct sonde__symfile_pair *pair,
                                            struct sonde__symfile_dwarf *ret_dwarf,
                                            struct sonde_error *ret_error)
{
    struct sonde__symfile_dwarf *dwarf = ret_dwarf;
    *dwarf = (struct sonde__symfile_dwarf){.options = options, .pair = pair};
    enum sonde_status status = open_sections(options, &pair->debug, false, &dwarf->own, ret_error);
    if (status == SONDE_OK) {
        dwarf->sections = dwarf->own.views;
        dwarf->damage = dwarf->own.damage;
        open_common(dwarf);
    }
    return status;
}

void sonde__symfile_dwarf_close(struct sonde__symfile_dwarf *dwarf)
{
    while (dwarf->files != NULL) {
        struct symfile_split_file *file = dwarf->files;
        dwarf->files = file->next;
        close_split(file);
    }
    if (dwarf->package != NULL) {
        close_split(dwarf->package);
    }
    sonde__symfile_sections_close(&dwarf->common);
    sonde__host_file_unmap(&dwarf->common_file);
    sonde__symfile_sections_close(&dwarf->own);
    sonde__mem_free(dwarf->given);
    sonde__mem_table_done(&dwarf->given_table);
    *dwarf = (struct sonde__symfile_dwarf){0};
}
