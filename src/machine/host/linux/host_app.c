// SPDX-License-Identifier: Apache-2.0
#include "host_app.h"

enum sonde_status sonde__host_app_observe(sonde__host_app_told *told)
{
    (void)told;
    return SONDE_UNSUPPORTED;
}
