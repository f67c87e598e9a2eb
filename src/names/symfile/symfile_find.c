// SPDX-License-Identifier: Apache-2.0
#include "symfile_find.h"

#include <string.h>

#include "base_status.h"
#include "base_text.h"
#include "mem_heap.h"
#include "symfile_fetch.h"
#include "symfile_kept.h"
#include "symfile_open.h"

/* Limit far above today's programs and debug files; mapped, not read. */
#define FILE_BYTES_MAX ((uint64_t)16 << 30)
#define PATH_BYTES     SYMFILE_PATH_BYTES

void symfile_view_done(struct symfile_view *view)
{
    sonde__host_file_unmap(&view->file);
    sonde__mem_free(view->path);
    *view = (struct symfile_view){0};
}

bool symfile_same_build_id(const struct sonde__build_id *a, const struct sonde__build_id *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

enum sonde_status symfile_view_open(const char *root, const char *path,
                                    struct symfile_view *ret_view, struct sonde_error *ret_error)
{
    struct symfile_view view = {0};
    enum sonde_status status;
    SONDE_TRY(sonde__host_file_map(root, path, FILE_BYTES_MAX, &view.file, ret_error));
    status = sonde__elf_open(view.file.data, view.file.size, &view.elf, ret_error);
    if (status != SONDE_OK) {
        sonde__host_file_unmap(&view.file);
        if (ret_error != NULL) {
            struct sonde_error inner = *ret_error;
            return sonde__base_fail(ret_error, status, path, inner.what, 0, inner.at);
        }
        return status;
    }
    view.path = sonde__mem_copy_string(path);
    *ret_view = view;
    return SONDE_OK;
}

/* Open a file in our own root if it has the image's build-id. */
static bool open_same(const char *path, const struct sonde__image *image,
                      struct symfile_view *ret_view)
{
    struct sonde__build_id id = {0};
    struct symfile_view view;
    if (symfile_view_open(NULL, path, &view, NULL) != SONDE_OK) {
        return false;
    }
    (void)sonde__elf_build_id(&view.elf, &id);
    if (!symfile_same_build_id(&id, &image->build_id)) {
        symfile_view_done(&view);
        return false;
    }
    *ret_view = view;
    return true;
}

enum sonde_status symfile_find_own(const struct sonde__symfile_options *options,
                                   const struct sonde__image *image, struct symfile_view *ret_view,
                                   struct sonde_error *ret_error)
{
    struct sonde__build_id id = {0};
    struct symfile_view view;
    for (unsigned i = 0; image->build_id.size != 0 && i < options->file_count; i++) {
        if (open_same(options->files[i], image, ret_view)) {
            return SONDE_OK;
        }
    }
    if (image->file != NULL && open_same(image->file, image, ret_view)) {
        return SONDE_OK;
    }
    if (image->path == NULL || image->path[0] != '/') {
        return sonde__base_fail(ret_error, SONDE_ABSENT, "image without a file", image->path, 0,
                                image->start);
    }
    SONDE_TRY(symfile_view_open(options->root, image->path, &view, ret_error));
    (void)sonde__elf_build_id(&view.elf, &id);
    if (symfile_same_build_id(&id, &image->build_id)) {
        if (id.size != 0 || (image->flags & SONDE__IMAGE_DELETED) == 0) {
            *ret_view = view;
            return SONDE_OK;
        }
    }
    symfile_view_done(&view);
    if (image->build_id.size == 0 && id.size != 0) {
        return sonde__base_fail(ret_error, SONDE_ABSENT,
                                "the loaded image has no build-id and the file has one",
                                image->path, 0, image->start);
    }
    return sonde__base_fail(ret_error, SONDE_ABSENT,
                            "the file was replaced since it was loaded (another build-id)",
                            image->path, 0, image->start);
}

/* CRC-32 of IEEE 802.3 (reflected 0xedb88320), as .gnu_debuglink has it. */
static uint32_t file_crc(const uint8_t *data, size_t size)
{
    uint32_t table[256], crc = UINT32_MAX;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++) {
            table[i] = table[i] >> 1 ^ ((table[i] & 1) != 0 ? 0xedb88320u : 0);
        }
    }
    for (size_t i = 0; i < size; i++) {
        crc = table[(crc ^ data[i]) & 0xff] ^ crc >> 8;
    }
    return ~crc;
}

