// SPDX-License-Identifier: Apache-2.0
#include "thin.h"

#include <math.h>

static uint32_t keep(struct thin_row *row)
{
    bool is_new = !row->is_kept;
    row->is_kept = true;
    return is_new;
}

/* Keep the ends and the most informative ones. Returns how many. */
static uint32_t keep_marked(struct thin_row *rows, uint32_t count)
{
    uint32_t longest = 0, named = 0;
    for (uint32_t i = 1; i < count; i++) {
        longest = rows[i].total_ns >= rows[longest].total_ns ? i : longest;
        named = rows[i].named >= rows[named].named ? i : named;
    }
    return keep(&rows[0]) + keep(&rows[count - 1]) + keep(&rows[longest]) + keep(&rows[named]);
}

void thin_choose(struct thin_row *rows, uint32_t count, uint32_t most)
{
    for (uint32_t i = 0; i < count; i++) {
        rows[i].is_kept = count <= most;
    }
    if (count <= most) {
        return;
    }
    uint32_t left = most - keep_marked(rows, count), at = count - 1;
    double span = (double)(rows[count - 1].report - rows[0].report);
    double factor = pow(span, 1.0 / (left + 1)), distance = 1;
    /* from the newest on: the next row that is as far away as the sample says */
    for (; left > 0 && at > 0; left--, distance *= factor) {
        at--;
        while (at > 0 && (rows[at].is_kept ||
                          (double)(rows[count - 1].report - rows[at].report) < distance)) {
            at--;
        }
        (void)keep(&rows[at]);
    }
}
