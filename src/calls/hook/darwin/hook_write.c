// SPDX-License-Identifier: Apache-2.0
/* Writes slots. dyld leaves most of them in pages that can only be read (__DATA_CONST). */
#include <mach/mach_init.h>
#include <mach/vm_map.h>

#include "hook_darwin.h"

static bool protection_of(uint64_t address, vm_prot_t *ret_protection)
{
    vm_address_t start = address;
    vm_size_t size = 0;
    vm_region_basic_info_data_64_t info;
    mach_msg_type_number_t count = VM_REGION_BASIC_INFO_COUNT_64;
    mach_port_t object = MACH_PORT_NULL; /* always null by vm_region.h */
    if (vm_region_64(mach_task_self(), &start, &size, VM_REGION_BASIC_INFO_64,
                     (vm_region_info_t)&info, &count, &object) != KERN_SUCCESS ||
        start > address) {
        return false;
    }
    *ret_protection = info.protection;
    return true;
}

static bool protect(uint64_t address, vm_prot_t protection)
{
    size_t page = sonde__os_page_size();
    return vm_protect(mach_task_self(), (vm_address_t)(address / page * page), page, FALSE,
                      protection) == KERN_SUCCESS;
}

bool sonde__hook_write(uint64_t *at, uint64_t value)
{
    uint64_t address = (uint64_t)(uintptr_t)at;
    vm_prot_t before;
    if (!protection_of(address, &before)) {
        return false;
    }
    bool is_open = (before & VM_PROT_WRITE) != 0;
    if (!is_open && !protect(address, VM_PROT_READ | VM_PROT_WRITE | VM_PROT_COPY)) {
        return false;
    }
    __atomic_store_n(at, value, __ATOMIC_RELEASE); /* aligned: in one page */
    if (!is_open) {
        (void)protect(address, before); /* on failure the page stays writable */
    }
    return true;
}
