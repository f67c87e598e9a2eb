// SPDX-License-Identifier: Apache-2.0
#include "cli_index.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base_status.h"
#include "cli_cache.h"
#include "mem_heap.h"
#include "symfile_dwarf.h"
#include "symfile_macho.h"
#include "symfile_open.h"
#include "symindex_convert.h"

#define FILE_BYTES_MAX ((uint64_t)64 << 30)
#define PROGRESS_TEXT  "reading debug information, per cent"

static void step(void *ctx, uint64_t done, uint64_t total)
{
    sonde__cli_progress_step(ctx, total != 0 ? done * 100 / total : 0, 100);
}

static enum sonde_status convert(const struct sonde__symfile_options *options,
                                 const struct sonde__symfile_pair *pair,
                                 enum sonde__cli_index_make make, struct sonde__cli_progress *line,
                                 struct sonde__cli_index *index, struct sonde__symindex_made *made,
                                 struct sonde_error *ret_error)
{
    struct sonde__symfile_dwarf dwarf;
    struct sonde__symindex_source source = {.debug = &pair->debug,
                                            .image = pair->separate ? &pair->own : NULL,
                                            .progress = step,
                                            .progress_ctx = line};
    enum sonde_status status = sonde__symfile_dwarf_open(options, pair, &dwarf, ret_error);
    if (status == SONDE_OK) {
        source.sections = &dwarf.sections;
        source.damage = dwarf.damage;
        source.split = sonde__symfile_dwarf_split;
        source.split_ctx = &dwarf;
        status = sonde__symindex_convert(&source, made, ret_error);
        sonde__symfile_dwarf_close(&dwarf);
    } else if (status == SONDE_UNSUPPORTED && make == SONDE__CLI_INDEX_MADE_OF_SYMBOLS) {
        source.symbols_only = index->symbols_only = true;
        status = sonde__symindex_convert(&source, made, ret_error);
    }
    return status;
}

static enum sonde_status convert_elf(const char *path, enum sonde__cli_index_make make,
                                     struct sonde__cli_index *index,
                                     struct sonde__symindex_made *made,
                                     struct sonde_error *ret_error)
{
    struct sonde__symfile_options options = {.debug_root = "/usr/lib/debug"};
    struct sonde__symfile_pair pair;
    struct sonde__cli_progress line;
    enum sonde_status status;
    char *absolute = realpath(path, NULL);
    status = sonde__symfile_open(&options, absolute != NULL ? absolute : path, &pair, ret_error);
    free(absolute);
    SONDE_TRY(status);
    sonde__cli_progress_begin(&line, PROGRESS_TEXT);
    status = convert(&options, &pair, make, &line, index, made, ret_error);
    sonde__cli_progress_end(&line);
    index->separate = pair.separate;
    sonde__symfile_close(&pair);
    return status;
}

static enum sonde_status convert_macho(const char *path, enum sonde__cli_index_make make,
                                       const struct sonde__cli_index_wanted *wanted,
                                       struct sonde__cli_index *index,
                                       struct sonde__symindex_made *made,
                                       struct sonde_error *ret_error)
{
    struct sonde__symfile_macho_wanted which = {0};
    struct sonde__symfile_macho macho;
    struct sonde__cli_progress line;
    enum sonde_status status;
    char *absolute = realpath(path, NULL);
    if (wanted != NULL) {
        which = (struct sonde__symfile_macho_wanted){&wanted->uuid, wanted->arch, wanted->folders,
                                                     wanted->folder_count};
    }
    status =
        sonde__symfile_macho_open(absolute != NULL ? absolute : path, &which, &macho, ret_error);
    free(absolute);
    SONDE_TRY(status);
    struct sonde__symindex_source source = {.macho_debug = &macho.debug,
                                            .macho_image = macho.separate ? &macho.own : NULL,
                                            .progress = step,
                                            .progress_ctx = &line};
    sonde__cli_progress_begin(&line, PROGRESS_TEXT);
    status = sonde__symindex_convert(&source, made, ret_error);
    if (status == SONDE_UNSUPPORTED && make == SONDE__CLI_INDEX_MADE_OF_SYMBOLS) {
        source.symbols_only = index->symbols_only = true;
        status = sonde__symindex_convert(&source, made, ret_error);
    }
    sonde__cli_progress_end(&line);
    index->separate = macho.separate;
    index->encrypted = macho.own.encrypted.size != 0;
    sonde__symfile_macho_close(&macho);
    return status;
}

static enum sonde_status make_index(const char *path, bool is_macho,
                                    enum sonde__cli_index_make make,
                                    const struct sonde__cli_index_wanted *wanted,
                                    struct sonde__cli_index *index, struct sonde_error *ret_error)
{
    struct sonde__symindex_made made;
    enum sonde_status status;
    SONDE_TRY(is_macho ? convert_macho(path, make, wanted, index, &made, ret_error)
                       : convert_elf(path, make, index, &made, ret_error));
    index->made = made.data;
    index->size = made.size;
    status = sonde__symindex_open(made.data, made.size, &index->index, ret_error);
    if (status != SONDE_OK) {
        sonde__mem_free(made.data);
    }
    return status;
}

