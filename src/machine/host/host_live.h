// SPDX-License-Identifier: Apache-2.0
/* A file written through a shared mapping: a store is in the kernel's page cache at once, without a
 * system call, and survives a kill of the process. (On a power failure, what the kernel had not yet
 * written is lost.)
 *
 * Blocks are allocated before they are mapped, so a store cannot fail on a full disk (copy-on-write
 * file systems cannot guarantee that). Truncating the mapped file would end this process by SIGBUS,
 * so the folder is private (host_folder.h). A fork child does not inherit the mapping. Context: any
 * thread, one at a time. */
#ifndef SONDE_HOST_LIVE_H
#define SONDE_HOST_LIVE_H

#include <stddef.h>
#include <stdint.h>

struct sonde__host_live {
    int32_t fd;     /* the caller's: not closed here */
    uint8_t *bytes; /* zero at first; null: not mapped */
    size_t size;
};

/* Make the file `size` bytes long and map it; a mapped file can only grow. Returns 0 or an errno
 * (ENOSPC, EDQUOT: the disk is full); then nothing has changed. */
int sonde__host_live_map(struct sonde__host_live *live, size_t size);
void sonde__host_live_unmap(struct sonde__host_live *live);

#endif
