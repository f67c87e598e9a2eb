// SPDX-License-Identifier: Apache-2.0
#include "symbolize_images.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base_text.h"
#include "cli_hint.h"
#include "mem_heap.h"
#include "symfile_macho.h"
#include "symfile_open.h"

enum { PATH_BYTES = 4096, BUILD_ID_DIGITS_MIN = 16 };

/* More than any process has. It limits the searches that a log can cause. */
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

/* Does the index have this build-id? An index without one is accepted. */
static bool is_right(const struct sonde__symfile_index_file *index, const char *build_id)
{
    char own[SONDE__SYMFILE_ID_TEXT];
    sonde__symfile_id_text(&index->index.build_id, own);
    return build_id == NULL || own[0] == '\0' || strcmp(own, build_id) == 0;
}

static bool try_open(struct symbolize_images *images, struct symbolize_image *image,
                     const char *path, const char *build_id)
{
    struct sonde__symfile_index_wanted wanted = {.arch = images->arch};
    struct sonde_error error;
    if (access(path, R_OK) != 0) {
        return false;
    }
    if (build_id != NULL) {
        (void)sonde__symfile_id_parse(build_id, &wanted.uuid);
    }
    if (sonde__symfile_index_file_open(&images->symbols->options, path,
                                       SONDE__SYMFILE_INDEX_MADE_OF_SYMBOLS, &wanted, &image->index,
                                       &error) != SONDE_OK) {
        sonde__cli_error(images->command, "%s: %s", path, error.what);
        images->said = true;
        return false;
    }
    if (is_right(&image->index, build_id)) {
        if (image->index.symbols_only) {
            sonde__cli_error(
                images->command,
                "%s: its debug information is compressed, and the library for it is not "
                "here; names only",
                path);
        }
        if (image->index.cut) {
            sonde__cli_error(images->command, "%s: cut off: names of what is left of it only",
                             path);
        }
        sonde__symindex_tails(&image->index.index, &image->tails);
        image->found = true;
        return true;
    }
    sonde__symfile_index_file_close(&image->index);
    return false;
}

/* FOLDER/ID.sndidx, FOLDER/.build-id/xx/rest.debug, FOLDER/NAME.dSYM. */
static bool try_folder(struct symbolize_images *images, struct symbolize_image *image,
                       const char *folder, const char *build_id)
{
    char path[PATH_BYTES];
    struct sonde__build_id id;
    snprintf(path, sizeof path, "%s/%s.sndidx", folder, build_id);
    if (try_open(images, image, path, build_id)) {
        return true;
    }
    snprintf(path, sizeof path, "%s/.build-id/%.2s/%s.debug", folder, build_id, build_id + 2);
    if (try_open(images, image, path, build_id)) {
        return true;
    }
    return sonde__symfile_id_parse(build_id, &id) &&
           sonde__symfile_macho_find(folder, &id, path, sizeof path) &&
           try_open(images, image, path, build_id);
}

static bool try_build_id(struct symbolize_images *images, struct symbolize_image *image,
                         const char *build_id)
{
    for (unsigned i = 0; i < images->symbols->folders.count; i++) {
        if (try_folder(images, image, images->symbols->folders.items[i], build_id)) {
            return true;
        }
    }
    char kept[SONDE__SYMFILE_KEPT_PATH];
    struct sonde__build_id id;
    return try_folder(images, image, images->symbols->options.debug_root, build_id) ||
           (!images->symbols->no_cache && sonde__symfile_id_parse(build_id, &id) &&
            sonde__symfile_kept_path(&id, kept) && try_open(images, image, kept, build_id));
}

/* Search its index in the folders. */
static bool try_folders(struct symbolize_images *images, struct symbolize_image *image,
                        const struct sonde__build_id *id, const char *build_id)
{
    char text[SONDE__SYMFILE_ID_TEXT];
    sonde__symfile_id_text(id, text);
    if (id->size < BUILD_ID_DIGITS_MIN / 2 || (build_id != NULL && strcmp(text, build_id) != 0)) {
        return false;
    }
    for (unsigned i = 0; i < images->symbols->folders.count; i++) {
        if (try_folder(images, image, images->symbols->folders.items[i], text)) {
            return true;
        }
    }
    return false;
}

