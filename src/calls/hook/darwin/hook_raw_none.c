// SPDX-License-Identifier: Apache-2.0
/* Code of apps is signed: system calls that it makes itself are not hooked. */
#include "hook_raw.h"

#include <stddef.h>

void sonde__hook_set_raw_options(const struct sonde__hook_raw_options *options)
{
    (void)options;
}
