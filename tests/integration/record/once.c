// SPDX-License-Identifier: Apache-2.0
/* A static program that appends a byte to the file named by ONCE_FILE in each run. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    const char *path = getenv("ONCE_FILE");
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    return fd >= 0 && write(fd, "x", 1) == 1 ? 0 : 1;
}
