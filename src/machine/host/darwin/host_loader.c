// SPDX-License-Identifier: Apache-2.0
/* What dyld knows of an address: dladdr(). Context: any thread; not handler: it takes dyld's lock.
 */
#include <dlfcn.h>
#include <mach-o/loader.h>
#include <stddef.h>
#include <string.h>

#include "host_process.h"
#include "host_self.h"

/* Address - vaddr: the header is the first byte of __TEXT. */
static uint64_t bias_of(const struct mach_header_64 *header)
{
    const char *at = (const char *)(header + 1);
    for (uint32_t i = 0; i < header->ncmds; i++) {
        const struct segment_command_64 *segment = (const void *)at;
        if (segment->cmd == LC_SEGMENT_64 && strcmp(segment->segname, SEG_TEXT) == 0) {
            return (uint64_t)(uintptr_t)header - segment->vmaddr;
        }
        at += segment->cmdsize;
    }
    return 0;
}

bool sonde__host_loader_symbol(uint64_t pc, struct sonde__host_symbol *ret_symbol)
{
    Dl_info info;
    if (dladdr((const void *)(uintptr_t)pc, &info) == 0 || info.dli_fname == NULL ||
        info.dli_fname[0] == '\0') {
        return false;
    }
    *ret_symbol = (struct sonde__host_symbol){
        .path = info.dli_fname,
        .bias = bias_of(info.dli_fbase),
        .name = info.dli_sname != NULL ? info.dli_sname : "",
        .start = (uint64_t)(uintptr_t)info.dli_saddr,
    };
    return true;
}

/* --- no path opens a file that was deleted or replaced --- */

void sonde__host_program_file(int32_t pid, char *ret_path, size_t capacity)
{
    (void)pid;
    (void)capacity;
    ret_path[0] = '\0';
}

void sonde__host_mapped_file(int32_t pid, uint64_t start, uint64_t end, char *ret_path,
                             size_t capacity)
{
    (void)start;
    (void)end;
    sonde__host_program_file(pid, ret_path, capacity);
}
