// SPDX-License-Identifier: Apache-2.0
#include "symbolize_images.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base_text.h"
#include "cli_hint.h"
#include "mem_heap.h"
#include "symbolize_log.h"
#include "symfile_index_find.h"

enum { PATH_BYTES = 4096, BUILD_ID_DIGITS_MIN = 16 };

/* More than any process has. It limits the searches that a log can cause. */
enum { MODULES_MAX = 4096 };

static bool is_build_id(const char *name)
{
    size_t digits = strspn(name, "0123456789abcdef");
    return name[digits] == '\0' && digits % 2 == 0 && digits >= BUILD_ID_DIGITS_MIN;
}

/* Does the index have this build-id? An index without one is accepted. */
static bool is_right(const struct sonde__symfile_index_file *index, const char *build_id)
{
    char own[SONDE__SYMFILE_ID_TEXT];
    sonde__symfile_id_text(&index->index.build_id, own);
    return build_id == NULL || own[0] == '\0' || strcmp(own, build_id) == 0;
}

/* Use an index that was opened. */
static void accept(const struct symbolize_images *images, struct symbolize_image *image,
                   const char *path)
{
    if (image->index.symbols_only) {
        sonde__cli_error(images->command,
                         "%s: its debug information is compressed, and the library for it is not "
                         "here; names only",
                         path);
    }
    if (image->index.cut) {
        sonde__cli_error(images->command, "%s: cut off: names of what is left of it only", path);
    }
    sonde__symindex_tails(&image->index.index, &image->tails);
    image->found = true;
}

/* Try a file of --image. */
static bool try_given(struct symbolize_images *images, struct symbolize_image *image,
                      const char *path, const char *build_id)
{
    struct sonde__symfile_index_wanted wanted = {.arch = images->arch};
    struct sonde_error error;
    if (access(path, R_OK) != 0) {
        sonde__cli_error(images->command, "%s: %s", path, strerror(errno));
        images->said = true;
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
    if (!is_right(&image->index, build_id)) {
        sonde__symfile_index_file_close(&image->index);
        return false;
    }
    accept(images, image, path);
    return true;
}

/* Search the machine. path, build_id: null if unknown. */
static bool search(struct symbolize_images *images, struct symbolize_image *image, const char *path,
                   const char *build_id)
{
    struct sonde__symfile_index_sought sought = {
        .path = path, .arch = images->arch, .make = SONDE__SYMFILE_INDEX_MADE_OF_SYMBOLS};
    struct sonde_error error;
    enum sonde_status status;
    if ((path == NULL && build_id == NULL) ||
        (build_id != NULL && !sonde__symfile_id_parse(build_id, &sought.id))) {
        return false;
    }
    status = sonde__symfile_index_find(&images->symbols->options, &sought, &image->index, &error);
    if (status == SONDE_OK) {
        accept(images, image, path != NULL ? path : build_id);
    } else if (status != SONDE_ABSENT) {
        sonde__cli_error(images->command, "%s", error.what);
        images->said = true;
    }
    return status == SONDE_OK;
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

/* Words of a log look like images ("offset+0x10"), and a file may have the same name. */
static bool is_program_here(const char *name)
{
    struct sonde__symfile_slice slices[SONDE__SYMFILE_SLICES_MAX];
    struct stat st;
    return stat(name, &st) == 0 && S_ISREG(st.st_mode) && sonde__symfile_ids(name, slices) != 0;
}

static bool find(struct symbolize_images *images, struct symbolize_image *image)
{
    char uuid[SYMBOLIZE_LOG_UUID];
    const char *name = image->name;
    const char *build_id = image->build_id;
    if (build_id == NULL && is_build_id(name)) {
        build_id = name;
    } else if (build_id == NULL) {
        symbolize_log_uuid(name, strlen(name), uuid);
        build_id = uuid[0] != '\0' ? uuid : NULL;
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
            if (try_given(images, image, file, build_id)) {
                return true;
            }
        }
    }
    /* a name without a folder may be a file in the working directory */
    bool is_path =
        strchr(name, '/') != NULL || (name[0] != '\0' && (images->asked || is_program_here(name)));
    return search(images, image, is_path ? name : NULL, build_id);
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
