// SPDX-License-Identifier: Apache-2.0
/* How many reports a project may send: by a rate, and by a quota for each day (UTC). Context: any
 * thread. */
#ifndef SONDE_COLLECTOR_LIMIT_H
#define SONDE_COLLECTOR_LIMIT_H

#include <stdint.h>

struct limits;

/* What a project may send; 0: as much as it wants. */
struct limit {
    uint32_t per_minute; /* of which a whole minute's may come at once */
    uint64_t per_day;
};

/* The reports of a project that were stored of a day (since 1970) already. */
typedef uint64_t limit_used(void *ctx, uint32_t project, uint64_t day);

/* Null: no memory. used: is asked once for each project and day, and may be null. Ownership:
 * limits_end(). */
struct limits *limits_begin(limit_used *used, void *ctx);
void limits_end(struct limits *limits);

/* Count one more report of a project. now_ns: since 1970. Returns 0, or after how many seconds,
 * 1 to 86,400, the sender should come again: then it was not counted. */
uint32_t limits_take(struct limits *limits, uint32_t project, const struct limit *limit,
                     uint64_t now_ns);

#endif
