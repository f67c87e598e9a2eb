// SPDX-License-Identifier: Apache-2.0
/* What the program `sonde` asks about itself, for commands that read files. */
#include <crt_externs.h>

#include "host_self.h"

char *const *sonde__host_environ(void)
{
    return *_NSGetEnviron();
}
