// SPDX-License-Identifier: Apache-2.0
#include "symfile_calls.h"

#include <string.h>

#include "image_go.h"
#include "mem_heap.h"
#include "symfile_dwarf.h"
#include "symfile_index_find.h"
#include "symfile_macho.h"
#include "symindex_dwarf.h"
#include "tail_graph.h"

struct symfile_calls {
    /* one of these */
    struct sonde__symindex_dwarf *dwarf;
    struct sonde__symfile_pair pair;
    struct sonde__symfile_dwarf files; /* not of a Mach-O, whose file stays open without it */
    bool is_macho;
    uint64_t shift; /* from the image's addresses: a dSYM may be linked to others */
    bool has_index;
    struct sonde__symfile_index_file index;
    struct sonde__go go; /* data not null: of a stripped Go program */
};

/* --- index files --- */

static bool try_folder(struct symfile_calls *calls, const char *root, const char *folder,
                       size_t folder_size, const struct sonde__image *image)
{
    char path[SYMFILE_PATH_BYTES];
    struct sonde__build_id other;
    calls->has_index = (symfile_index_path(folder, folder_size, &image->build_id, path) &&
                        symfile_index_file_map(root, path, &image->build_id, &calls->index)) ||
                       (sonde__symfile_short_id(&image->build_id, &other) &&
                        symfile_index_path(folder, folder_size, &other, path) &&
                        symfile_index_file_map(root, path, &image->build_id, &calls->index));
    return calls->has_index;
}

