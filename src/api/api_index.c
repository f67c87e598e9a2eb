// SPDX-License-Identifier: Apache-2.0
/* Implements index.h. A separate file, so that a program that links the archive without using it
 * does not get the reader of debug information. */
#include <pthread.h>
#include <string.h>

#include <sonde/image.h>
#include <sonde/index.h>

#include "base_sized.h"
#include "base_status.h"
#include "mem_heap.h"
#include "symfile_index_find.h"
#include "tail_graph.h"

#define DEBUG_ROOT  "/usr/lib/debug"
#define THREADS_MAX 64u

struct sonde_index {
    struct sonde__symfile_index_file file;
    struct sonde__tail_graph tails;
    pthread_mutex_t strings_lock;
};

_Static_assert(sizeof(struct sonde_index_frame) == sizeof(struct sonde__symindex_frame) &&
                   offsetof(struct sonde_index_frame, line) ==
                       offsetof(struct sonde__symindex_frame, line),
               "frames are handed over as they are");
_Static_assert(SONDE_BUILD_ID_MAX >= SONDE__BUILD_ID_MAX &&
                   sizeof((struct sonde_index_info *)0)->build_id >= SONDE__BUILD_ID_MAX,
               "every build-id fits");

static const struct sonde__symindex *of(const struct sonde_index *index)
{
    return &index->file.index;
}

/* Convert between offsets of the interface and vaddrs of the index: a Mach-O's header is at
 * `base`. */
static uint64_t to_vaddr(const struct sonde_index *index, uint64_t image_offset)
{
    return of(index)->from_header ? image_offset + of(index)->base : image_offset;
}

static uint64_t to_offset(const struct sonde_index *index, uint64_t vaddr)
{
    return of(index)->from_header ? vaddr - of(index)->base : vaddr;
}

/* --- opening --- */

/* sought.id of size 0: open the file at sought.path. */
static enum sonde_status open_index(const struct sonde__symfile_index_sought *sought,
                                    const char *const *folders, uint32_t folder_count,
                                    uint32_t threads, struct sonde_index **ret_index,
                                    struct sonde_error *ret_error)
{
    /* use kept indexes; MADE keeps none */
    const struct sonde__symfile_making making = {.threads = threads, .keep = true};
    const struct sonde__symfile_options options = {.debug_root = DEBUG_ROOT,
                                                   .folders = folders,
                                                   .folder_count = folder_count,
                                                   .making = &making};
    struct sonde_index *index = sonde__mem_alloc_zeroed(sizeof *index);
    enum sonde_status status;
    if (index == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory for an index", NULL, 0, 0);
    }
    status = sought->id.size == 0
                 ? sonde__symfile_index_file_open(&options, sought->path, sought->make, NULL,
                                                  &index->file, ret_error)
                 : sonde__symfile_index_find(&options, sought, &index->file, ret_error);
    if (status != SONDE_OK) {
        sonde__mem_free(index);
        return status;
    }
    sonde__symindex_tails(of(index), &index->tails);
    pthread_mutex_init(&index->strings_lock, NULL);
    *ret_index = index;
    return SONDE_OK;
}

enum sonde_status sonde_index_open(const char *path, uint32_t threads,
                                   struct sonde_index **ret_index, struct sonde_error *ret_error)
{
    if (path == NULL || ret_index == NULL || threads > THREADS_MAX) {
        return sonde__base_fail(ret_error, SONDE_USAGE, sonde_status_text(SONDE_USAGE), NULL, 0, 0);
    }
    return open_index(
        &(struct sonde__symfile_index_sought){.path = path, .make = SONDE__SYMFILE_INDEX_MADE},
        NULL, 0, threads, ret_index, ret_error);
}

void sonde_index_close(struct sonde_index *index)
{
    if (index == NULL) {
        return;
    }
    sonde__symfile_index_file_close(&index->file);
    pthread_mutex_destroy(&index->strings_lock);
    sonde__mem_free(index);
}

