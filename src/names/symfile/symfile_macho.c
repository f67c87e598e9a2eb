// SPDX-License-Identifier: Apache-2.0
#include "symfile_macho.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base_status.h"
#include "symfile_find.h"

/* Limit far above today's programs and debug files; mapped, not read. */
#define FILE_BYTES_MAX ((uint64_t)64 << 30)
#define DWARF_FOLDER   "Contents/Resources/DWARF"

enum {
    PATH_BYTES = 4096,
    /* files of one folder that are examined */
    ENTRIES_MAX = 4096,
    /* Foo.app/Contents/Frameworks/Bar.framework/Versions/A/Bar has seven above it */
    ANCESTORS_MAX = 8,
};

/* --- one file --- */

struct choice {
    const struct sonde__symfile_macho_wanted *wanted;
    struct sonde__macho *macho; /* of the first match */
    struct sonde_error *error;
    enum sonde_status status; /* of opening it */
    unsigned seen, fitting, archived;
};

static bool fits(const struct sonde__symfile_macho_wanted *wanted, const struct sonde__macho *macho)
{
    if (wanted->uuid != NULL && wanted->uuid->size != 0 &&
        !symfile_same_build_id(wanted->uuid, &macho->uuid)) {
        return false;
    }
    return wanted->arch == NULL ||
           strcmp(wanted->arch, sonde__macho_arch_name(macho->cpu, macho->subtype)) == 0;
}

static bool choose(void *ctx, const struct sonde__macho_member *member)
{
    struct choice *choice = ctx;
    struct sonde__macho macho;
    enum sonde_status status;
    if (member->name != NULL) {
        choice->archived++;
        return false;
    }
    status = sonde__macho_open(member->data, member->size, &macho, choice->error);
    choice->seen++;
    if (status != SONDE_OK) {
        choice->status = status;
    } else if (fits(choice->wanted, &macho) && choice->fitting++ == 0) {
        *choice->macho = macho;
    }
    return true;
}

/* Choose the wanted Mach-O of a mapped file. */
static enum sonde_status choose_slice(const struct sonde__host_file *file,
                                      const struct sonde__symfile_macho_wanted *wanted,
                                      struct sonde__macho *ret_macho, struct sonde_error *ret_error)
{
    struct choice choice = {.wanted = wanted, .macho = ret_macho, .error = ret_error};
    enum sonde_status status =
        sonde__macho_each(file->data, file->size, choose, &choice, ret_error);
    bool said = wanted->arch != NULL || (wanted->uuid != NULL && wanted->uuid->size != 0);
    if (choice.fitting != 0 && (choice.fitting == 1 || said)) {
        return SONDE_OK;
    }
    if (status != SONDE_OK || choice.status != SONDE_OK) {
        return status != SONDE_OK ? status : choice.status;
    }
    if (choice.archived != 0) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "an archive: its objects have no addresses before they are linked",
                                NULL, 0, 0);
    }
    if (choice.fitting > 1) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "it has code of several machines, and none was chosen", NULL, 0, 0);
    }
    return sonde__base_fail(ret_error, SONDE_ABSENT,
                            wanted->arch != NULL ? "nothing in it is of that machine"
                                                 : "nothing in it has that UUID",
                            NULL, 0, 0);
}

static enum sonde_status open_file(const char *path,
                                   const struct sonde__symfile_macho_wanted *wanted,
                                   struct sonde__host_file *ret_file,
                                   struct sonde__macho *ret_macho, struct sonde_error *ret_error)
{
    enum sonde_status status;
    SONDE_TRY(sonde__host_file_map(NULL, path, FILE_BYTES_MAX, ret_file, ret_error));
    status = choose_slice(ret_file, wanted, ret_macho, ret_error);
    if (status != SONDE_OK) {
        sonde__host_file_unmap(ret_file);
    }
    return status;
}

static bool has_debug_information(const struct sonde__macho *macho)
{
    struct sonde__macho_section section;
    return sonde__macho_section_by_name(macho, "__DWARF", "__debug_info", &section) &&
           section.data != NULL;
}

/* --- bundles --- */

static bool has_suffix(const char *text, const char *suffix)
{
    size_t size = strlen(text), tail = strlen(suffix);
    return size > tail && strcmp(text + size - tail, suffix) == 0;
}

