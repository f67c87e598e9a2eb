// SPDX-License-Identifier: Apache-2.0
#include "symfile_index_file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base_bytes.h"
#include "base_status.h"
#include "mem_heap.h"
#include "symfile_dwarf.h"
#include "symfile_find.h"
#include "symfile_macho.h"
#include "symindex_convert.h"

/* Limit far above today's programs; mapped, not read. */
#define FILE_BYTES_MAX ((uint64_t)64 << 30)
/* An index with errors is used this long: missing files (dwz's, split files) may be added later. */
#define BAD_AGE_S 600

/* --- made indexes --- */

static enum sonde_status convert(const struct sonde__symfile_options *options,
                                 const struct sonde__symfile_pair *pair,
                                 enum sonde__symfile_index_make make,
                                 struct sonde__symfile_index_file *index,
                                 struct sonde_error *ret_error)
{
    struct sonde__symfile_dwarf dwarf;
    struct sonde__symindex_made made;
    struct sonde__symindex_source source = {.debug = &pair->debug,
                                            .image = pair->separate ? &pair->own : NULL,
                                            .threads = options->making->threads,
                                            .progress = options->making->step,
                                            .progress_ctx = options->making->ctx};
    enum sonde_status status = sonde__symfile_dwarf_open(options, pair, &dwarf, ret_error);
    if (status == SONDE_OK) {
        source.sections = &dwarf.sections;
        source.damage = dwarf.damage;
        source.split = sonde__symfile_dwarf_split;
        source.split_ctx = &dwarf;
        status = sonde__symindex_convert(&source, &made, ret_error);
        sonde__symfile_dwarf_close(&dwarf);
    } else if (status == SONDE_UNSUPPORTED && make == SONDE__SYMFILE_INDEX_MADE_OF_SYMBOLS) {
        source.symbols_only = index->symbols_only = true;
        status = sonde__symindex_convert(&source, &made, ret_error);
    }
    if (options->making->end != NULL) {
        options->making->end(options->making->ctx);
    }
    SONDE_TRY(status);
    index->separate = pair->separate && pair->mini.scratch.data == NULL;
    index->made = made.data;
    index->size = made.size;
    return SONDE_OK;
}

static enum sonde_status convert_elf(const struct sonde__symfile_options *options, const char *path,
                                     enum sonde__symfile_index_make make,
                                     struct sonde__symfile_index_file *index,
                                     struct sonde_error *ret_error)
{
    struct sonde__symfile_pair pair;
    enum sonde_status status;
    char *absolute = realpath(path, NULL);
    status = sonde__symfile_open(options, absolute != NULL ? absolute : path, &pair, ret_error);
    free(absolute);
    SONDE_TRY(status);
    status = convert(options, &pair, make, index, ret_error);
    sonde__symfile_close(&pair);
    return status;
}

static enum sonde_status convert_macho(const struct sonde__symfile_options *options,
                                       const char *path, enum sonde__symfile_index_make make,
                                       const struct sonde__symfile_index_wanted *wanted,
                                       struct sonde__symfile_index_file *index,
                                       struct sonde_error *ret_error)
{
    struct sonde__symfile_macho_wanted which = {.folders = options->folders,
                                                .folder_count = options->folder_count};
    struct sonde__symindex_made made;
    struct sonde__symfile_macho macho;
    enum sonde_status status;
    char *absolute = realpath(path, NULL);
    if (wanted != NULL) {
        which.uuid = &wanted->uuid;
        which.arch = wanted->arch;
    }
    status =
        sonde__symfile_macho_open(absolute != NULL ? absolute : path, &which, &macho, ret_error);
    free(absolute);
    SONDE_TRY(status);
    struct sonde__symindex_source source = {.macho_debug = &macho.debug,
                                            .macho_image = macho.separate ? &macho.own : NULL,
                                            .threads = options->making->threads,
                                            .progress = options->making->step,
                                            .progress_ctx = options->making->ctx};
    status = sonde__symindex_convert(&source, &made, ret_error);
    if (status == SONDE_UNSUPPORTED && make == SONDE__SYMFILE_INDEX_MADE_OF_SYMBOLS) {
        source.symbols_only = index->symbols_only = true;
        status = sonde__symindex_convert(&source, &made, ret_error);
    }
    if (options->making->end != NULL) {
        options->making->end(options->making->ctx);
    }
    index->separate = macho.separate;
    index->encrypted = macho.own.encrypted.size != 0;
    sonde__symfile_macho_close(&macho);
    SONDE_TRY(status);
    index->made = made.data;
    index->size = made.size;
    return SONDE_OK;
}

