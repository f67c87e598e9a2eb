// SPDX-License-Identifier: Apache-2.0
/* A minimal blocks runtime for block_registry.c. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct block {
    const void *isa;
    uint32_t flags, reserved;
    void (*invoke)(void);
    const uint64_t *descriptor;
};

#define NEEDS_FREE ((uint32_t)1 << 24)

void *_Block_copy(const void *from);    /* NOLINT: the name */
void _Block_release(const void *block); /* NOLINT */

void *_Block_copy(const void *from) /* NOLINT */
{
    struct block *block = (struct block *)(uintptr_t)from;
    if ((block->flags & NEEDS_FREE) != 0) {
        __atomic_fetch_add(&block->flags, 1, __ATOMIC_RELAXED);
        return block;
    }
    struct block *made = malloc(block->descriptor[1]);
    if (made != NULL) {
        memcpy(made, block, block->descriptor[1]);
        made->flags = (made->flags & ~0xffffu) | NEEDS_FREE | 1;
    }
    return made;
}

void _Block_release(const void *from) /* NOLINT */
{
    struct block *block = (struct block *)(uintptr_t)from;
    if ((__atomic_sub_fetch(&block->flags, 1, __ATOMIC_ACQ_REL) & 0xffff) == 0) {
        free(block);
    }
}
