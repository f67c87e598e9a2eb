// SPDX-License-Identifier: Apache-2.0
/* What host_file.c needs of a port. */
#ifndef SONDE_HOST_FILE_PORT_H
#define SONDE_HOST_FILE_PORT_H

#include <stdint.h>
#include <sys/stat.h>

/* Open `path` below `root`, with the symbolic links inside it resolved there: a container's
 * /lib -> /usr/lib must not lead to our own /usr/lib. Returns a descriptor or -1 with *ret_errno.
 */
int sonde__host_open_in_root(const char *root, const char *path, int flags, int *ret_errno);

/* When the file was modified, since 1970. */
int64_t sonde__host_modified_ns(const struct stat *status);

#endif