static enum sonde_status convert_breakpad(const struct sonde__symfile_options *options,
                                          const char *path, struct sonde__symfile_index_file *index,
                                          struct sonde_error *ret_error)
{
    struct sonde__host_file file;
    struct sonde__breakpad breakpad;
    struct sonde__symindex_made made;
    SONDE_TRY(sonde__host_file_map(NULL, path, FILE_BYTES_MAX, &file, ret_error));
    enum sonde_status status = sonde__breakpad_open(file.data, file.size, &breakpad, ret_error);
    if (status == SONDE_OK) {
        const struct sonde__symindex_source source = {.breakpad = &breakpad};
        status = sonde__symindex_convert(&source, &made, ret_error);
    }
    sonde__host_file_unmap(&file);
    if (options->making->end != NULL) {
        options->making->end(options->making->ctx);
    }
    SONDE_TRY(status);
    index->made = made.data;
    index->size = made.size;
    return SONDE_OK;
}

/* --- kept indexes --- */

/* An index of symbols only is not kept: debug information may be added later. */
static void keep_index(const char *kept, const struct sonde__symfile_index_file *index)
{
    if (index->index.units != 0 && index->index.build_id.size != 0) {
        symfile_keep(kept, index->made, index->size);
    }
}

static bool is_too_old(const char *path, const struct sonde__symindex *index)
{
    struct stat st;
    time_t now = time(NULL);
    return index->bad_units != 0 &&
           (stat(path, &st) != 0 || st.st_mtime > now || now - st.st_mtime > BAD_AGE_S);
}

static bool map_index(const char *root, const char *path, const struct sonde__build_id *id,
                      bool intact, struct sonde__symfile_index_file *index)
{
    struct sonde__host_file file;
    if (sonde__host_file_map(root, path, FILE_BYTES_MAX, &file, NULL) != SONDE_OK) {
        return false;
    }
    if (sonde__symindex_open(file.data, file.size, &index->index, NULL) != SONDE_OK ||
        !sonde__symfile_belongs(&index->index.build_id, id) ||
        (intact && !sonde__symindex_intact(&index->index))) {
        sonde__host_file_unmap(&file);
        return false;
    }
    index->file = file;
    index->size = file.size;
    return true;
}

static bool open_kept(const char *path, const struct sonde__build_id *id,
                      struct sonde__symfile_index_file *index)
{
    if (!map_index(NULL, path, id, true, index)) {
        return false;
    }
    if (is_too_old(path, &index->index)) {
        sonde__host_file_unmap(&index->file);
        return false;
    }
    symfile_kept_used(path);
    return true;
}

/* --- either --- */

static enum sonde_status finish(enum sonde_status status, struct sonde__symfile_index_file *index,
                                struct sonde_error *ret_error)
{
    if (status == SONDE_OK) {
        status = sonde__symindex_strings_init(&index->strings, &index->index);
        if (status != SONDE_OK) {
            (void)sonde__base_fail(ret_error, status, "no memory for names", NULL, 0, 0);
        }
    }
    if (status != SONDE_OK) {
        sonde__symfile_index_file_close(index);
    }
    return status;
}

enum kind { KIND_ELF, KIND_MACHO, KIND_BREAKPAD };

static bool is_bundle(const char *path)
{
    size_t size = strlen(path);
    size -= size > 1 && path[size - 1] == '/';
    return size > 5 && memcmp(path + size - 5, ".dSYM", 5) == 0;
}

