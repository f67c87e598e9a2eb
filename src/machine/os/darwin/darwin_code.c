// SPDX-License-Identifier: Apache-2.0
/* Finds code outside of images in the kernel's list of regions. That needs no open file: the
 * descriptor is an invalid number. Context: handler. */
#include <errno.h>
#include <mach/mach_init.h>
#include <mach/vm_map.h>
#include <unistd.h>

#include "os.h"

enum { NOTHING_OPEN = INT32_MAX };

enum sonde_status sonde__os_code_open(int32_t *ret_fd)
{
    *ret_fd = NOTHING_OPEN;
    return SONDE_OK;
}

void sonde__os_close(int32_t fd)
{
    int before = errno;
    if (fd != NOTHING_OPEN) {
        (void)close(fd);
    }
    errno = before;
}

/* Look up the region at `address`, or the next one after it. */
enum sonde_status sonde__os_code_find(int32_t fd, uint64_t address, struct sonde__os_code *ret_code)
{
    vm_address_t start = address;
    vm_size_t size = 0;
    vm_region_basic_info_data_64_t info;
    mach_msg_type_number_t count = VM_REGION_BASIC_INFO_COUNT_64;
    mach_port_t object = MACH_PORT_NULL; /* always null by vm_region.h */
    (void)fd;
    if (vm_region_64(mach_task_self(), &start, &size, VM_REGION_BASIC_INFO_64,
                     (vm_region_info_t)&info, &count, &object) != KERN_SUCCESS) {
        start = UINT64_MAX; /* none from there on */
    }
    bool is_inside = address >= start;
    *ret_code = (struct sonde__os_code){
        .start = is_inside ? start : address,
        .end = is_inside ? start + size : start,
        .is_code = is_inside && (info.protection & VM_PROT_EXECUTE) != 0,
    };
    return SONDE_OK;
}