enum sonde_status sonde_index_open_build_id(const uint8_t *build_id, uint32_t size_bytes,
                                            const char *const *folders, uint32_t folder_count,
                                            uint32_t threads, struct sonde_index **ret_index,
                                            struct sonde_error *ret_error)
{
    struct sonde__symfile_index_sought sought = {.make = SONDE__SYMFILE_INDEX_MADE};
    bool is_wrong = build_id == NULL || size_bytes == 0 || size_bytes > SONDE__BUILD_ID_MAX ||
                    (folders == NULL && folder_count != 0) || ret_index == NULL ||
                    threads > THREADS_MAX;
    for (uint32_t i = 0; !is_wrong && i < folder_count; i++) {
        is_wrong = folders[i] == NULL;
    }
    if (is_wrong) {
        return sonde__base_fail(ret_error, SONDE_USAGE, sonde_status_text(SONDE_USAGE), NULL, 0, 0);
    }
    sought.id.size = (uint8_t)size_bytes;
    memcpy(sought.id.bytes, build_id, size_bytes);
    return open_index(&sought, folders, folder_count, threads, ret_index, ret_error);
}

/* --- properties --- */

enum sonde_status sonde_index_info(const struct sonde_index *index,
                                   struct sonde_index_info *ret_info)
{
    if (index == NULL || !sonde__base_sized_is_set(ret_info)) {
        return SONDE_USAGE;
    }
    const struct sonde__symindex *s = of(index);
    struct sonde_index_info info = {.first_offset = to_offset(index, s->base),
                                    .code_bytes = s->code_bytes,
                                    .arch = s->arch <= SONDE_ARCH_AARCH64 ? s->arch : 0,
                                    .names = s->names,
                                    .files = s->files != 0 ? s->files - 1 : 0,
                                    .units = s->units,
                                    .bad_units = s->bad_units,
                                    .build_id_size = s->build_id.size};
    memcpy(info.build_id, s->build_id.bytes, s->build_id.size);
    sonde__base_sized_give(ret_info, &info, sizeof info);
    return SONDE_OK;
}

enum sonde_status sonde_index_bad_unit(const struct sonde_index *index, uint32_t i,
                                       struct sonde_index_bad_unit *ret_unit)
{
    struct sonde__symindex_bad_unit unit;
    if (index == NULL || !sonde__base_sized_is_set(ret_unit)) {
        return SONDE_USAGE;
    }
    if (!sonde__symindex_bad_unit(of(index), i, &unit)) {
        return SONDE_ABSENT;
    }
    const struct sonde_index_bad_unit known = {
        .offset = unit.offset, .name = unit.name, .what = unit.what};
    sonde__base_sized_give(ret_unit, &known, sizeof known);
    return SONDE_OK;
}

/* --- addresses --- */

enum sonde_status sonde_index_lookup(const struct sonde_index *index, uint64_t image_offset,
                                     struct sonde_index_frame *frames, size_t max,
                                     size_t *ret_count)
{
    struct sonde__symindex_frame found[SONDE_INDEX_FRAMES_MAX];
    size_t count;
    if (index == NULL || (frames == NULL && max != 0) || ret_count == NULL) {
        return SONDE_USAGE;
    }
    count = sonde__symindex_find(of(index), to_vaddr(index, image_offset), found,
                                 SONDE_INDEX_FRAMES_MAX);
    if (count == 0) {
        *ret_count = 0;
        return SONDE_ABSENT;
    }
    *ret_count = count < max ? count : max;
    if (*ret_count != 0) {
        memcpy(frames, found, *ret_count * sizeof *frames);
    }
    return count <= max ? SONDE_OK : SONDE_LIMIT;
}

