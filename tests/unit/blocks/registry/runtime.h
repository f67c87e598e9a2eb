// SPDX-License-Identifier: Apache-2.0
/* The behaviours of real block runtimes that matter to a registry; each call goes through the hooks
 * as a program's calls do. */
#ifndef SONDE_TEST_RUNTIME_H
#define SONDE_TEST_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "registry_call.h"

enum runtime {
    BY_ONE,   /* Debian's: copying is inlined into assign; dispose calls release by its slot */
    BY_TWO,   /* Apple's: assign and dispose call the others, by slots */
    INLINED,  /* the same, with copy and release inlined into both */
    RESERVED, /* libobjc2: the count is in another word, bit 24 stays clear */
    RUNTIMES,
};
extern enum runtime runtime;
extern struct sonde__registry_calls *calls; /* null: the calls are not hooked */

struct descriptor {
    uint64_t reserved, size;
    void (*copy)(void *to, const void *from);
    void (*dispose)(void *block);
};
struct block {
    const void *isa;
    uint32_t flags, reserved;
    void (*invoke)(void);
    const struct descriptor *descriptor;
    struct block *captured; /* or null */
    uint64_t serial;
};

/* On the stack. */
void block_init(struct block *block, struct block *captured, uint64_t serial);
/* The present count. */
uint32_t block_references(const struct block *block);

struct block *block_copy(struct block *block);
void block_release(struct block *block);

/* Called for each heap block that is made. */
extern void (*runtime_made)(struct block *block);
/* Where heap blocks come from; malloc() and free(). */
extern _Thread_local void *(*runtime_allocate)(size_t size);
extern _Thread_local void (*runtime_free)(void *block);

#endif
