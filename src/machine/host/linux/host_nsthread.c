// SPDX-License-Identifier: Apache-2.0
/* There is no NSThread whose thread could be told by its name. */
#include "host_nsthread.h"

#include <stddef.h>

enum sonde_status sonde__host_nsthread_ask(const void *thread,
                                           struct sonde__host_nsthread *ret_told)
{
    (void)thread, (void)ret_told;
    return SONDE_UNSUPPORTED;
}

const void *sonde__host_nsthread_current(void)
{
    return NULL;
}

void *sonde__host_nsthread_rename(const void *thread, const char *name)
{
    (void)thread, (void)name;
    return NULL;
}

void sonde__host_nsthread_restore(const void *thread, const char *name, void *before)
{
    (void)thread, (void)name, (void)before;
}
