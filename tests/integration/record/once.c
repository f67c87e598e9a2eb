// SPDX-License-Identifier: Apache-2.0
/* A static program that leaves a byte in the file that ONCE_FILE names each time that it runs. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    const char *path = getenv("ONCE_FILE");
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    return fd >= 0 && write(fd, "x", 1) == 1 ? 0 : 1;
}
