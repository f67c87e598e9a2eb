// SPDX-License-Identifier: Apache-2.0
/* A framework of foo.m: ASK is its function, WITH_SPACE lets it ask for the space of a disk, too.
 */
#include <sys/mount.h>
#include <sys/stat.h>

int ASK(void);
int ASK(void)
{
    struct stat status;
    int result = stat("/", &status);
#if defined(WITH_SPACE)
    struct statfs space;
    result += statfs("/", &space) + statfs("/", &space);
#endif
    return result;
}
