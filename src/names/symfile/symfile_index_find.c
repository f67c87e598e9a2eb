// SPDX-License-Identifier: Apache-2.0
#include "symfile_index_find.h"

#include <string.h>

#include "base_status.h"
#include "base_text.h"
#include "breakpad.h"
#include "symfile_find.h"

struct search {
    const struct sonde__symfile_options *options;
    const struct sonde__symfile_index_sought *sought;
    struct sonde__symfile_index_file *index;
    enum sonde_status status; /* the first failure; ABSENT: none */
    struct sonde_error error;
};

bool symfile_index_path(const char *folder, size_t folder_size, const struct sonde__build_id *id,
                        char *ret_path)
{
    char digits[SONDE__SYMFILE_ID_TEXT];
    struct sonde__text text;
    sonde__symfile_id_text(id, digits);
    sonde__base_text_init(&text, ret_path, SYMFILE_PATH_BYTES);
    sonde__base_text_bytes(&text, folder, folder_size);
    sonde__base_text_char(&text, '/');
    sonde__base_text_str(&text, digits);
    sonde__base_text_str(&text, ".sndidx");
    return !text.cut;
}

/* id: of size 0: any. */
static bool try_path(struct search *s, const char *path, const struct sonde__build_id *id)
{
    const struct sonde__symfile_index_wanted wanted = {*id, s->sought->arch};
    struct sonde_error error = {0};
    enum sonde_status status = sonde__symfile_index_file_open(s->options, path, s->sought->make,
                                                              &wanted, s->index, &error);
    if (status == SONDE_OK) {
        if (id->size == 0 || sonde__symfile_belongs(&s->index->index.build_id, id)) {
            return true;
        }
        sonde__symfile_index_file_close(s->index);
    } else if (status != SONDE_ABSENT && s->status == SONDE_ABSENT) {
        s->status = sonde__base_fail(&s->error, status, path, error.what, error.os_error, error.at);
    }
    return false;
}

static bool try_folder(struct search *s, const char *folder, const struct sonde__build_id *id)
{
    char path[SYMFILE_PATH_BYTES];
    struct sonde__build_id other;
    return (symfile_index_path(folder, strlen(folder), id, path) && try_path(s, path, id)) ||
           (symfile_build_id_path(folder, id, path, sizeof path) && try_path(s, path, id)) ||
           (sonde__symfile_macho_find(folder, id, path, sizeof path) && try_path(s, path, id)) ||
           (sonde__symfile_short_id(id, &other) &&
            symfile_index_path(folder, strlen(folder), &other, path) && try_path(s, path, id));
}

static bool try_folders(struct search *s, const struct sonde__build_id *id)
{
    for (unsigned i = 0; id->size != 0 && i < s->options->folder_count; i++) {
        if (try_folder(s, s->options->folders[i], id)) {
            return true;
        }
    }
    return false;
}

/* Returns 0 | 1. */
static unsigned id_of_breakpad(const char *path, struct sonde__symfile_slice *ret_slice)
{
    struct sonde__host_file file;
    struct sonde__breakpad breakpad;
    if (sonde__host_file_map(NULL, path, UINT64_MAX, &file, NULL) != SONDE_OK) {
        return 0;
    }
    bool is_it = sonde__breakpad_open(file.data, file.size, &breakpad, NULL) == SONDE_OK;
    if (is_it) {
        *ret_slice = (struct sonde__symfile_slice){.uuid = breakpad.id};
    }
    sonde__host_file_unmap(&file);
    return is_it;
}

unsigned sonde__symfile_ids(const char *path, struct sonde__symfile_slice *ret_slices)
{
    struct symfile_view view;
    unsigned count = sonde__symfile_macho_slices(path, ret_slices);
    if (count == 0 && symfile_view_open(NULL, path, &view, NULL) == SONDE_OK) {
        ret_slices[0] = (struct sonde__symfile_slice){0};
        (void)sonde__elf_build_id(&view.elf, &ret_slices[0].uuid);
        symfile_view_done(&view);
        count = 1;
    }
    return count != 0 ? count : id_of_breakpad(path, &ret_slices[0]);
}

/* Try the folders for the id, or for those of the file. */
static bool try_ids(struct search *s)
{
    const struct sonde__symfile_index_sought *sought = s->sought;
    struct sonde__symfile_slice slices[SONDE__SYMFILE_SLICES_MAX];
    unsigned count;
    if (sought->id.size != 0 || sought->path == NULL || s->options->folder_count == 0) {
        return try_folders(s, &sought->id);
    }
    count = sonde__symfile_ids(sought->path, slices);
    for (unsigned i = 0; i < count; i++) {
        bool is_meant =
            count == 1 || (sought->arch != NULL && strcmp(sought->arch, slices[i].arch) == 0);
        if (is_meant && try_folders(s, &slices[i].uuid)) {
            return true;
        }
    }
    return false;
}

/* Try what may have the index although the image's file is missing. */
static bool try_elsewhere(struct search *s)
{
    const struct sonde__build_id *id = &s->sought->id;
    char path[SYMFILE_PATH_BYTES];
    return id->size != 0 && ((s->options->making->keep && sonde__symfile_kept_path(id, path) &&
                              try_path(s, path, id)) ||
                             try_folder(s, s->options->debug_root, id) ||
                             (symfile_fetched(s->options, id, path) && try_path(s, path, id)));
}

enum sonde_status sonde__symfile_index_find(const struct sonde__symfile_options *options,
                                            const struct sonde__symfile_index_sought *sought,
                                            struct sonde__symfile_index_file *ret_index,
                                            struct sonde_error *ret_error)
{
    struct search s = {
        .options = options, .sought = sought, .index = ret_index, .status = SONDE_ABSENT};
    if (try_ids(&s) || (sought->path != NULL && try_path(&s, sought->path, &sought->id)) ||
        try_elsewhere(&s)) {
        return SONDE_OK;
    }
    if (s.status == SONDE_ABSENT) {
        return sonde__base_fail(ret_error, SONDE_ABSENT,
                                sought->id.size != 0 ? "no index and no debug file of that build-id"
                                                     : "no such file",
                                sought->path, 0, 0);
    }
    if (ret_error != NULL) {
        *ret_error = s.error;
    }
    return s.status;
}
