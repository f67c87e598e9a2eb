// SPDX-License-Identifier: Apache-2.0
#include "manifest_bundle.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "manifest_file.h"
#include "mem_heap.h"

#define MANIFEST "PrivacyInfo.xcprivacy"

/* Apps have a few dozen; entries of one folder that are looked at. */
enum { NAMES_MAX = 1024, PATH_BYTES = 4096 };

struct reading {
    const struct sonde__cli_command *command;
    struct sonde__cli_bundle *bundle;
    size_t root; /* bytes of the bundle's path, with the slash */
    size_t part; /* the same of the part's folder */
    int exit_code;
};

bool sonde__cli_is_folder(const char *path)
{
    struct stat stat_of;
    return stat(path, &stat_of) == 0 && S_ISDIR(stat_of.st_mode);
}

/* False: too long. */
static bool join(char ret_path[PATH_BYTES], const char *folder, const char *name)
{
    return snprintf(ret_path, PATH_BYTES, "%s/%s", folder, name) < PATH_BYTES;
}

static void add_manifest(struct reading *reading, size_t part, const char *folder)
{
    struct sonde__manifest_part *to = &reading->bundle->parts[part];
    char path[PATH_BYTES];
    if (reading->exit_code != SONDE__CLI_OK || !join(path, folder, MANIFEST) ||
        access(path, F_OK) != 0) {
        return;
    }
    size_t used = strlen(to->files);
    snprintf(to->files + used, sizeof to->files - used, "%s%s", used != 0 ? ", " : "",
             path + reading->root);
    reading->exit_code = sonde__cli_manifest_add(reading->command, path, &to->manifest);
    if (reading->exit_code == SONDE__CLI_OK && reading->bundle->on_file != NULL) {
        const char *inside = strlen(folder) > reading->part ? folder + reading->part : "";
        reading->bundle->on_file(reading->bundle->ctx, to->name, inside, path);
    }
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Call `each` with the path of each entry of a folder whose name ends so, in the order of names. */
static void each_entry(struct reading *reading, size_t part, const char *folder, const char *suffix,
                       void (*each)(struct reading *reading, size_t part, const char *path))
{
    char *names[NAMES_MAX], path[PATH_BYTES];
    size_t count = 0;
    DIR *open = opendir(folder);
    for (struct dirent *entry; open != NULL && (entry = readdir(open)) != NULL;) {
        size_t size = strlen(entry->d_name), suffix_size = strlen(suffix);
        if (size > suffix_size && strcmp(entry->d_name + size - suffix_size, suffix) == 0 &&
            count < NAMES_MAX) {
            names[count] = sonde__mem_copy_string(entry->d_name);
            count += names[count] != NULL;
        }
    }
    if (open != NULL) {
        closedir(open);
    }
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++) {
        if (join(path, folder, names[i]) && sonde__cli_is_folder(path)) {
            each(reading, part, path);
        }
        sonde__mem_free(names[i]);
    }
}

static void add_resources(struct reading *reading, size_t part, const char *path)
{
    char inner[PATH_BYTES];
    add_manifest(reading, part, path);
    if (join(inner, path, "Contents/Resources")) {
        add_manifest(reading, part, inner);
    }
}

/* What declares for the code of one part: in its folder, in that for resources, and in bundles of
 * resources in both. */
static void add_folder(struct reading *reading, size_t part, const char *folder,
                       const char *resources)
{
    char inner[PATH_BYTES];
    reading->part = strlen(folder) + 1;
    add_manifest(reading, part, folder);
    each_entry(reading, part, folder, ".bundle", add_resources);
    if (join(inner, folder, resources) && sonde__cli_is_folder(inner)) {
        add_manifest(reading, part, inner);
        each_entry(reading, part, inner, ".bundle", add_resources);
    }
}

/* Returns its index; SIZE_MAX: no memory. */
static size_t add_part(struct reading *reading, const char *path)
{
    struct sonde__cli_bundle *bundle = reading->bundle;
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    if (!sonde__mem_grow(&bundle->parts, bundle->count, &bundle->capacity, sizeof *bundle->parts)) {
        sonde__cli_error(reading->command, "no memory");
        reading->exit_code = SONDE__CLI_FAILED;
        return SIZE_MAX;
    }
    struct sonde__manifest_part *part = &bundle->parts[bundle->count];
    memset(part, 0, sizeof *part);
    snprintf(part->name, sizeof part->name, "%s", name);
    return bundle->count++;
}

static void add_framework(struct reading *reading, size_t app, const char *path)
{
    (void)app;
    size_t part = add_part(reading, path);
    if (part != SIZE_MAX) {
        add_folder(reading, part, path, "Resources");
    }
}

int sonde__cli_bundle_read(const struct sonde__cli_command *command, const char *path,
                           struct sonde__cli_bundle *ret_bundle)
{
    char folder[PATH_BYTES], inner[PATH_BYTES];
    struct reading reading = {.command = command, .bundle = ret_bundle};
    size_t size = strlen(path);
    *ret_bundle =
        (struct sonde__cli_bundle){.on_file = ret_bundle->on_file, .ctx = ret_bundle->ctx};
    while (size > 1 && path[size - 1] == '/') {
        size--;
    }
    if (size >= PATH_BYTES) {
        sonde__cli_error(command, "%s: the path is too long", path);
        return SONDE__CLI_USAGE;
    }
    snprintf(folder, sizeof folder, "%.*s", (int)size, path);
    reading.root = size + 1;
    size_t app = add_part(&reading, folder);
    if (app == SIZE_MAX) {
        return reading.exit_code;
    }
    add_folder(&reading, app, folder, "Contents/Resources");
    if (join(inner, folder, "Frameworks")) {
        each_entry(&reading, app, inner, ".framework", add_framework);
    }
    if (join(inner, folder, "Contents/Frameworks")) {
        each_entry(&reading, app, inner, ".framework", add_framework);
    }
    return reading.exit_code;
}
