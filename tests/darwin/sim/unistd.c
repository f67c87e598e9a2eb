// SPDX-License-Identifier: Apache-2.0
/* What the system says of itself, and the environment. */
#include <errno.h>
#include <mach/vm_page_size.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

char **environ;

long sysconf(int name)
{
    if (name == _SC_PAGESIZE) {
        return (long)vm_page_size;
    }
    if (name == _SC_NPROCESSORS_ONLN) {
        return (long)host_processors();
    }
    errno = EINVAL;
    return -1;
}

char *strpbrk(const char *in, const char *set)
{
    const char *at = in + strcspn(in, set);
    return *at != '\0' ? (char *)(uintptr_t)at : 0;
}