/* Use the kept index of a program, or make one. With id.size 0 the index is not kept. */
static enum sonde_status
make_or_take(const struct sonde__symfile_options *options, const char *path, enum kind kind,
             const struct sonde__build_id *id, enum sonde__symfile_index_make make,
             const struct sonde__symfile_index_wanted *wanted,
             struct sonde__symfile_index_file *index, struct sonde_error *ret_error)
{
    char kept[SONDE__SYMFILE_KEPT_PATH];
    bool may_keep = kind == KIND_ELF && make == SONDE__SYMFILE_INDEX_MADE_OF_SYMBOLS &&
                    options->making->keep && sonde__symfile_kept_path(id, kept);
    if (may_keep && open_kept(kept, id, index)) {
        return SONDE_OK;
    }
    SONDE_TRY(kind == KIND_MACHO      ? convert_macho(options, path, make, wanted, index, ret_error)
              : kind == KIND_BREAKPAD ? convert_breakpad(options, path, index, ret_error)
                                      : convert_elf(options, path, make, index, ret_error));
    SONDE_TRY(sonde__symindex_open(index->made, index->size, &index->index, ret_error));
    if (may_keep) {
        keep_index(kept, index);
    }
    return SONDE_OK;
}

static bool is_archive(const struct sonde__host_file *file)
{
    return file->size >= 8 &&
           (memcmp(file->data, "!<arch>\n", 8) == 0 || memcmp(file->data, "!<thin>\n", 8) == 0);
}

/* Is an ELF cut: are its section headers, which linkers write last, beyond its end? (gABI, figure
 * 4-3) */
static bool is_cut(const struct sonde__host_file *file)
{
    struct sonde__bytes b;
    uint64_t table, entry, count;
    bool is64;
    if (file->size < 64 || memcmp(file->data, "\177ELF", 4) != 0 ||
        ((const uint8_t *)file->data)[5] != 1 /* little-endian */) {
        return false;
    }
    is64 = ((const uint8_t *)file->data)[4] == 2;
    sonde__base_bytes_init(&b, file->data, file->size);
    (void)sonde__base_bytes_seek(&b, is64 ? 0x28 : 0x20);
    table = is64 ? sonde__base_bytes_u64(&b) : sonde__base_bytes_u32(&b);
    (void)sonde__base_bytes_seek(&b, is64 ? 0x3a : 0x2e);
    entry = sonde__base_bytes_u16(&b);
    count = sonde__base_bytes_u16(&b);
    return table != 0 && (table > file->size || entry * count > file->size - table);
}

enum sonde_status sonde__symfile_index_file_open(const struct sonde__symfile_options *options,
                                                 const char *path,
                                                 enum sonde__symfile_index_make make,
                                                 const struct sonde__symfile_index_wanted *wanted,
                                                 struct sonde__symfile_index_file *ret_index,
                                                 struct sonde_error *ret_error)
{
    struct sonde__symfile_index_file *index = ret_index;
    struct sonde__host_file file = {0};
    struct sonde__build_id id = {0};
    struct sonde__elf elf;
    enum sonde_status status;
    enum kind kind = is_bundle(path) ? KIND_MACHO : KIND_ELF;
    *index = (struct sonde__symfile_index_file){0};
    if (kind != KIND_MACHO) {
        SONDE_TRY(sonde__host_file_map(NULL, path, FILE_BYTES_MAX, &file, ret_error));
        if (is_archive(&file)) {
            sonde__host_file_unmap(&file);
            return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                    "an archive of object files: their addresses are not final "
                                    "before they are linked",
                                    NULL, 0, 0);
        }
        kind = sonde__macho_begins(file.data, file.size)      ? KIND_MACHO
               : sonde__breakpad_begins(file.data, file.size) ? KIND_BREAKPAD
                                                              : KIND_ELF;
        index->cut = is_cut(&file);
    }
    if (file.size >= SYMINDEX_MAGIC_BYTES &&
        memcmp(file.data, SYMINDEX_MAGIC, SYMINDEX_MAGIC_BYTES) == 0) {
        index->file = file;
        index->size = file.size;
        return finish(sonde__symindex_open(file.data, file.size, &index->index, ret_error), index,
                      ret_error);
    }
    if (kind == KIND_ELF && sonde__elf_open(file.data, file.size, &elf, NULL) == SONDE_OK) {
        (void)sonde__elf_build_id(&elf, &id);
    }
    sonde__host_file_unmap(&file);
    if (make == SONDE__SYMFILE_INDEX_NOT_MADE) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "not an index file of sonde", NULL, 0,
                                0);
    }
    id.size = index->cut ? 0 : id.size; /* the index does not describe the whole file */
    status = make_or_take(options, path, kind, &id, make, wanted, index, ret_error);
    if (status == SONDE_ABSENT && index->cut) {
        status = sonde__base_fail(ret_error, SONDE_CORRUPT,
                                  "truncated: its section headers are beyond its end", NULL, 0, 0);
    }
    return finish(status, index, ret_error);
}

