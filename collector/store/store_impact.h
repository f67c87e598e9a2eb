// SPDX-License-Identifier: Apache-2.0
/* The impact of a row of `cause`: machines times time lost; what has no duration counts by calls.
 * It is written once: an index is used for this text only. */
#ifndef SONDE_COLLECTOR_STORE_IMPACT_H
#define SONDE_COLLECTOR_STORE_IMPACT_H

#define STORE_IMPACT "1.0 * devices * CASE WHEN total_ns >= count THEN total_ns ELSE count END"

#endif
