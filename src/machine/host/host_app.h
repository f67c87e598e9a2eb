// SPDX-License-Identifier: Apache-2.0
/* What the system does with an app, as UIKit and AppKit tell it by notifications. */
#ifndef SONDE_HOST_APP_H
#define SONDE_HOST_APP_H

#include <stdint.h>

#include <sonde/status.h>

/* state: a value of enum sonde_app_state (sonde/watch.h). Context: the main thread. */
typedef void sonde__host_app_told(uint32_t state);

/* Tell of changes, from now on for ever. Returns OK | UNSUPPORTED (CoreFoundation is not loaded) |
 * MEMORY. Context: any thread; not handler; once in a process. */
SONDE_NODISCARD enum sonde_status sonde__host_app_observe(sonde__host_app_told *told);

#endif