/* Find the matching file in a bundle, and put its path into `path`. */
static bool find_in_bundle(const char *bundle, const struct sonde__symfile_macho_wanted *wanted,
                           char *path, size_t size)
{
    char folder[PATH_BYTES];
    struct sonde__host_file file;
    struct sonde__macho macho;
    struct sonde_error error;
    bool found = false;
    DIR *dir;
    if (snprintf(folder, sizeof folder, "%s/" DWARF_FOLDER, bundle) >= (int)sizeof folder) {
        return false;
    }
    dir = opendir(folder);
    for (unsigned i = 0; dir != NULL && !found && i < ENTRIES_MAX; i++) {
        const struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            break;
        }
        if (entry->d_name[0] != '.' &&
            snprintf(path, size, "%s/%s", folder, entry->d_name) < (int)size &&
            open_file(path, wanted, &file, &macho, &error) == SONDE_OK) {
            sonde__host_file_unmap(&file);
            found = true;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}

bool sonde__symfile_macho_find(const char *folder, const struct sonde__build_id *uuid, char *path,
                               size_t size)
{
    const struct sonde__symfile_macho_wanted wanted = {.uuid = uuid};
    char bundle[PATH_BYTES];
    bool found = false;
    DIR *dir;
    if (uuid->size != SONDE__MACHO_UUID_BYTES) {
        return false;
    }
    if (has_suffix(folder, ".dSYM")) {
        return find_in_bundle(folder, &wanted, path, size);
    }
    dir = opendir(folder);
    for (unsigned i = 0; dir != NULL && !found && i < ENTRIES_MAX; i++) {
        const struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            break;
        }
        found =
            has_suffix(entry->d_name, ".dSYM") &&
            snprintf(bundle, sizeof bundle, "%s/%s", folder, entry->d_name) < (int)sizeof bundle &&
            find_in_bundle(bundle, &wanted, path, size);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}

/* Try PATH.dSYM, and the same for the folders above. */
static bool find_beside(const char *own, const struct sonde__symfile_macho_wanted *wanted,
                        char *path, size_t size)
{
    char stem[PATH_BYTES], bundle[PATH_BYTES];
    if (snprintf(stem, sizeof stem, "%s", own) >= (int)sizeof stem) {
        return false;
    }
    for (unsigned i = 0; i < ANCESTORS_MAX; i++) {
        char *slash;
        if (snprintf(bundle, sizeof bundle, "%s.dSYM", stem) < (int)sizeof bundle &&
            find_in_bundle(bundle, wanted, path, size)) {
            return true;
        }
        slash = strrchr(stem, '/');
        if (slash == NULL || slash == stem) {
            return false;
        }
        *slash = '\0';
    }
    return false;
}

static void find_debug(const char *path, const struct sonde__symfile_macho_wanted *wanted,
                       struct sonde__symfile_macho *macho)
{
    const struct sonde__symfile_macho_wanted same = {.uuid = &macho->own.uuid};
    char found[PATH_BYTES];
    struct sonde_error error;
    bool any = macho->own.uuid.size != 0 && find_beside(path, &same, found, sizeof found);
    for (unsigned i = 0; !any && i < wanted->folder_count; i++) {
        any = sonde__symfile_macho_find(wanted->folders[i], same.uuid, found, sizeof found);
    }
    if (any && open_file(found, &same, &macho->debug_file, &macho->debug, &error) == SONDE_OK) {
        macho->separate = true;
    }
}

enum sonde_status sonde__symfile_macho_open(const char *path,
                                            const struct sonde__symfile_macho_wanted *wanted,
                                            struct sonde__symfile_macho *ret_macho,
                                            struct sonde_error *ret_error)
{
    char inside[PATH_BYTES];
    struct sonde__symfile_macho macho = {0};
    if (find_in_bundle(path, wanted, inside, sizeof inside)) {
        path = inside;
    }
    SONDE_TRY(open_file(path, wanted, &macho.own_file, &macho.own, ret_error));
    macho.debug = macho.own;
    if (!has_debug_information(&macho.own)) {
        find_debug(path, wanted, &macho);
    }
    *ret_macho = macho;
    return SONDE_OK;
}

void sonde__symfile_macho_close(struct sonde__symfile_macho *macho)
{
    if (macho->separate) {
        sonde__host_file_unmap(&macho->debug_file);
    }
    sonde__host_file_unmap(&macho->own_file);
    *macho = (struct sonde__symfile_macho){0};
}

/* --- slices --- */

struct slices {
    struct sonde__symfile_slice *all;
    unsigned count;
};

static bool take_slice(void *ctx, const struct sonde__macho_member *member)
{
    struct slices *slices = ctx;
    struct sonde__macho macho;
    struct sonde_error error;
    if (member->name == NULL && slices->count < SONDE__SYMFILE_SLICES_MAX &&
        sonde__macho_open(member->data, member->size, &macho, &error) == SONDE_OK) {
        slices->all[slices->count].uuid = macho.uuid;
        slices->all[slices->count++].arch = sonde__macho_arch_name(macho.cpu, macho.subtype);
    }
    return slices->count < SONDE__SYMFILE_SLICES_MAX;
}

unsigned sonde__symfile_macho_slices(const char *path, struct sonde__symfile_slice *ret_slices)
{
    struct slices slices = {.all = ret_slices};
    char folder[PATH_BYTES], inside[PATH_BYTES];
    struct sonde__host_file file;
    struct sonde_error error;
    DIR *dir = NULL;
    if (snprintf(folder, sizeof folder, "%s/" DWARF_FOLDER, path) < (int)sizeof folder) {
        dir = opendir(folder);
    }
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.' &&
            snprintf(inside, sizeof inside, "%s/%s", folder, entry->d_name) < (int)sizeof inside) {
            path = inside; /* a bundle has one file for all machines */
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    if (sonde__host_file_map(NULL, path, FILE_BYTES_MAX, &file, &error) != SONDE_OK) {
        return 0;
    }
    (void)(sonde__macho_each(file.data, file.size, take_slice, &slices, &error) == SONDE_OK);
    sonde__host_file_unmap(&file);
    return slices.count;
}
