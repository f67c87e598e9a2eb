// SPDX-License-Identifier: Apache-2.0
/* Look-ups in an image snapshot. Context: handler. */
#include "image_set.h"

#include "base_search.h"

const struct sonde__image_range *sonde__image_range_find(const struct sonde__image_set *set,
                                                         uint64_t address)
{
    uint32_t after = SONDE__SEARCH(0, set->range_count, i, set->ranges[i].start <= address);
    return after > 0 && address < set->ranges[after - 1].end ? &set->ranges[after - 1] : NULL;
}

const struct sonde__image *sonde__image_find(const struct sonde__image_set *set, uint64_t pc)
{
    const struct sonde__image_range *range = sonde__image_range_find(set, pc);
    return range != NULL && range->image < set->image_count ? &set->images[range->image] : NULL;
}