/* Try the user's files, then their folders, then the image's folder. */
static bool find_index(struct symfile_calls *calls, const struct sonde__symfile_options *options,
                       const struct sonde__image *image)
{
    const char *slash;
    if (image->build_id.size == 0) {
        return false;
    }
    for (unsigned i = 0; i < options->file_count && !calls->has_index; i++) {
        calls->has_index =
            symfile_index_file_map(NULL, options->files[i], &image->build_id, &calls->index);
    }
    if (calls->has_index) {
        return true;
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

/* The image with the debug information in `view`, which is its own or its debug file's. */
static struct sonde__symfile_pair pair_of(const struct symfile_view *own,
                                          const struct symfile_view *view)
{
    bool own_there = own->file.data != NULL;
    return (struct sonde__symfile_pair){.own = own_there ? own->elf : view->elf,
                                        .debug = view->elf,
                                        .separate = own_there && own != view,
                                        .own_path = own_there ? own->path : view->path,
                                        .debug_path = view->path};
}

/* Use the kept index, or make one from the debug file. */
static bool make_index(struct symfile_calls *calls, const struct sonde__symfile_options *options,
                       const struct sonde__image *image, const struct symfile_view *own,
                       const struct symfile_view *debug)
{
    const struct symfile_view *view = debug->file.data != NULL ? debug : own;
    const struct sonde__symfile_pair pair = pair_of(own, view);
    calls->has_index = options->making != NULL && (view->path != NULL || view->file.data == NULL) &&
                       symfile_index_file_of(options, &image->build_id, &pair, &calls->index);
    return calls->has_index;
}

/* --- DWARF --- */

/* view: of the image or of its debug file. */
static bool open_dwarf(struct symfile_calls *calls, const struct sonde__symfile_options *options,
                       const struct symfile_view *own, const struct symfile_view *view)
{
    uint64_t start = 0, end = (uint64_t)UINT32_MAX + 1;
    if (view->file.data == NULL || view->path == NULL ||
        (own->file.data != NULL && own->path == NULL)) {
        return false;
    }
    calls->pair = pair_of(own, view);
    if (sonde__symfile_dwarf_open(options, &calls->pair, &calls->files, NULL) != SONDE_OK) {
        return false;
    }
    if (!sonde__elf_text_range(&calls->pair.own, &start, &end)) {
        (void)sonde__elf_text_range(&view->elf, &start, &end);
    }
    const struct sonde__symindex_source source = {.sections = &calls->files.sections,
                                                  .split = sonde__symfile_dwarf_split,
                                                  .split_ctx = &calls->files};
    if (sonde__symindex_dwarf_open(&source, start, end, &calls->dwarf) == SONDE_OK) {
        return true;
    }
    sonde__symfile_dwarf_close(&calls->files);
    return false;
}

/* From an index, else of the Mach-O itself or of the dSYM with its UUID. */
static bool open_macho(struct symfile_calls *calls, const struct sonde__symfile_options *options,
                       const struct sonde__image *image, const struct sonde__symfile_macho *macho)
{
    struct sonde__dwarf_sections sections;
    uint64_t start, end;
    if (find_index(calls, options, image)) {
        const struct sonde__symindex *index = &calls->index.index;
        calls->shift = index->from_header ? index->base - macho->own.base : 0;
        return true;
    }
    calls->shift = macho->debug.base - macho->own.base;
    if (!sonde__dwarf_sections_of_macho(&macho->debug, &sections) ||
        !sonde__macho_text_range(&macho->debug, &start, &end)) {
        return false;
    }
    calls->is_macho = true;
    const struct sonde__symindex_source source = {.macho_debug = &macho->debug,
                                                  .sections = &sections};
    return sonde__symindex_dwarf_open(&source, start, end, &calls->dwarf) == SONDE_OK;
}

/* --- Go --- */

static void find_in_go(const struct sonde__go *go, uint64_t vaddr, struct sonde__answer *answer)
{
    struct sonde__go_function function;
    struct sonde__call *call = &answer->calls[0];
    if (sonde__image_go_find(go, vaddr, &function) &&
        sonde__image_go_line(go, &function, vaddr, &call->file, &call->line)) {
        call->name = function.name;
        answer->count = 1;
    }
}

/* --- everything --- */

static bool open_elf(struct symfile_calls *calls, const struct sonde__symfile_options *options,
                     const struct sonde__image *image, const struct symfile_view *own,
                     const struct symfile_view *debug)
{
    return find_index(calls, options, image) || make_index(calls, options, image, own, debug) ||
           open_dwarf(calls, options, own, own) || open_dwarf(calls, options, own, debug) ||
           (own->file.data != NULL && sonde__elf_go(&own->elf, &calls->go));
}

static struct symfile_calls *open_calls(const struct sonde__symfile_options *options,
                                        const struct sonde__image *image,
                                        const struct symfile_view *own,
                                        const struct symfile_view *debug,
                                        const struct sonde__symfile_macho *macho)
{
    struct symfile_calls *calls = sonde__mem_alloc_zeroed(sizeof *calls);
    if (calls == NULL) {
        return NULL;
    }
    if (macho != NULL ? open_macho(calls, options, image, macho)
                      : open_elf(calls, options, image, own, debug)) {
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
        sonde__symindex_dwarf_close(calls->dwarf);
        if (!calls->is_macho) {
            sonde__symfile_dwarf_close(&calls->files);
        }
    }
    if (calls->has_index) {
        sonde__symfile_index_file_close(&calls->index);
    }
    sonde__mem_free(calls);
}

static void find_calls(struct symfile_calls *calls, uint64_t vaddr, struct sonde__answer *answer)
{
    if (calls->go.data != NULL) {
        find_in_go(&calls->go, vaddr, answer);
    } else if (calls->has_index) {
        sonde__symfile_index_calls(&calls->index, vaddr + calls->shift, answer);
    } else {
        size_t count = sonde__symindex_dwarf_find(calls->dwarf, vaddr + calls->shift, answer->calls,
                                                  SONDE__CALLS_MAX);
        /* if there are more, the function itself is missing */
        answer->count = count <= SONDE__CALLS_MAX ? (uint32_t)count : 0;
    }
    sonde__answer_name_function(answer);
}

static bool find_tails(struct symfile_calls *calls, struct sonde__tail_graph *ret_graph,
                       uint64_t *ret_base)
{
    struct sonde__tail_origin origin;
    if (!calls->has_index) {
        return false;
    }
    sonde__symindex_tail_origin(&calls->index.index, &origin);
    if ((origin.sources & SONDE__TAIL_FROM_CODE) == 0) {
        return false; /* call sites alone do not show all jumps */
    }
    sonde__symindex_tails(&calls->index.index, ret_graph);
    *ret_base = calls->index.index.base - calls->shift;
    return true;
}

const struct sonde__symfile_places sonde__symfile_places = {open_calls, close_calls, find_calls,
                                                            find_tails};
