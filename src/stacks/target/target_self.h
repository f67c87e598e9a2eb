// SPDX-License-Identifier: Apache-2.0
/* This process: its images as published snapshots.
 *
 * Snapshots are built here and used by captures (capture_images.h). Context: any thread; not
 * handler. Blocks on the loader's lock and one of ours, which is only ever taken inside it: so a
 * callback of dl_iterate_phdr may call us. */
#ifndef SONDE_TARGET_SELF_H
#define SONDE_TARGET_SELF_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

/* Publish a snapshot of the images as they are now; cheap (a look at two counters of the loader)
 * when nothing changed. rules: compile the call frame information of every image that has no table
 * yet, too. What is pinned stays valid. Returns OK | MEMORY (the old snapshot stays). */
SONDE_NODISCARD enum sonde_status sonde__target_self_refresh(bool rules);

/* Call `function` while no image can be unloaded: the walk of another thread's stack reads call
 * frame information of libraries that this thread may unload as soon as it goes on. The loader's
 * lock is held for that time, so `function` must not wait for another thread that may want it. */
void sonde__target_self_hold_images(void (*function)(void *ctx), void *ctx);

/* Between these no fork begins (it waits for two seconds at most): for whoever goes through the
 * loader's list himself, because a child of fork() keeps one of the loader's locks as it was. They
 * nest. */
void sonde__target_self_enter(void);
void sonde__target_self_leave(void);

/* Snapshots that were replaced and are not freed yet, for tests. */
uint32_t sonde__target_self_retired(void);

#endif
