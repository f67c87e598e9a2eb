// SPDX-License-Identifier: Apache-2.0
/* The blocks of memory that a look at a thread needed. The next look at it reads them at once. */
#include "mem_heap.h"
#include "runtime_private.h"

struct sonde__runtime_kept *sonde__runtime_kept_of(struct sonde__runtime *r, uint64_t tid)
{
    struct sonde__runtime_kept *oldest = &r->kept[0];
    for (uint32_t i = 0; i < SONDE__RUNTIME_KEPT; i++) {
        if (r->kept[i].tid == tid) {
            return &r->kept[i];
        }
        oldest = r->kept[i].age < oldest->age ? &r->kept[i] : oldest;
    }
    oldest->tid = tid;
    oldest->count = 0;
    return oldest;
}

void sonde__runtime_keep(struct sonde__runtime *r, struct sonde__runtime_kept *kept)
{
    uint32_t count = 0;
    struct sonde__view_block *blocks =
        sonde__mem_resize_array(kept->blocks, (size_t)r->view.count + 1, sizeof *blocks);
    if (blocks == NULL) {
        return;
    }
    for (uint32_t i = 0; i < r->view.count; i++) {
        if (r->view.blocks[i].used) {
            blocks[count++] = r->view.blocks[i];
        }
    }
    kept->blocks = blocks;
    kept->count = count;
}
