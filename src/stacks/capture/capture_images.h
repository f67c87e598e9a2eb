// SPDX-License-Identifier: Apache-2.0
/* The published snapshot of this process' images, and when an old one may be freed.
 *
 * Readers (captures, in any context) pin, load the pointer, and unpin: two atomic additions on a
 * counter that few threads share; no lock, no waiting. The one writer (target_self, under its lock)
 * swaps the pointer and keeps the old snapshot on a retired list. A reader that could hold it was
 * counted before the swap, in one stripe, and stays in that stripe until it unpins; so once every
 * stripe has been seen at zero after the swap, not necessarily all at one moment, nobody holds it.
 *
 * Rejected: one counter (two threads that capture without pause would keep it above zero and each
 * other's cache line busy); hazard pointers (a slot for each thread, which a handler would have to
 * find); never freeing (a program that loads and unloads a plug-in for each request grows).
 * A handler that leaves a capture by longjmp leaves its stripe counted: then snapshots are kept.
 * Context: handler, but for sonde__capture_publish and _stripes_idle (one thread at a time). */
#ifndef SONDE_CAPTURE_IMAGES_H
#define SONDE_CAPTURE_IMAGES_H

#include "image_set.h"

/* Enough that threads rarely share one; the writer's set of them fits one word. */
#define SONDE__CAPTURE_STRIPES 64u

/* To be passed to unpin. */
struct sonde__capture_pin {
    const struct sonde__image_set *images; /* the snapshot, or null: none was published */
    uint32_t stripe;
};

struct sonde__capture_pin sonde__capture_pin(void);
void sonde__capture_unpin(struct sonde__capture_pin pin);

/* Make `images` the snapshot that new captures use; returns the one before. */
const struct sonde__image_set *sonde__capture_publish(const struct sonde__image_set *images);

/* The generation of the snapshot that new captures use. */
extern uint64_t sonde__capture_published_generation;
static inline uint64_t sonde__capture_generation(void)
{
    return __atomic_load_n(&sonde__capture_published_generation, __ATOMIC_RELAXED);
}

/* The stripes (bit n) that are at zero now. */
uint64_t sonde__capture_stripes_idle(void);

/* In a fork child, before any other thread of it exists: the captures of the parent's other
 * threads are not here any more. */
void sonde__capture_forget_pins(void);

/* Images for a walk of this process: the pinned snapshot, corrected by what the loader says now.
 *
 * A snapshot may be older than a dlopen or dlclose. Where the loader answers without a lock
 * (sonde__os_find_image), an image of the snapshot is used only if the loader still has it there,
 * recognised by the address of its call frame information and by its build-id; otherwise, and where
 * there is no snapshot, an image is made from the loader's answer in the struct below and walked
 * from .eh_frame_hdr in place. Where the loader does not answer, the snapshot is believed: then a
 * program that unloads libraries has to call sonde_stack_prepare(). */
struct sonde__capture_finder {
    const struct sonde__image_set *snapshot; /* may be null */
    struct sonde__image made;
};
const struct sonde__image *sonde__capture_find_image(void *finder, uint64_t pc);

/* The same for a pc that may not be of a frame, so that its image may be unloaded at any moment: an
 * image in the answer refers to readable memory only. An image that can be unloaded has its bounds,
 * and its table if the snapshot has one for it, but no records. */
const struct sonde__image *sonde__capture_find_doubtful(void *finder, uint64_t pc);

#endif