/* The ids of a file; a Mach-O has one for each machine. */
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

/* The file's index from the folders, by build-id; else the file itself. */
static bool try_file(struct symbolize_images *images, struct symbolize_image *image,
                     const char *path, const char *build_id)
{
    struct sonde__symfile_slice slices[SONDE__SYMFILE_SLICES_MAX];
    unsigned count =
        images->symbols->folders.count != 0 && path[0] == '/' ? ids_of(path, slices) : 0;
    for (unsigned i = 0; i < count; i++) {
        bool meant = count == 1 || build_id != NULL ||
                     (images->arch != NULL && strcmp(images->arch, slices[i].arch) == 0);
        if (meant && try_folders(images, image, &slices[i].uuid, build_id)) {
            return true;
        }
    }
    return try_open(images, image, path, build_id);
}

/* Does a file of --image have this name? A bundle is named after its program. */
static bool is_named(const char *file, const char *name)
{
    size_t size = strlen(name);
    file = sonde__base_file_name(file);
    return strncmp(file, name, size) == 0 &&
           (file[size] == '\0' || strcmp(file + size, ".dSYM") == 0);
}

/* "NAME=FILE": returns the file, and NAME's length; 0: no name. */
static const char *given_file(const char *given, size_t *ret_name_size)
{
    const char *equals = strchr(given, '=');
    bool has_name = equals != NULL && memchr(given, '/', (size_t)(equals - given)) == NULL;
    *ret_name_size = has_name ? (size_t)(equals - given) : 0;
    return has_name ? equals + 1 : given;
}

const char *symbolize_given_file(const char *given)
{
    size_t name_size;
    return given_file(given, &name_size);
}

static bool try_fetched(struct symbolize_images *images, struct symbolize_image *image,
                        const char *build_id)
{
    char path[SONDE__SYMFILE_KEPT_PATH];
    struct sonde__build_id id;
    return sonde__symfile_id_parse(build_id, &id) &&
           sonde__symfile_fetched(&images->symbols->options, &id, path) &&
           try_open(images, image, path, build_id);
}

/* Words of a log look like images ("offset+0x10"), and a file may have the same name. */
static bool is_program_here(const char *name)
{
    struct sonde__symfile_slice slices[SONDE__SYMFILE_SLICES_MAX];
    struct stat st;
    return stat(name, &st) == 0 && S_ISREG(st.st_mode) && ids_of(name, slices) != 0;
}

static bool find(struct symbolize_images *images, struct symbolize_image *image)
{
    char uuid[SONDE__SYMFILE_ID_TEXT];
    const char *name = image->name;
    const char *build_id = image->build_id;
    if (build_id == NULL && is_build_id(name)) {
        build_id = name;
    } else if (build_id == NULL && symbolize_uuid(name, strlen(name), uuid)) {
        build_id = uuid;
    }
    for (unsigned i = 0; i < images->files.count; i++) {
        const char *given = images->files.items[i];
        size_t length;
        const char *file = given_file(given, &length);
        bool named = length == 0 ? is_named(file, sonde__base_file_name(name))
                                 : strncmp(given, sonde__base_file_name(name), length) == 0 &&
                                       sonde__base_file_name(name)[length] == '\0';
        /* match by name, or an index by build-id; without a name use the first */
        if (name[0] == '\0' && i != 0) {
            break; /* addresses without an image belong to the first one */
        }
        if (name[0] == '\0' || named || (build_id != NULL && strstr(file, ".sndidx") != NULL)) {
            if (try_open(images, image, file, build_id)) {
                return true;
            }
            if (access(file, R_OK) != 0) {
                sonde__cli_error(images->command, "%s: %s", file, strerror(errno));
                images->said = true;
            }
        }
    }
    if (build_id != NULL && try_build_id(images, image, build_id)) {
        return true;
    }
    /* a name without a folder may be a file in the working directory */
    bool is_path =
        strchr(name, '/') != NULL || (name[0] != '\0' && (images->asked || is_program_here(name)));
    return (is_path && try_file(images, image, name, build_id)) ||
           (build_id != NULL && try_fetched(images, image, build_id));
}

