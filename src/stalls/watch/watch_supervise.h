// SPDX-License-Identifier: Apache-2.0
/* The supervisor of `sonde run`: a process (host_run.h) that ends with the program. */
#ifndef SONDE_WATCH_SUPERVISE_H
#define SONDE_WATCH_SUPERVISE_H

#include "watch_session.h"

/* Body of that process; ctx is the session. Never returns. */
void sonde__watch_supervise(void *ctx, int32_t pid);

#endif
