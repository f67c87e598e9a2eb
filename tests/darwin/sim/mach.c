// SPDX-License-Identifier: Apache-2.0
/* Mach's memory calls. Calls of vm_read_overwrite are counted: tests limit them. */
#include <mach/mach_init.h>
#include <mach/vm_map.h>
#include <mach/vm_statistics.h>

#include "sim.h"

/* <mach/mach_init.h> defines a macro of that name. */
#undef mach_task_self
mach_port_t mach_task_self_ = 0x103;

uint64_t sim_reads;
/* Injected by tests: the number of reads before all fail; negative: none fails. */
int64_t sim_reads_left = -1;
/* Injected by tests: runs before each read. */
void (*sim_on_read)(void);
/* Calls that make or free memory while this number of threads is suspended. */
extern uint32_t sim_suspended;
uint64_t sim_maps_while_suspended;

kern_return_t vm_read_overwrite(vm_map_read_t task, vm_address_t address, vm_size_t size,
                                vm_address_t data, vm_size_t *ret_size)
{
    sim_reads++;
    if (sim_on_read != 0) {
        sim_on_read();
    }
    if (task != mach_task_self_) {
        return KERN_INVALID_ARGUMENT;
    }
    if (sim_reads_left == 0 || host_read_memory(address, (void *)data, size) == 0) {
        return KERN_INVALID_ADDRESS;
    }
    sim_reads_left -= sim_reads_left > 0;
    *ret_size = size;
    return KERN_SUCCESS;
}

kern_return_t vm_allocate(vm_map_t task, vm_address_t *ret_address, vm_size_t size, int flags)
{
    if (task != mach_task_self_ || flags != VM_FLAGS_ANYWHERE) {
        return KERN_INVALID_ARGUMENT;
    }
    sim_maps_while_suspended += sim_suspended > 0;
    *ret_address = (vm_address_t)host_map(size);
    return *ret_address != 0 ? KERN_SUCCESS : KERN_NO_SPACE;
}

kern_return_t vm_deallocate(vm_map_t task, vm_address_t address, vm_size_t size)
{
    if (task != mach_task_self_) {
        return KERN_INVALID_ARGUMENT;
    }
    sim_maps_while_suspended += sim_suspended > 0;
    __atomic_fetch_sub(&sim_lists, sim_is_list(address), __ATOMIC_SEQ_CST);
    return host_unmap((void *)address, size) == 0 ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
}

/* The region that holds the address, or the first one behind it. */
kern_return_t vm_region_64(vm_map_read_t task, vm_address_t *address, vm_size_t *ret_size,
                           vm_region_flavor_t flavor, vm_region_info_t ret_info,
                           mach_msg_type_number_t *count, mach_port_t *ret_object)
{
    struct vm_region_basic_info_64 *info = (struct vm_region_basic_info_64 *)ret_info;
    uint64_t start = 0, end = 0;
    if (task != mach_task_self_ || flavor != VM_REGION_BASIC_INFO_64 ||
        *count < VM_REGION_BASIC_INFO_COUNT_64) {
        return KERN_INVALID_ARGUMENT;
    }
    int32_t protection = host_find_region(*address, &start, &end);
    if (protection < 0) {
        return KERN_INVALID_ADDRESS;
    }
    *address = start;
    *ret_size = end - start;
    *ret_object = MACH_PORT_NULL;
    *count = VM_REGION_BASIC_INFO_COUNT_64;
    *info = (struct vm_region_basic_info_64){.protection = protection};
    return KERN_SUCCESS;
}
