// SPDX-License-Identifier: Apache-2.0
/* Mach's memory calls. Calls of vm_read_overwrite are counted: tests limit them. */
#include <mach/mach_init.h>
#include <mach/vm_map.h>
#include <mach/vm_page_size.h>
#include <mach/vm_region.h>
#include <mach/vm_statistics.h>

#include "sim.h"

/* <mach/mach_init.h> defines a macro of that name. */
#undef mach_task_self
mach_port_t mach_task_self_ = 0x103;

uint64_t sim_calls, sim_reads;
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
    SIM_CALL();
    sim_use_vectors();
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
    SIM_CALL();
    sim_maps_while_suspended += sim_suspended > 0;
    *ret_address = (vm_address_t)host_map(size);
    return *ret_address != 0 ? KERN_SUCCESS : KERN_NO_SPACE;
}

kern_return_t vm_deallocate(vm_map_t task, vm_address_t address, vm_size_t size)
{
    if (task != mach_task_self_) {
        return KERN_INVALID_ARGUMENT;
    }
    SIM_CALL();
    sim_maps_while_suspended += sim_suspended > 0;
    __atomic_fetch_sub(&sim_lists, sim_is_list(address), __ATOMIC_SEQ_CST);
    return host_unmap((void *)address, size) == 0 ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
}

/* Tests compare them with the pages of what was written; counted with the refused ones. */
uint64_t sim_protections;
/* Injected by tests: runs before each change. */
void (*sim_on_protect)(uint64_t address, uint64_t size, int protection);
/* Injected by tests: all changes fail. */
int sim_protect_fails;

/* Whole pages. What is to be written needs a copy of its own if the page is shared with the file:
 * VM_PROT_COPY. */
kern_return_t vm_protect(vm_map_t task, vm_address_t address, vm_size_t size, boolean_t set_maximum,
                         vm_prot_t protection)
{
    SIM_CALL();
    sim_protections++;
    if (task != mach_task_self_ || set_maximum || address % vm_page_size != 0 ||
        size % vm_page_size != 0 || (protection & ~(VM_PROT_ALL | VM_PROT_COPY)) != 0) {
        return KERN_INVALID_ARGUMENT;
    }
    if (sim_on_protect != 0) {
        sim_on_protect(address, size, protection);
    }
    return sim_protect_fails == 0 &&
                   host_protect((void *)address, size, protection & VM_PROT_ALL) == 0
               ? KERN_SUCCESS
               : KERN_PROTECTION_FAILURE;
}

/* Part of [*start, *end) that is wholly inside or outside of [from, to), with the address or after
 * it. Returns 1 if it is inside. */
static int cut(uint64_t address, uint64_t from, uint64_t to, uint64_t *start, uint64_t *end)
{
    int is_inside = address - from < to - from && *start < to && from < *end;
    if (*end <= from || *start >= to) {
        return 0;
    }
    if (is_inside) {
        *start = from > *start ? from : *start;
        *end = to < *end ? to : *end;
    } else if (address < from) {
        *end = from;
    } else {
        *start = to;
    }
    return is_inside;
}

/* What Linux sees as one region is several here: images, whose bytes are of files, and stacks. */
static void tell_apart(uint64_t address, uint64_t *start, uint64_t *end,
                       struct vm_region_extended_info *info)
{
    for (uint32_t i = 0; i < host_count_images(); i++) {
        const void *header = 0;
        uint64_t slide = 0;
        const char *path = 0;
        host_get_image(i, &header, &slide, &path);
        if (cut(address, (uint64_t)header, (uint64_t)header + host_image_size(i), start, end)) {
            info->external_pager = 1;
        }
    }
    for (uint32_t i = 0; i < host_count_threads(); i++) {
        const struct sim_thread *thread = &sim_threads[i];
        if (thread->stack_end != 0 &&
            cut(address, thread->stack_start, thread->stack_end, start, end)) {
            info->user_tag = VM_MEMORY_STACK;
        }
    }
}

/* The region that holds the address, or the first one behind it. */
kern_return_t vm_region_64(vm_map_read_t task, vm_address_t *address, vm_size_t *ret_size,
                           vm_region_flavor_t flavor, vm_region_info_t ret_info,
                           mach_msg_type_number_t *count, mach_port_t *ret_object)
{
    uint64_t start = 0, end = 0;
    int is_extended = flavor == VM_REGION_EXTENDED_INFO;
    mach_msg_type_number_t needed =
        is_extended ? VM_REGION_EXTENDED_INFO_COUNT : VM_REGION_BASIC_INFO_COUNT_64;
    if (task != mach_task_self_ || *count < needed ||
        (!is_extended && flavor != VM_REGION_BASIC_INFO_64)) {
        return KERN_INVALID_ARGUMENT;
    }
    SIM_CALL();
    int32_t protection = host_find_region(*address, &start, &end);
    if (protection < 0) {
        return KERN_INVALID_ADDRESS;
    }
    struct vm_region_extended_info info = {.protection = protection & 7,
                                           .external_pager = protection >> 3 & 1,
                                           .share_mode = SM_PRIVATE};
    tell_apart(*address > start ? *address : start, &start, &end, &info);
    if (is_extended) {
        *(struct vm_region_extended_info *)ret_info = info;
    } else {
        *(struct vm_region_basic_info_64 *)ret_info =
            (struct vm_region_basic_info_64){.protection = info.protection};
    }
    *address = start;
    *ret_size = end - start;
    *ret_object = MACH_PORT_NULL;
    *count = needed;
    return KERN_SUCCESS;
}