enum sonde_status sonde__symfile_index_make(const struct sonde__symfile_options *options,
                                            const struct sonde__symfile_pair *pair,
                                            struct sonde__symfile_index_file *ret_index,
                                            struct sonde_error *ret_error)
{
    *ret_index = (struct sonde__symfile_index_file){0};
    enum sonde_status status =
        convert(options, pair, SONDE__SYMFILE_INDEX_MADE, ret_index, ret_error);
    if (status == SONDE_OK) {
        status =
            sonde__symindex_open(ret_index->made, ret_index->size, &ret_index->index, ret_error);
    }
    return finish(status, ret_index, ret_error);
}

void sonde__symfile_index_file_close(struct sonde__symfile_index_file *index)
{
    sonde__symindex_strings_done(&index->strings);
    sonde__host_file_unmap(&index->file);
    sonde__mem_free(index->made);
    memset(index, 0, sizeof *index);
}

void sonde__symfile_index_calls(struct sonde__symfile_index_file *index, uint64_t vaddr,
                                struct sonde__answer *answer)
{
    struct sonde__symindex_symbol symbol;
    answer->count = sonde__symindex_calls(&index->strings, vaddr, answer->calls);
    if (answer->function.name[0] == '\0' && sonde__symindex_symbol(&index->index, vaddr, &symbol)) {
        const char *name = sonde__symindex_name(&index->strings, symbol.name);
        if (name[0] != '\0') {
            answer->function =
                (struct sonde__function){name, symbol.start, true, SONDE__NAME_DEBUG_INFO};
        }
    }
    sonde__answer_name_function(answer);
}

bool symfile_index_file_map(const char *root, const char *path, const struct sonde__build_id *id,
                            struct sonde__symfile_index_file *ret_index)
{
    *ret_index = (struct sonde__symfile_index_file){0};
    return map_index(root, path, id, false, ret_index) &&
           finish(SONDE_OK, ret_index, NULL) == SONDE_OK;
}

bool symfile_index_file_of(const struct sonde__symfile_options *options,
                           const struct sonde__build_id *id, const struct sonde__symfile_pair *pair,
                           struct sonde__symfile_index_file *ret_index)
{
    const struct sonde__symfile_making *making = options->making;
    char kept[SONDE__SYMFILE_KEPT_PATH];
    bool may_keep = making->keep && sonde__symfile_kept_path(id, kept);
    *ret_index = (struct sonde__symfile_index_file){0};
    if (may_keep && open_kept(kept, id, ret_index)) {
        return finish(SONDE_OK, ret_index, NULL) == SONDE_OK;
    }
    if (making->only_kept || !symfile_has_debug_information(&pair->debug) ||
        (making->bytes_max != 0 &&
         (uint64_t)(pair->debug.file.end - pair->debug.file.begin) > making->bytes_max)) {
        return false;
    }
    if (sonde__symfile_index_make(options, pair, ret_index, NULL) != SONDE_OK) {
        return false;
    }
    if (may_keep && symfile_same_build_id(&ret_index->index.build_id, id)) {
        keep_index(kept, ret_index);
    }
    return true;
}
