// SPDX-License-Identifier: Apache-2.0
/* A growing arena, for many small allocations with one lifetime. Pointers stay valid until
 * sonde__arena_done(). Context: any thread, one at a time. */
#ifndef SONDE_MEM_ARENA_H
#define SONDE_MEM_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct sonde__arena_chunk;

/* All zero is an empty arena. */
struct sonde__arena {
    struct sonde__arena_chunk *newest;
    size_t used;     /* bytes of the newest chunk */
    size_t capacity; /* bytes of the newest chunk */
    size_t bytes;    /* of all chunks */
};

void sonde__arena_init(struct sonde__arena *arena);
/* Free everything; the arena is empty and usable again. */
void sonde__arena_done(struct sonde__arena *arena);

/* Allocate `size` bytes aligned to 16, not zeroed; null: out of memory (the arena is unchanged). */
void *sonde__arena_alloc(struct sonde__arena *arena, size_t size)
    __attribute__((warn_unused_result));
/* A NUL-terminated copy of `size` bytes. */
char *sonde__arena_copy_text(struct sonde__arena *arena, const char *text, size_t size)
    __attribute__((warn_unused_result));

#endif
