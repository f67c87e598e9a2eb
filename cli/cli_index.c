// SPDX-License-Identifier: Apache-2.0
#include "cli_index.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base_status.h"
#include "mem_heap.h"
#include "symfile_open.h"
#include "symfile_sections.h"
#include "symindex_convert.h"

#define FILE_BYTES_MAX ((uint64_t)64 << 30)

static void step(void *ctx, uint64_t done, uint64_t total)
{
    sonde__cli_progress_step(ctx, total != 0 ? done * 100 / total : 0, 100);
}

static enum sonde_status convert(const struct sonde__symfile_pair *pair,
                                 enum sonde__cli_index_make make, struct sonde__cli_progress *line,
                                 struct sonde__cli_index *index, struct sonde__symindex_made *made,
                                 struct sonde_error *ret_error)
{
    struct sonde__symfile_sections sections;
    struct sonde__symindex_source source = {.debug = &pair->debug,
                                            .image = pair->separate ? &pair->own : NULL,
                                            .progress = step,
                                            .progress_ctx = line};
    enum sonde_status status =
        sonde__symfile_sections_open(&pair->debug, false, &sections, ret_error);
    if (status == SONDE_OK) {
        source.sections = &sections.views;
        source.damage = sections.damage;
        status = sonde__symindex_convert(&source, made, ret_error);
        sonde__symfile_sections_close(&sections);
    } else if (status == SONDE_UNSUPPORTED && make == SONDE__CLI_INDEX_MADE_OF_SYMBOLS) {
        source.symbols_only = index->symbols_only = true;
        status = sonde__symindex_convert(&source, made, ret_error);
    }
    return status;
}

static enum sonde_status make_index(const char *path, enum sonde__cli_index_make make,
                                    struct sonde__cli_index *index, struct sonde_error *ret_error)
{
    struct sonde__symfile_options options = {.debug_root = "/usr/lib/debug"};
    struct sonde__symfile_pair pair;
    struct sonde__cli_progress line;
    struct sonde__symindex_made made;
    enum sonde_status status;
    char *absolute = realpath(path, NULL);
    status = sonde__symfile_open(&options, absolute != NULL ? absolute : path, &pair, ret_error);
    free(absolute);
    SONDE_TRY(status);
    sonde__cli_progress_begin(&line, "reading debug information, per cent");
    status = convert(&pair, make, &line, index, &made, ret_error);
    sonde__cli_progress_end(&line);
    index->separate = pair.separate;
    sonde__symfile_close(&pair);
    SONDE_TRY(status);
    index->made = made.data;
    index->size = made.size;
    status = sonde__symindex_open(made.data, made.size, &index->index, ret_error);
    if (status != SONDE_OK) {
        sonde__mem_free(made.data);
    }
    return status;
}

enum sonde_status sonde__cli_index_open(const char *path, enum sonde__cli_index_make make,
                                        struct sonde__cli_index *ret_index,
                                        struct sonde_error *ret_error)
{
    struct sonde__cli_index index = {0};
    struct sonde__host_file file;
    enum sonde_status status;
    SONDE_TRY(sonde__host_file_map(NULL, path, FILE_BYTES_MAX, &file, ret_error));
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
        sonde__host_file_unmap(&file);
        if (make == SONDE__CLI_INDEX_NOT_MADE) {
            return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "not an index file of sonde",
                                    NULL, 0, 0);
        }
        SONDE_TRY(make_index(path, make, &index, ret_error));
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
