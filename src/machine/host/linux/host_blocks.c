// SPDX-License-Identifier: Apache-2.0
/* Linux has no block runtime of its own, and its libraries are files. */
#include "host_blocks.h"

#include <stddef.h>

bool sonde__host_block_classes(struct sonde__host_block_classes *ret_classes)
{
    (void)ret_classes;
    return false;
}

const char *sonde__host_exported_name(uint64_t address)
{
    (void)address;
    return NULL;
}
