// SPDX-License-Identifier: Apache-2.0
/* What host_folder.c and host_live.c need of a port. Context: any thread. Functions that return int
 * return 0 or an errno. */
#ifndef SONDE_HOST_FOLDER_PORT_H
#define SONDE_HOST_FOLDER_PORT_H

#include <stddef.h>
#include <stdint.h>

/* Claim an open file or folder for its writer, until sonde__host_close() or the end of the process.
 * EWOULDBLOCK: it is claimed through another descriptor, by this process or one that lives. */
int sonde__host_claim(int32_t fd);
void sonde__host_unclaim(int32_t fd);

/* A new file, before anything is written to it, and a folder that was opened to keep such files:
 * set what the system is told about them. Failures are ignored: the file is as good. */
void sonde__host_prepare_file(int32_t fd);
void sonde__host_prepare_folder(int32_t fd);

/* Wait until the file's bytes are on the disk. */
int sonde__host_sync_file(int32_t fd);

/* Allocate the file's bytes from `from` on, up to `size`, as zeros. EFBIG, without a signal: the
 * process may not have files of that size. */
int sonde__host_allocate(int32_t fd, size_t from, size_t size);
/* A child of fork() does not have this mapping. */
void sonde__host_keep_from_children(void *bytes, size_t size);

#endif
