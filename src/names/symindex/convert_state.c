// SPDX-License-Identifier: Apache-2.0
/* Used by all steps: growing arrays, the work budget, the damage of a unit. */
#include <string.h>

#include "convert.h"
#include "mem_heap.h"

bool convert_grow(struct convert *c, void *array, size_t count, size_t *capacity, size_t size)
{
    if (count >= UINT32_MAX - 1) {
        c->status = SONDE_LIMIT;
        return false;
    }
    if (!sonde__mem_grow(array, count, capacity, size)) {
        c->status = SONDE_MEMORY;
        return false;
    }
    return true;
}

bool convert_reserve_more(struct convert *c, void *array, size_t wanted, size_t *capacity,
                          size_t size)
{
    void *block;
    if (wanted <= *capacity) {
        return true;
    }
    memcpy(&block, array, sizeof block);
    block = sonde__mem_resize_array(block, wanted, size);
    if (block == NULL) {
        c->status = SONDE_MEMORY;
        return false;
    }
    memcpy(array, &block, sizeof block);
    *capacity = wanted;
    return true;
}

bool convert_reserve(struct convert *c, void *array, size_t count, size_t *capacity, size_t size)
{
    void *block;
    if (count <= *capacity) {
        return true;
    }
    memcpy(&block, array, sizeof block);
    sonde__mem_free(block);
    block = sonde__mem_alloc_array(count, size);
    memcpy(array, &block, sizeof block);
    *capacity = block != NULL ? count : 0;
    if (block == NULL) {
        c->status = SONDE_MEMORY;
    }
    return block != NULL;
}

void convert_damage(struct convert *c, const char *what)
{
    if (c->damage == NULL) {
        c->damage = what;
    }
}

bool convert_work(struct convert *c, uint64_t amount)
{
    if (amount > c->work_left) {
        c->work_left = 0;
        c->out_of_work = true;
        convert_damage(c, "its tables are referred to too often");
        return false;
    }
    c->work_left -= amount;
    return true;
}
