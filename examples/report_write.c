// SPDX-License-Identifier: Apache-2.0
/* Write a report of this process's stacks to standard output. `sonde show` and report_read.c read
 * it. */
#include <stdio.h>
#include <unistd.h>

#include <sonde/report.h>

/* Any function can take the bytes and pass them to a socket, a buffer or a compressor. */
static int count(void *ctx, const void *bytes, size_t size_bytes)
{
    (void)bytes;
    *(size_t *)ctx += size_bytes;
    return 0;
}

int main(void)
{
    struct sonde_error error;
    size_t size_bytes = 0;
    if (sonde_report_write(SONDE_REPORT_NO_NAMES, count, &size_bytes, &error) != SONDE_OK ||
        size_bytes == 0 || sonde_report_write_fd(0, STDOUT_FILENO, &error) != SONDE_OK) {
        fprintf(stderr, "%s\n", error.what);
        return 1;
    }
    return 0;
}
