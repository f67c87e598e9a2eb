// SPDX-License-Identifier: Apache-2.0
/* The published snapshot of this process' images, and when an old one may be freed.
 *
 * Readers (captures, in any context) pin, load the pointer, and unpin: two atomic additions on a
 * counter that few threads share, without a lock or wait. The one writer (target_self, under its
 * lock) swaps the pointer and keeps the old snapshot on a retired list. A reader that may hold the
 * old one was counted before the swap, in one stripe, and stays in that stripe until it unpins. So
 * nobody holds it once every stripe has been seen at zero after the swap, not necessarily all at
 * one moment.
 *
 * Rejected: one counter (two threads that capture without pause would keep it above zero and share
 * its cache line); hazard pointers (a slot for each thread, which a handler would have to find);
 * never freeing (a program that loads and unloads a plug-in for each request grows). A handler that
 * leaves a capture by longjmp leaves its stripe counted: then no old snapshot is freed.
 * Context: handler, but for sonde__capture_publish and _stripes_idle (one thread at a time). */
#ifndef SONDE_CAPTURE_IMAGES_H
#define SONDE_CAPTURE_IMAGES_H

#include "image_set.h"

/* Enough that threads rarely share one. The writer's set of stripes fits one word. */
#define SONDE__CAPTURE_STRIPES 64u

/* Passed to unpin. */
struct sonde__capture_pin {
    const struct sonde__image_set *images; /* the snapshot, or null: none was published */
    uint32_t stripe;
};

struct sonde__capture_pin sonde__capture_pin(void);
void sonde__capture_unpin(struct sonde__capture_pin pin);

/* Publish `images` as the snapshot for new captures. Returns the previous one. */
const struct sonde__image_set *sonde__capture_publish(const struct sonde__image_set *images);

/* The generation of the published snapshot. */
extern uint64_t sonde__capture_published_generation;
static inline uint64_t sonde__capture_generation(void)
{
    return __atomic_load_n(&sonde__capture_published_generation, __ATOMIC_RELAXED);
}

/* The stripes that are at zero now (bit n: stripe n). */
uint64_t sonde__capture_stripes_idle(void);

/* In a fork child, before it starts a thread: the captures of other threads do not exist here. */
void sonde__capture_forget_pins(void);

/* Images for a walk of this process: the pinned snapshot, corrected by what the loader says now.
 *
 * A snapshot may be older than a dlopen or dlclose. If the loader answers without a lock
 * (sonde__os_find_image), an image of the snapshot is used only if the loader still has it
 * there, with the same address of call frame information and the same build-id. Otherwise, or
 * without a snapshot, an image is made from the loader's answer in the struct below, and walked
 * from .eh_frame_hdr in place. If the loader does not answer, the snapshot is used as it is:
 * then a program that unloads libraries must call sonde_stack_prepare().
 *
 * The answer is valid in [*ret_start, *ret_end): for an image of the snapshot and for the program
 * itself, this is code. An image that the loader alone knows has data there, too. */
struct sonde__capture_finder {
    const struct sonde__image_set *snapshot; /* may be null */
    struct sonde__image made;
};
const struct sonde__image *sonde__capture_find_image(void *finder, uint64_t pc, uint64_t *ret_start,
                                                     uint64_t *ret_end);

/* The same where the snapshot's `image` for the pc, which may be null, is known. */
const struct sonde__image *sonde__capture_check_image(struct sonde__capture_finder *finder,
                                                      const struct sonde__image *image,
                                                      uint64_t pc);

/* The same for a pc that may not belong to a frame, so its image may be unloaded at any moment:
 * an image in the answer refers to readable memory only. For an image that can be unloaded, the
 * answer has its bounds, and its table if the snapshot has one, but no records. */
const struct sonde__image *sonde__capture_find_doubtful(void *finder, uint64_t pc,
                                                        uint64_t *ret_start, uint64_t *ret_end);

#endif
