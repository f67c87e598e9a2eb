// SPDX-License-Identifier: Apache-2.0
/* libclosure's classes. Two have public names; that of blocks on the heap is the class of a copy
 * (Block.h). */
#include "host_blocks.h"

#include <Block.h>
#include <dlfcn.h>
#include <stddef.h>

static uint64_t class_of(const void *block)
{
    return *(const uint64_t *)block;
}

bool sonde__host_block_classes(struct sonde__host_block_classes *ret_classes)
{
    volatile int captured = 1;
    int value = captured; /* so that the block is not a constant */
    const void *copy = _Block_copy(^{
      return value;
    });
    if (copy == NULL) {
        return false;
    }
    *ret_classes = (struct sonde__host_block_classes){
        .stack = (uint64_t)(uintptr_t)_NSConcreteStackBlock,
        .malloc = class_of(copy),
        .global = (uint64_t)(uintptr_t)_NSConcreteGlobalBlock,
    };
    _Block_release(copy);
    return true;
}

const char *sonde__host_exported_name(uint64_t address)
{
    Dl_info info;
    const void *at = (const void *)(uintptr_t)address;
    return dladdr(at, &info) != 0 && info.dli_saddr == at ? info.dli_sname : NULL;
}
