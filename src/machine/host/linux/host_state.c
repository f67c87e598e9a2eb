// SPDX-License-Identifier: Apache-2.0
#include "host_self.h"

const char *sonde__host_state_folder(const char **below)
{
    *below = "/.local/state";
    return sonde__host_own_folder("XDG_STATE_HOME", below);
}