struct wanted {
    const struct sonde__build_id *id;
    bool by_crc; /* found through a debug link with this CRC */
    uint32_t crc;
};

/* Open a candidate. Keep it if it matches and has symbols. */
static bool try_candidate(const char *root, const char *path, const struct wanted *wanted,
                          struct symfile_view *ret_view)
{
    struct sonde__build_id id = {0};
    struct sonde__elf_section symtab;
    struct symfile_view view;
    bool right;
    if (symfile_view_open(root, path, &view, NULL) != SONDE_OK) {
        return false;
    }
    (void)sonde__elf_build_id(&view.elf, &id);
    if (id.size != 0 && wanted->id->size != 0) {
        right = symfile_same_build_id(&id, wanted->id);
    } else {
        right = wanted->by_crc && file_crc(view.file.data, view.file.size) == wanted->crc;
    }
    if (right && sonde__elf_section_by_type(&view.elf, SONDE__SHT_SYMTAB, &symtab)) {
        *ret_view = view;
        return true;
    }
    symfile_view_done(&view);
    return false;
}

/* Search the image's root (for debug files of a container), then ours. */
static bool try_roots(const struct sonde__symfile_options *options, const char *path,
                      const struct wanted *wanted, struct symfile_view *ret_view)
{
    const char *root = options->root;
    bool other_root = root != NULL && root[0] != '\0' && strcmp(root, "/") != 0;
    return try_candidate(root, path, wanted, ret_view) ||
           (other_root && try_candidate(NULL, path, wanted, ret_view));
}

bool symfile_build_id_path(const char *debug_root, const struct sonde__build_id *id, char *ret_path,
                           size_t size)
{
    struct sonde__text text;
    sonde__base_text_init(&text, ret_path, size);
    sonde__base_text_str(&text, debug_root);
    sonde__base_text_str(&text, "/.build-id/");
    for (unsigned i = 0; i < id->size; i++) {
        sonde__base_text_hex(&text, id->bytes[i], 2);
        if (i == 0) {
            sonde__base_text_char(&text, '/');
        }
    }
    sonde__base_text_str(&text, ".debug");
    return !text.cut;
}

/* FOLDER/NAME in one of the user's folders. */
static bool try_folders(const struct sonde__symfile_options *options, const char *name,
                        const struct wanted *wanted, struct symfile_view *ret_view)
{
    for (unsigned i = 0; i < options->folder_count; i++) {
        char path[PATH_BYTES];
        struct sonde__text text;
        sonde__base_text_init(&text, path, sizeof path);
        sonde__base_text_str(&text, options->folders[i]);
        sonde__base_text_char(&text, '/');
        sonde__base_text_str(&text, name);
        if (!text.cut && try_candidate(NULL, path, wanted, ret_view)) {
            return true;
        }
    }
    return false;
}

/* In the user's folders: as under a debug root, or a file with the image's name. */
static bool find_in_folders(const struct sonde__symfile_options *options,
                            const struct sonde__image *image, const struct wanted *wanted,
                            struct symfile_view *ret_view)
{
    const char *slash = image->path != NULL ? strrchr(image->path, '/') : NULL;
    char path[PATH_BYTES];
    return (symfile_build_id_path("", wanted->id, path, sizeof path) &&
            try_folders(options, path + 1, wanted, ret_view)) ||
           (slash != NULL && slash[1] != '\0' && try_folders(options, slash + 1, wanted, ret_view));
}

