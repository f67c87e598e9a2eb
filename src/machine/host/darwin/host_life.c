// SPDX-License-Identifier: Apache-2.0
#include "host_life.h"

#include <mach-o/dyld.h>
#include <mach-o/loader.h>
#include <string.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "base_hash.h"
#include "darwin_process.h"
#include "host_lookup.h"

/* So near to its limit, an allocation of one large image ends the app. */
#define SHORT_BYTES ((size_t)64 << 20)

uint64_t sonde__host_boot(void)
{
    char boot[64];
    size_t size = sizeof boot;
    if (sysctlbyname("kern.bootsessionuuid", boot, &size, NULL, 0) != 0 || size == 0) {
        return 0;
    }
    return sonde__base_hash_bytes(SONDE__HASH_EMPTY, boot, size);
}

/* By its LC_UUID, which the linker makes of what it links. */
uint64_t sonde__host_program(void)
{
    for (uint32_t image = 0; image < _dyld_image_count(); image++) {
        const struct mach_header_64 *header = (const void *)_dyld_get_image_header(image);
        if (header == NULL || header->filetype != MH_EXECUTE) {
            continue;
        }
        const char *at = (const char *)(header + 1);
        for (uint32_t i = 0; i < header->ncmds; i++) {
            const struct uuid_command *uuid = (const void *)at;
            if (uuid->cmd == LC_UUID) {
                return sonde__base_hash_bytes(SONDE__HASH_EMPTY, uuid->uuid, sizeof uuid->uuid);
            }
            at += uuid->cmdsize;
        }
    }
    return 0;
}

/* "App Extension Programming Guide": the bundle of an extension ends with .appex. */
bool sonde__host_is_extension(void)
{
    char path[PATH_MAX];
    uint32_t size = sizeof path;
    return _NSGetExecutablePath(path, &size) == 0 && strstr(path, ".appex/") != NULL;
}

/* Technical Q&A QA1361. */
bool sonde__host_is_traced(void)
{
    struct kinfo_proc process;
    return darwin_process_read(getpid(), &process) && (process.kp_proc.p_flag & P_TRACED) != 0;
}

/* <os/proc.h>, since iOS 13, which sets of Apple's headers for other compilers lack. It returns 0
 * for what is no app, or has no limit. */
bool sonde__host_is_short_of_memory(void)
{
    static size_t (*available)(void);
    static bool is_known;
    if (!is_known) {
        const struct host_wanted wanted = {"os_proc_available_memory", &available};
        (void)host_lookup(&wanted, 1);
        is_known = true;
    }
    size_t bytes = available != NULL ? available() : 0;
    return bytes != 0 && bytes < SHORT_BYTES;
}
