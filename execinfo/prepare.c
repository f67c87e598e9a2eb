// SPDX-License-Identifier: Apache-2.0
/* Compiles the rules of all images when the library is loaded: later, a lock could be held. Images
 * loaded afterwards are walked in place. */
#include "target_self.h"

static __attribute__((constructor)) void prepare(void)
{
    enum sonde_status status = sonde__target_self_refresh(true);
    (void)status; /* without tables, walks are in place */
}
