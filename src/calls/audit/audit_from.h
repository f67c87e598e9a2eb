// SPDX-License-Identifier: Apache-2.0
/* Who made a call: patterns of modules and functions against the frames of its stack. Functions
 * without a name (of a stripped module) match none. A call whose stack was not kept (0) may be from
 * anywhere, and so it is from what is asked for. Context: any thread. */
#ifndef SONDE_AUDIT_FROM_H
#define SONDE_AUDIT_FROM_H

#include "audit_rules.h"
#include "report_model.h"

bool sonde__audit_is_from(const struct sonde__report *report, uint32_t stack,
                          const struct sonde__audit_patterns *from);

/* The SDK of the innermost frame that is of one; null: none. */
const char *sonde__audit_sdk_of(const struct sonde__report *report, uint32_t stack,
                                const struct sonde__audit_sdk *sdks, size_t count);

#endif
