// SPDX-License-Identifier: Apache-2.0
/* Blocks answer no messages with the runtimes of Linux. */
#include "host_objc.h"

enum sonde_status sonde__host_objc_replace(sonde__host_objc_adds *adds)
{
    (void)adds;
    return SONDE_UNSUPPORTED;
}

void sonde__host_objc_restore(void) {}

int sonde__host_objc_description(uint64_t object, char *text, size_t size)
{
    (void)object;
    (void)text;
    (void)size;
    return 0;
}