static bool find_by_build_id(const struct sonde__symfile_options *options,
                             const struct wanted *wanted, struct symfile_view *ret_view)
{
    char path[PATH_BYTES];
    return symfile_build_id_path(options->debug_root, wanted->id, path, sizeof path) &&
           try_roots(options, path, wanted, ret_view);
}

/* Next to the image, in its .debug/, and under the debug root. */
static bool find_by_link(const struct sonde__symfile_options *options, const char *image_path,
                         const char *name, const struct wanted *wanted,
                         struct symfile_view *ret_view)
{
    const char *slash = strrchr(image_path, '/');
    size_t folder_size = slash != NULL ? (size_t)(slash - image_path) : 0;
    for (unsigned step = 0; step < 3; step++) {
        char path[PATH_BYTES];
        struct sonde__text text;
        sonde__base_text_init(&text, path, sizeof path);
        if (step == 2) {
            sonde__base_text_str(&text, options->debug_root);
        }
        sonde__base_text_bytes(&text, image_path, folder_size);
        sonde__base_text_str(&text, step == 1 ? "/.debug/" : "/");
        sonde__base_text_str(&text, name);
        /* skip a link to the image itself */
        if (!text.cut && strcmp(path, image_path) != 0 &&
            try_roots(options, path, wanted, ret_view)) {
            return true;
        }
    }
    return false;
}

/* Try cached files, then servers. */
static bool find_fetched(const struct sonde__symfile_options *options, const struct wanted *wanted,
                         struct symfile_view *ret_view)
{
    char path[SONDE__SYMFILE_KEPT_PATH];
    for (unsigned i = 0; i < 2; i++) {
        if (symfile_fetched_path(wanted->id, i, path) &&
            try_candidate(NULL, path, wanted, ret_view)) {
            return true;
        }
    }
    if (!symfile_fetch(options->fetch, wanted->id, path)) {
        return false;
    }
    if (try_candidate(NULL, path, wanted, ret_view)) {
        return true;
    }
    symfile_fetch_refuse(options->fetch, path);
    return false;
}

/* Find the file of its debug link. own may be null. */
static bool find_linked(const struct sonde__symfile_options *options,
                        const struct sonde__image *image, const struct sonde__elf *own,
                        struct wanted *wanted, struct symfile_view *ret_view)
{
    const char *name;
    bool found;
    if (own == NULL || image->path == NULL || image->path[0] != '/' ||
        !sonde__elf_debuglink(own, &name, &wanted->crc)) {
        return false;
    }
    wanted->by_crc = true;
    /* the link must be a plain file name, without a path */
    found =
        strchr(name, '/') == NULL && (try_folders(options, name, wanted, ret_view) ||
                                      find_by_link(options, image->path, name, wanted, ret_view));
    wanted->by_crc = false;
    return found;
}

bool symfile_find_debug(const struct sonde__symfile_options *options,
                        const struct sonde__image *image, const struct sonde__elf *own,
                        struct symfile_view *ret_view)
{
    struct wanted wanted = {.id = &image->build_id};
    if (wanted.id->size > 1 && (find_in_folders(options, image, &wanted, ret_view) ||
                                find_by_build_id(options, &wanted, ret_view))) {
        return true;
    }
    return find_linked(options, image, own, &wanted, ret_view) ||
           (options->fetch != NULL && (image->flags & SONDE__IMAGE_VDSO) == 0 &&
            find_fetched(options, &wanted, ret_view));
}

bool symfile_fetched(const struct sonde__symfile_options *options, const struct sonde__build_id *id,
                     char *ret_path)
{
    const struct wanted wanted = {.id = id};
    struct symfile_view view;
    size_t size;
    if (options->fetch == NULL || !find_fetched(options, &wanted, &view)) {
        return false;
    }
    size = view.path != NULL ? strlen(view.path) + 1 : SYMFILE_PATH_BYTES + 1;
    if (size <= SYMFILE_PATH_BYTES) {
        memcpy(ret_path, view.path, size);
    }
    symfile_view_done(&view);
    return size <= SYMFILE_PATH_BYTES;
}
