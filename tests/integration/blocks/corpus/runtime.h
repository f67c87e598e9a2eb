// SPDX-License-Identifier: Apache-2.0
/* The small runtime of the corpus: blocks, and as much Objective-C as its sources call. Each entry
 * either works (objects count what is done to them) or, while a helper is run on a fake block,
 * only tells what it was called with. */
#ifndef SONDE_CORPUS_RUNTIME_H
#define SONDE_CORPUS_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block {
    const void *isa;
    int32_t flags, reserved;
    void (*invoke)(void *);
    const uintptr_t *descriptor; /* reserved, size, then by flags */
};

struct byref {
    void *isa;
    struct byref *forwarding;
    int32_t flags;
    uint32_t size;
    void (*keep)(void *to, void *from);
    void (*destroy)(void *byref);
};

enum {
    REFERENCES = 0xffff,
    NEEDS_FREE = 1 << 24,
    HAS_HELPERS = 1 << 25,
    IS_GLOBAL = 1 << 28,
};

/* How blocks on the heap are marked and counted: facts of three runtimes. It is compiled as one. */
enum flavour { APPLE, DEBIAN, LIBOBJC2 };

struct object {
    const void *isa;
    long retains, releases;
};
struct object *corpus_new_object(void);

/* Set while a helper is run on a fake: what is called is told, and nothing is done. */
struct teller {
    void (*place)(const void *address, char kind); /* by the address of the capture */
    void (*value)(const void *value, char kind);   /* by what it holds */
};
extern const struct teller *corpus_teller;

void *_Block_copy(const void *block);
void _Block_release(const void *block);
/* Release what was autoreleased. */
void corpus_drain(void);

#endif
