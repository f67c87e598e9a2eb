// SPDX-License-Identifier: Apache-2.0
/* The allocations of this process, as the zones of its allocator list them (malloc/malloc.h). */
#ifndef SONDE_TARGET_ZONES_H
#define SONDE_TARGET_ZONES_H

#include "target.h"

/* As sonde__target_allocations(). */
SONDE_NODISCARD enum sonde_status
target_zones_list(struct sonde__target_allocations *ret_allocations, struct sonde_error *ret_error);

#endif
