// SPDX-License-Identifier: Apache-2.0
#include "report_store.h"

#include <string.h>

#include "mem_heap.h"
#include "report_utf8.h"
#include "scrub.h"

#define BLOCK_BYTES ((size_t)64 << 10)

struct sonde__report_block {
    struct sonde__report_block *next;
    size_t capacity;
    _Alignas(max_align_t) unsigned char bytes[];
};

void *sonde__report_arena_take(struct sonde__report_arena *arena, size_t size)
{
    struct sonde__report_block *block = arena->blocks;
    if (size > SONDE__REPORT_MEMORY_MAX) {
        return NULL;
    }
    size = (size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
    if (block == NULL || size > block->capacity - arena->used_bytes) {
        size_t capacity = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        if (capacity > SONDE__REPORT_MEMORY_MAX - arena->total_bytes) {
            return NULL;
        }
        block = sonde__mem_alloc_zeroed(sizeof *block + capacity);
        if (block == NULL) {
            return NULL;
        }
        block->capacity = capacity;
        block->next = arena->blocks;
        arena->blocks = block;
        arena->used_bytes = 0;
        arena->total_bytes += capacity;
    }
    void *taken = block->bytes + arena->used_bytes;
    arena->used_bytes += size;
    return taken;
}

void sonde__report_arena_done(struct sonde__report_arena *arena)
{
    while (arena->blocks != NULL) {
        struct sonde__report_block *next = arena->blocks->next;
        sonde__mem_free(arena->blocks);
        arena->blocks = next;
    }
    arena->used_bytes = 0;
    arena->total_bytes = 0;
}

void *sonde__report_list_at(const struct sonde__report_list *list, uint32_t index)
{
    if (index >= list->count) {
        return NULL;
    }
    unsigned char *chunk = list->chunks[index / SONDE__REPORT_CHUNK];
    return chunk + (size_t)(index % SONDE__REPORT_CHUNK) * list->element_bytes;
}

static bool grow_directory(struct sonde__report_arena *arena, struct sonde__report_list *list)
{
    uint32_t capacity = list->chunk_capacity == 0 ? 16 : list->chunk_capacity * 2;
    void **chunks = sonde__report_arena_take(arena, capacity * sizeof *chunks);
    if (chunks == NULL) {
        return false;
    }
    if (list->chunk_capacity != 0) {
        memcpy(chunks, list->chunks, list->chunk_capacity * sizeof *chunks);
    }
    list->chunks = chunks;
    list->chunk_capacity = capacity;
    return true;
}

void *sonde__report_list_add(struct sonde__report_arena *arena, struct sonde__report_list *list)
{
    uint32_t chunk = list->count / SONDE__REPORT_CHUNK;
    if (chunk == list->chunk_capacity && !grow_directory(arena, list)) {
        return NULL;
    }
    if (list->chunks[chunk] == NULL) {
        /* the arena owns the chunk even if the element is not added */
        list->chunks[chunk] =
            sonde__report_arena_take(arena, (size_t)SONDE__REPORT_CHUNK * list->element_bytes);
        if (list->chunks[chunk] == NULL) {
            return NULL;
        }
    }
    list->count++;
    return sonde__report_list_at(list, list->count - 1);
}

const char *sonde__report_scrub(struct sonde__report *report, const char *text)
{
    struct sonde__text scrubbed;
    /* more would be cut anyway */
    size_t size = strnlen(text, SONDE__REPORT_STRING_BYTES_MAX * (size_t)2);
    if (report->scrub == NULL) {
        return text;
    }
    sonde__base_text_init(&scrubbed, report->scrubbed, sizeof report->scrubbed);
    sonde__scrub(report->scrub, text, size, &scrubbed);
    return report->scrubbed;
}

const char *sonde__report_copy_text(struct sonde__report *report, const void *text, size_t size,
                                    uint32_t *ret_length)
{
    bool cut = false;
    size_t length = sonde__report_utf8_length(text, size, SONDE__REPORT_STRING_BYTES_MAX, &cut);
    char *copy = sonde__report_arena_take(&report->arena, length + 1);
    if (copy == NULL) {
        return NULL;
    }
    sonde__report_utf8_copy(copy, length, text, size, cut);
    report->lost.strings_cut += cut;
    *ret_length = (uint32_t)length;
    return copy;
}
