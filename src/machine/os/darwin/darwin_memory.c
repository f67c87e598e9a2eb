// SPDX-License-Identifier: Apache-2.0
/* Memory of this process. The kernel reads (vm_read_overwrite) and refuses unmapped memory; the
 * used part of the calling thread's stack needs no such check. No function here sets errno.
 * Context: handler. */
#include <mach/mach_init.h>
#include <mach/vm_map.h>
#include <mach/vm_statistics.h>
#include <pthread.h>

#include "os.h"

/* The smallest page of the supported machines (x86-64; arm64 has 16 KiB). */
enum { PAGE_MIN = 4096 };

static bool read_whole(uint64_t address, void *bytes, size_t size)
{
    vm_size_t got = 0;
    return vm_read_overwrite(mach_task_self(), address, size, (vm_address_t)(uintptr_t)bytes,
                             &got) == KERN_SUCCESS &&
           got == size;
}

/* The kernel reads all or nothing: if it refuses, read page by page up to the bad one. */
size_t sonde__os_read(uint64_t address, void *ret_bytes, size_t size)
{
    uint8_t *bytes = ret_bytes;
    size_t done = 0;
    if (size == 0 || read_whole(address, bytes, size)) {
        return size;
    }
    while (done < size) {
        size_t part = PAGE_MIN - (size_t)((address + done) % PAGE_MIN);
        part = part < size - done ? part : size - done;
        if (part == size || !read_whole(address + done, bytes + done, part)) {
            break;
        }
        done += part;
    }
    return done;
}

/* All memory from this frame to the end of the thread's stack is in use. */
static bool is_own_stack(uint64_t start, uint64_t size)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0), end = 0;
    return start >= here && sonde__os_own_stack_end(here, &end) && start < end &&
           size <= end - start;
}

static bool can_read(uint64_t address, size_t size)
{
    uint64_t word;
    return is_own_stack(address, size) || read_whole(address, &word, size);
}

bool sonde__os_can_read(uint64_t address)
{
    return can_read(address & ~(uint64_t)7, 8);
}

bool sonde__os_can_read_across(uint64_t boundary)
{
    return can_read(boundary - 4, 8);
}

void *sonde__os_map(size_t size)
{
    vm_address_t address = 0;
    kern_return_t result = vm_allocate(mach_task_self(), &address, size, VM_FLAGS_ANYWHERE);
    return result == KERN_SUCCESS ? (void *)(uintptr_t)address : NULL;
}

void sonde__os_unmap(void *memory, size_t size)
{
    (void)vm_deallocate(mach_task_self(), (vm_address_t)(uintptr_t)memory, size);
}
