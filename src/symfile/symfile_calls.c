// SPDX-License-Identifier: Apache-2.0
#include "symfile_calls.h"

#include <string.h>

#include "base_text.h"
#include "dwarf_lookup.h"
#include "mem_heap.h"
#include "symfile_sections.h"
#include "symindex.h"

/* As PATH_MAX of Linux; a longer path is cut and so not found. */
#define PATH_BYTES 4096
/* Larger than the index of any program of today; mapped, not read. */
#define INDEX_BYTES_MAX ((uint64_t)4 << 30)

struct symfile_calls {
    /* one of the two */
    struct sonde__dwarf *dwarf;
    struct sonde__symfile_sections sections;
    bool has_index;
    struct sonde__symindex index;
    struct sonde__symindex_strings strings;
    struct sonde__host_file file;
};

/* --- index files --- */

static bool open_index(struct symfile_calls *calls, const char *root, const char *path,
                       const struct sonde__image *image)
{
    struct sonde__host_file file;
    if (sonde__host_file_map(root, path, INDEX_BYTES_MAX, &file, NULL) != SONDE_OK) {
        return false;
    }
    if (sonde__symindex_open(file.data, file.size, &calls->index, NULL) == SONDE_OK &&
        symfile_same_build_id(&calls->index.build_id, &image->build_id) &&
        sonde__symindex_strings_init(&calls->strings, &calls->index) == SONDE_OK) {
        calls->file = file;
        calls->has_index = true;
        return true;
    }
    sonde__host_file_unmap(&file);
    return false;
}

/* FOLDER/ID.sndidx */
static bool try_folder(struct symfile_calls *calls, const char *root, const char *folder,
                       size_t folder_size, const struct sonde__image *image)
{
    char path[PATH_BYTES];
    struct sonde__text text;
    sonde__base_text_init(&text, path, sizeof path);
    sonde__base_text_bytes(&text, folder, folder_size);
    sonde__base_text_char(&text, '/');
    for (unsigned i = 0; i < image->build_id.size; i++) {
        sonde__base_text_hex(&text, image->build_id.bytes[i], 2);
    }
    sonde__base_text_str(&text, ".sndidx");
    return !text.cut && open_index(calls, root, path, image);
}

/* In the folders that the user named, then beside the image. */
static bool find_index(struct symfile_calls *calls, const struct sonde__symfile_options *options,
                       const struct sonde__image *image)
{
    const char *slash;
    if (image->build_id.size == 0) {
        return false;
    }
    for (unsigned i = 0; i < options->folder_count; i++) {
        const char *folder = options->folders[i];
        if (try_folder(calls, NULL, folder, strlen(folder), image)) {
            return true;
        }
    }
    slash = image->path != NULL && image->path[0] == '/' ? strrchr(image->path, '/') : NULL;
    return slash != NULL &&
           try_folder(calls, options->root, image->path, (size_t)(slash - image->path), image);
}

static bool find_in_index(struct symfile_calls *calls, uint64_t vaddr,
                          struct sonde__symfile_calls *ret)
{
    struct sonde__symindex_frame frames[SONDE__SYMFILE_CALLS_MAX];
    struct sonde__symindex_symbol symbol;
    size_t count = sonde__symindex_find(&calls->index, vaddr, frames, SONDE__SYMFILE_CALLS_MAX);
    for (size_t i = 0; i < count; i++) {
        ret->calls[i] = (struct sonde__symfile_call){
            .name = sonde__symindex_name(&calls->strings, frames[i].name),
            .file = sonde__symindex_file(&calls->strings, frames[i].file),
            .line = frames[i].line};
    }
    ret->count = (uint32_t)count;
    if (sonde__symindex_symbol(&calls->index, vaddr, &symbol)) {
        ret->symbol = sonde__symindex_name(&calls->strings, symbol.name);
        ret->symbol_start = symbol.start;
    }
    return count != 0 || ret->symbol[0] != '\0';
}

/* --- DWARF --- */

static bool open_dwarf(struct symfile_calls *calls, const struct symfile_view *view)
{
    if (view->file.data == NULL ||
        sonde__symfile_sections_open(&view->elf, false, &calls->sections, NULL) != SONDE_OK) {
        return false;
    }
    if (sonde__dwarf_open(&calls->sections.views, &calls->dwarf) == SONDE_OK) {
        return true;
    }
    sonde__symfile_sections_close(&calls->sections);
    return false;
}

static bool find_in_dwarf(struct symfile_calls *calls, uint64_t vaddr,
                          struct sonde__symfile_calls *ret)
{
    struct sonde__dwarf_frame frames[SONDE__SYMFILE_CALLS_MAX];
    size_t count = sonde__dwarf_lookup(calls->dwarf, vaddr, frames, SONDE__SYMFILE_CALLS_MAX);
    if (count > SONDE__SYMFILE_CALLS_MAX) {
        return false; /* the function itself is not among them */
    }
    for (size_t i = 0; i < count; i++) {
        ret->calls[i] = (struct sonde__symfile_call){
            .name = frames[i].name, .file = frames[i].file, .line = frames[i].line};
    }
    ret->count = (uint32_t)count;
    return count != 0;
}

/* --- both --- */

static struct symfile_calls *open_calls(const struct sonde__symfile_options *options,
                                        const struct sonde__image *image,
                                        const struct symfile_view *own,
                                        const struct symfile_view *debug)
{
    struct symfile_calls *calls = sonde__mem_alloc_zeroed(sizeof *calls);
    if (calls == NULL) {
        return NULL;
    }
    if (find_index(calls, options, image) || open_dwarf(calls, own) || open_dwarf(calls, debug)) {
        return calls;
    }
    sonde__mem_free(calls);
    return NULL;
}

static void close_calls(struct symfile_calls *calls)
{
    if (calls == NULL) {
        return;
    }
    if (calls->dwarf != NULL) {
        sonde__dwarf_close(calls->dwarf);
        sonde__symfile_sections_close(&calls->sections);
    }
    if (calls->has_index) {
        sonde__symindex_strings_done(&calls->strings);
        sonde__host_file_unmap(&calls->file);
    }
    sonde__mem_free(calls);
}

static bool find_calls(struct symfile_calls *calls, uint64_t vaddr,
                       struct sonde__symfile_calls *ret_calls)
{
    ret_calls->count = 0;
    ret_calls->symbol = "";
    ret_calls->symbol_start = 0;
    return calls->has_index ? find_in_index(calls, vaddr, ret_calls)
                            : find_in_dwarf(calls, vaddr, ret_calls);
}

const struct sonde__symfile_places sonde__symfile_places = {open_calls, close_calls, find_calls};