static bool is_bundle(const char *path)
{
    size_t size = strlen(path);
    size -= size > 1 && path[size - 1] == '/';
    return size > 5 && memcmp(path + size - 5, ".dSYM", 5) == 0;
}

/* Where the index of a program is kept that is asked about on the way. False: it is not. */
static bool kept_at(const struct sonde__host_file *file, enum sonde__cli_index_make make,
                    char *ret_path)
{
    struct sonde__build_id id = {0};
    struct sonde__elf elf;
    return make == SONDE__CLI_INDEX_MADE_OF_SYMBOLS &&
           sonde__elf_open(file->data, file->size, &elf, NULL) == SONDE_OK &&
           sonde__elf_build_id(&elf, &id) && sonde__cli_cache_path(&id, ret_path);
}

static bool open_kept(const char *path, struct sonde__cli_index *index)
{
    struct sonde__host_file file;
    char its_path[SONDE__CLI_CACHE_PATH];
    if (sonde__host_file_map(NULL, path, FILE_BYTES_MAX, &file, NULL) != SONDE_OK) {
        return false;
    }
    if (sonde__symindex_open(file.data, file.size, &index->index, NULL) != SONDE_OK ||
        !sonde__cli_cache_path(&index->index.build_id, its_path) || strcmp(path, its_path) != 0 ||
        !sonde__symindex_intact(&index->index)) {
        sonde__host_file_unmap(&file);
        return false;
    }
    index->file = file;
    index->size = file.size;
    return true;
}

/* Make the index of a program, or take the one that was kept of it. One of symbols only is not
 * kept, nor one with errors: its debug information may come, or be mended. */
static enum sonde_status make_or_take(const char *path, bool is_macho, const char *kept,
                                      enum sonde__cli_index_make make,
                                      const struct sonde__cli_index_wanted *wanted,
                                      struct sonde__cli_index *index, struct sonde_error *ret_error)
{
    if (kept[0] != '\0' && open_kept(kept, index)) {
        return SONDE_OK;
    }
    SONDE_TRY(make_index(path, is_macho, make, wanted, index, ret_error));
    if (kept[0] != '\0' && index->index.units != 0 && index->index.bad_units == 0 &&
        index->index.build_id.size != 0) {
        sonde__cli_cache_keep(kept, index->made, index->size);
    }
    return SONDE_OK;
}

enum sonde_status sonde__cli_index_open(const char *path, enum sonde__cli_index_make make,
                                        const struct sonde__cli_index_wanted *wanted,
                                        struct sonde__cli_index *ret_index,
                                        struct sonde_error *ret_error)
{
    struct sonde__cli_index index = {0};
    struct sonde__host_file file = {0};
    bool is_macho = is_bundle(path);
    enum sonde_status status;
    if (!is_macho) {
        SONDE_TRY(sonde__host_file_map(NULL, path, FILE_BYTES_MAX, &file, ret_error));
        is_macho = sonde__macho_begins(file.data, file.size);
    }
    if (file.size >= SYMINDEX_MAGIC_BYTES &&
        memcmp(file.data, SYMINDEX_MAGIC, SYMINDEX_MAGIC_BYTES) == 0) {
        index.file = file;
        index.size = file.size;
        status = sonde__symindex_open(file.data, file.size, &index.index, ret_error);
        if (status != SONDE_OK) {
            sonde__host_file_unmap(&file);
            return status;
        }
    } else {
        char kept[SONDE__CLI_CACHE_PATH] = "";
        if (is_macho || !kept_at(&file, make, kept)) {
            kept[0] = '\0';
        }
        sonde__host_file_unmap(&file);
        if (make == SONDE__CLI_INDEX_NOT_MADE) {
            return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "not an index file of sonde",
                                    NULL, 0, 0);
        }
        SONDE_TRY(make_or_take(path, is_macho, kept, make, wanted, &index, ret_error));
    }
    status = sonde__symindex_strings_init(&index.strings, &index.index);
    if (status != SONDE_OK) {
        sonde__cli_index_close(&index);
        return sonde__base_fail(ret_error, status, "no memory for names", NULL, 0, 0);
    }
    *ret_index = index;
    ret_index->strings.index = &ret_index->index; /* not the copy's that is gone */
    return SONDE_OK;
}

void sonde__cli_index_close(struct sonde__cli_index *index)
{
    sonde__symindex_strings_done(&index->strings);
    sonde__host_file_unmap(&index->file);
    sonde__mem_free(index->made);
    memset(index, 0, sizeof *index);
}

void sonde__cli_build_id_text(const struct sonde__build_id *id, char *ret_text)
{
    for (unsigned i = 0; i < id->size; i++) {
        snprintf(ret_text + 2 * (size_t)i, 3, "%02x", id->bytes[i]);
    }
    ret_text[2 * (size_t)id->size] = '\0';
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool sonde__cli_build_id_parse(const char *text, struct sonde__build_id *ret_id)
{
    size_t size = strlen(text);
    if (size % 2 != 0 || size == 0 || size / 2 > SONDE__BUILD_ID_MAX) {
        return false;
    }
    memset(ret_id, 0, sizeof *ret_id);
    for (size_t i = 0; i < size; i += 2) {
        int high = digit(text[i]);
        int low = digit(text[i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        ret_id->bytes[ret_id->size++] = (uint8_t)(high << 4 | low);
    }
    return true;
}
