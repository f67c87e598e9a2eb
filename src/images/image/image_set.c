// SPDX-License-Identifier: Apache-2.0
/* Look-ups in an image snapshot. Context: handler. */
#include "image_set.h"

const struct sonde__image_range *sonde__image_range_find(const struct sonde__image_set *set,
                                                         uint64_t address)
{
    uint32_t low = 0, high = set->range_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (set->ranges[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && address < set->ranges[low - 1].end ? &set->ranges[low - 1] : NULL;
}

const struct sonde__image *sonde__image_find(const struct sonde__image_set *set, uint64_t pc)
{
    const struct sonde__image_range *range = sonde__image_range_find(set, pc);
    return range != NULL && range->image < set->image_count ? &set->images[range->image] : NULL;
}
