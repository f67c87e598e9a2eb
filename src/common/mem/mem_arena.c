// SPDX-License-Identifier: Apache-2.0
#include "mem_arena.h"

#include <string.h>

#include "mem_heap.h"

/* Small, so that an arena of a few strings is cheap; larger allocations get their own chunk. */
#define CHUNK_BYTES 8192u
#define ALIGN_BYTES 16u

struct sonde__arena_chunk {
    struct sonde__arena_chunk *older;
    uint64_t pad; /* keeps `data` aligned */
    unsigned char data[];
};

void sonde__arena_init(struct sonde__arena *arena)
{
    *arena = (struct sonde__arena){0};
}

void sonde__arena_done(struct sonde__arena *arena)
{
    struct sonde__arena_chunk *chunk = arena->newest;
    while (chunk != NULL) {
        struct sonde__arena_chunk *older = chunk->older;
        sonde__mem_free(chunk);
        chunk = older;
    }
    sonde__arena_init(arena);
}

void *sonde__arena_alloc(struct sonde__arena *arena, size_t size)
{
    struct sonde__arena_chunk *chunk;
    size_t capacity;
    void *at;
    if (size > SIZE_MAX - ALIGN_BYTES - sizeof *chunk) {
        return NULL;
    }
    size = (size + ALIGN_BYTES - 1) & ~(size_t)(ALIGN_BYTES - 1);
    if (arena->newest != NULL && size <= arena->capacity - arena->used) {
        at = arena->newest->data + arena->used;
        arena->used += size;
        return at;
    }
    capacity = size > CHUNK_BYTES / 2 ? size : CHUNK_BYTES - sizeof *chunk;
    chunk = sonde__mem_alloc(sizeof *chunk + capacity);
    if (chunk == NULL) {
        return NULL;
    }
    arena->bytes += sizeof *chunk + capacity;
    if (size > CHUNK_BYTES / 2 && arena->newest != NULL) {
        /* Link it after the newest chunk, so that the newest chunk's free space stays usable. */
        chunk->older = arena->newest->older;
        arena->newest->older = chunk;
        return chunk->data;
    }
    chunk->older = arena->newest;
    arena->newest = chunk;
    arena->capacity = capacity;
    arena->used = size;
    return chunk->data;
}

char *sonde__arena_copy_text(struct sonde__arena *arena, const char *text, size_t size)
{
    char *copy = size < SIZE_MAX ? sonde__arena_alloc(arena, size + 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, text, size);
        copy[size] = '\0';
    }
    return copy;
}
