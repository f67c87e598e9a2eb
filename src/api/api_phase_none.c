// SPDX-License-Identifier: Apache-2.0
/* Where no other libsonde records: an app audits itself. */
#include "api_phase.h"

void sonde__api_phase_tell(const char *name, uint32_t consent)
{
    (void)name, (void)consent;
}
