// SPDX-License-Identifier: Apache-2.0
/* Which reports of a group are kept when there are too many. A pure function. */
#ifndef SONDE_COLLECTOR_THIN_H
#define SONDE_COLLECTOR_THIN_H

#include <stdbool.h>
#include <stdint.h>

struct thin_row {
    int64_t report;    /* its number: reports are numbered as they arrive */
    uint64_t total_ns; /* of the group's events in it */
    uint32_t named;    /* thousandths of the frames that have a name */
    bool is_kept;      /* the answer */
};

/* Choose at most `most` (4 or more) of the rows, which ascend by report: the first, the last, that
 * with the most time, that with the most names (of equals the newest), and of the others a sample
 * whose distances from the last grow by an equal factor. */
void thin_choose(struct thin_row *rows, uint32_t count, uint32_t most);

#endif