enum sonde_status sonde_index_lookup_many(const struct sonde_index *index,
                                          const uint64_t *image_offsets, size_t count,
                                          struct sonde_index_frame *frames, size_t max,
                                          uint32_t *first, uint32_t *counts)
{
    uint64_t *moved = NULL;
    enum sonde_status status;
    if (index == NULL || (frames == NULL && max != 0) || max > UINT32_MAX ||
        (count != 0 && (image_offsets == NULL || first == NULL || counts == NULL))) {
        return SONDE_USAGE;
    }
    if (of(index)->from_header) {
        moved = sonde__mem_alloc_array(count, sizeof *moved);
        if (moved == NULL) {
            return SONDE_MEMORY;
        }
        for (size_t i = 0; i < count; i++) {
            moved[i] = to_vaddr(index, image_offsets[i]);
        }
        image_offsets = moved;
    }
    status = sonde__symindex_find_many(of(index), image_offsets, count,
                                       (struct sonde__symindex_frame *)frames, max, first, counts);
    sonde__mem_free(moved);
    return status;
}

enum sonde_status sonde_index_symbol(const struct sonde_index *index, uint64_t image_offset,
                                     struct sonde_index_symbol *ret_symbol)
{
    struct sonde__symindex_symbol symbol;
    if (index == NULL || !sonde__base_sized_is_set(ret_symbol)) {
        return SONDE_USAGE;
    }
    if (!sonde__symindex_symbol(of(index), to_vaddr(index, image_offset), &symbol)) {
        return SONDE_ABSENT;
    }
    const struct sonde_index_symbol known = {.start = to_offset(index, symbol.start),
                                             .size_bytes = symbol.size,
                                             .name = symbol.name,
                                             .alias_count = symbol.alias_count};
    sonde__base_sized_give(ret_symbol, &known, sizeof known);
    return SONDE_OK;
}

uint32_t sonde_index_alias(const struct sonde_index *index, uint64_t image_offset, uint32_t i)
{
    struct sonde__symindex_symbol symbol;
    return index != NULL &&
                   sonde__symindex_symbol(of(index), to_vaddr(index, image_offset), &symbol)
               ? sonde__symindex_alias(of(index), &symbol, i)
               : 0;
}

/* --- strings --- */

static const char *text_of(struct sonde_index *index, uint32_t id,
                           const char *(*decode)(struct sonde__symindex_strings *, uint32_t))
{
    const char *text;
    if (index == NULL) {
        return "";
    }
    pthread_mutex_lock(&index->strings_lock);
    text = decode(&index->file.strings, id);
    pthread_mutex_unlock(&index->strings_lock);
    return text;
}

const char *sonde_index_name(struct sonde_index *index, uint32_t name)
{
    return text_of(index, name, sonde__symindex_name);
}

const char *sonde_index_file(struct sonde_index *index, uint32_t file)
{
    return text_of(index, file, sonde__symindex_file);
}

/* --- tail calls --- */

enum sonde_status sonde_index_tails(const struct sonde_index *index, uint64_t return_offset,
                                    uint64_t inner_offset, uint64_t *places, size_t max,
                                    size_t *ret_count)
{
    struct sonde__tail_found found;
    uint32_t entry;
    bool is_main;
    if (index == NULL || (places == NULL && max != 0) || ret_count == NULL) {
        return SONDE_USAGE;
    }
    uint64_t base = of(index)->base;
    uint64_t back = to_vaddr(index, return_offset) - base;
    uint64_t inner = to_vaddr(index, inner_offset) - base;
    *ret_count = 0; /* jumps through other images are not followed */
    if (back > UINT32_MAX || inner > UINT32_MAX ||
        !sonde__tail_site(&index->tails, (uint32_t)back, &entry, &is_main) || is_main) {
        return SONDE_ABSENT;
    }
    switch (sonde__tail_between(&index->tails, entry, (uint32_t)inner, &found)) {
    case SONDE__TAIL_FRAMES:
        break;
    case SONDE__TAIL_SEVERAL:
    case SONDE__TAIL_POSSIBLE:
        return SONDE_AMBIGUOUS;
    default:
        return SONDE_ABSENT;
    }
    for (; *ret_count < found.count && *ret_count < max; ++*ret_count) {
        places[*ret_count] = to_offset(index, base + found.frames[*ret_count].place);
    }
    return found.count <= max ? SONDE_OK : SONDE_LIMIT;
}
