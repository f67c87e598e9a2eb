// SPDX-License-Identifier: Apache-2.0
/* Loops of this system have hooks of their own (include/sonde/hooks). */
#include "host_run_loop.h"

enum sonde_status sonde__host_run_loop_observe(sonde__host_run_loop_told *told)
{
    (void)told;
    return SONDE_UNSUPPORTED;
}
