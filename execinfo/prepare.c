// SPDX-License-Identifier: Apache-2.0
/* The rules of all images are compiled when the library is loaded: no later moment is known to hold
 * no lock. Images loaded afterwards are walked in place. */
#include "target_self.h"

static __attribute__((constructor)) void prepare(void)
{
    enum sonde_status status = sonde__target_self_refresh(true);
    (void)status; /* without tables every walk is in place */
}
