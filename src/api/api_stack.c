// SPDX-License-Identifier: Apache-2.0
#include <sonde/stack.h>

#include "target_self.h"

enum sonde_status sonde_stack_prepare(void)
{
    return sonde__target_self_refresh(true);
}
