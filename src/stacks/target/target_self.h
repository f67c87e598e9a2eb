// SPDX-License-Identifier: Apache-2.0
/* This process' images as published snapshots.
 *
 * This module builds the snapshots; captures use them (capture_images.h). Context: any thread;
 * not handler. Blocks on the loader's lock and one of ours, which is only taken inside it: so a
 * callback of dl_iterate_phdr may call us. */
#ifndef SONDE_TARGET_SELF_H
#define SONDE_TARGET_SELF_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

/* Publish a snapshot of the current images. Cheap if nothing changed (compares two counters of
 * the loader). rules: also compile the call frame information of every image without a table.
 * Pinned snapshots stay valid. Returns OK | MEMORY (the old snapshot stays). */
SONDE_NODISCARD enum sonde_status sonde__target_self_refresh(bool rules);

/* Call `function` while no image can be unloaded: the walk of another thread's stack reads call
 * frame information of libraries that this thread may unload as soon as it goes on. Holds the
 * loader's lock meanwhile, so `function` must not wait for another thread that may want it. */
void sonde__target_self_hold_images(void (*function)(void *ctx), void *ctx);

/* No fork begins between these calls (it waits for two seconds at most). For callers that read
 * the loader's list themselves, because a child of fork() keeps one of the loader's locks as it
 * was. They nest. */
void sonde__target_self_enter(void);
void sonde__target_self_leave(void);

/* The number of replaced snapshots that are not freed yet, for tests. */
uint32_t sonde__target_self_retired(void);

#endif
