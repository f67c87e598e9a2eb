// SPDX-License-Identifier: Apache-2.0
/* A target whose images do not change: another thread can look up names while the target itself
 * follows libraries that are loaded and unloaded.
 *
 * It has a copy of the image list. The original target owns what the entries point to (mapped
 * files, copies of memory). An image that is unloaded while a frozen target is open is retired,
 * and freed when none is open. Memory reads go to the process as it is then. */
#ifndef SONDE_TARGET_FROZEN_H
#define SONDE_TARGET_FROZEN_H

#include "target.h"

/* Freeze a process' images. The frozen target has images, image bytes, memory, pid and root. It
 * lists no threads and captures nothing.
 * Returns OK | MEMORY. Context: the thread that uses `target`; then the frozen one belongs to
 * any one thread. Ownership: close it before `target`. */
SONDE_NODISCARD enum sonde_status sonde__target_freeze(struct sonde__target *target,
                                                       struct sonde__target **ret_frozen);

#endif
