// SPDX-License-Identifier: Apache-2.0
#include "host_life.h"

#include "base_hash.h"
#include "host_file.h"

uint64_t sonde__host_boot(void)
{
    char text[64];
    size_t size = 0;
    if (sonde__host_file_read("/proc/sys/kernel/random/boot_id", text, sizeof text, &size, NULL) !=
            SONDE_OK ||
        size == 0) {
        return 0;
    }
    return sonde__base_hash_bytes(SONDE__HASH_EMPTY, text, size);
}

uint64_t sonde__host_program(void)
{
    return 0;
}

bool sonde__host_is_extension(void)
{
    return false;
}

bool sonde__host_is_traced(void)
{
    return false;
}

bool sonde__host_is_short_of_memory(void)
{
    return false;
}