static void print_absent(const struct symbolize_images *images, const char *name,
                         const char *build_id)
{
    char hint[SONDE__CLI_HINT_BYTES] = "";
    if (build_id != NULL || name[0] == '/' || is_build_id(name)) {
        sonde__cli_hint(NULL, name, !images->symbols->no_network, hint);
    }
    sonde__cli_error(images->command, "%s: no file or index of it%s%s%s%s%s",
                     name[0] != '\0' ? name : "an address without an image",
                     build_id != NULL ? " with build-id " : "", build_id != NULL ? build_id : "",
                     hint[0] != '\0' ? " (" : "", hint, hint[0] != '\0' ? ")" : "");
}

struct symbolize_image *symbolize_open_image(struct symbolize_images *images, const char *name,
                                             const char *build_id)
{
    struct symbolize_image *image;
    for (image = images->opened; image != NULL; image = image->next) {
        if (strcmp(image->name, name) == 0 && (build_id == NULL) == (image->build_id == NULL) &&
            (build_id == NULL || strcmp(build_id, image->build_id) == 0)) {
            return image->found ? image : NULL;
        }
    }
    if (images->opened_count == MODULES_MAX) {
        if (!images->too_many) {
            sonde__cli_error(images->command, "more than %d images: further ones are left out",
                             MODULES_MAX);
        }
        images->too_many = true;
        return NULL;
    }
    images->opened_count++;
    image = sonde__mem_alloc_zeroed(sizeof *image);
    if (image == NULL) {
        return NULL;
    }
    image->name = sonde__mem_copy_string(name);
    image->build_id = build_id != NULL ? sonde__mem_copy_string(build_id) : NULL;
    if (image->name == NULL || (build_id != NULL && image->build_id == NULL)) {
        sonde__mem_free(image->name);
        sonde__mem_free(image);
        return NULL;
    }
    image->next = images->opened;
    images->opened = image;
    images->said = false;
    if (!find(images, image)) {
        if (!images->said || name[0] != '\0') {
            print_absent(images, name, build_id);
        }
        if (images->exit_code == SONDE__CLI_OK) {
            images->exit_code = SONDE__CLI_ABSENT;
        }
        return NULL;
    }
    return image;
}

static bool is_same_image(const struct symbolize_image *a, const struct symbolize_image *b)
{
    const struct sonde__build_id *x = &a->index.index.build_id, *y = &b->index.index.build_id;
    return a == b ||
           (x->size != 0 && x->size == y->size && memcmp(x->bytes, y->bytes, x->size) == 0);
}

/* Images are prepended, so numbers count from the end of the list and do not change. */
uint32_t symbolize_image_number(const struct symbolize_images *images,
                                const struct symbolize_image *image)
{
    uint32_t number = 0;
    for (const struct symbolize_image *at = images->opened; at != NULL; at = at->next) {
        number = at->found && is_same_image(at, image) ? 0 : number + 1; /* of the last equal one */
    }
    return number;
}

struct symbolize_image *symbolize_image_at(const struct symbolize_images *images, uint32_t number)
{
    struct symbolize_image *image = images->opened;
    uint32_t count = 0;
    for (const struct symbolize_image *at = image; at != NULL; at = at->next) {
        count++;
    }
    for (uint32_t i = 0; i + number + 1 < count; i++) {
        image = image->next;
    }
    return image;
}

void symbolize_open_named(struct symbolize_images *images)
{
    if (images->named_opened) {
        return;
    }
    images->named_opened = true;
    for (unsigned i = 0; i < images->files.count; i++) {
        char name[PATH_BYTES];
        size_t length;
        const char *file = given_file(images->files.items[i], &length);
        if (length == 0) {
            snprintf(name, sizeof name, "%s", sonde__base_file_name(file));
        } else {
            snprintf(name, sizeof name, "%.*s", (int)length, images->files.items[i]);
        }
        (void)symbolize_open_image(images, name, NULL);
    }
}

void symbolize_images_done(struct symbolize_images *images)
{
    while (images->opened != NULL) {
        struct symbolize_image *image = images->opened;
        images->opened = image->next;
        if (image->found) {
            sonde__symfile_index_file_close(&image->index);
        }
        sonde__mem_free(image->name);
        sonde__mem_free(image->build_id);
        sonde__mem_free(image);
    }
}
