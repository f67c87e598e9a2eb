// SPDX-License-Identifier: Apache-2.0
/* A file that is written through a shared mapping: what was stored is in the kernel's cache of the
 * file at once, without a system call, and stays when the process is killed. (Not when the machine
 * loses power: then what the kernel had not written yet is lost.)
 *
 * Its blocks are allocated before they are mapped, so that storing cannot fail on a full disk. File
 * systems that copy on write cannot promise that, and whoever cuts the file short while it is
 * mapped ends this process by SIGBUS: the folder is private (host_folder.h). A child of fork() does
 * not have the mapping. Context: any thread, one at a time. */
#ifndef SONDE_HOST_LIVE_H
#define SONDE_HOST_LIVE_H

#include <stddef.h>
#include <stdint.h>

struct sonde__host_live {
    int32_t fd;     /* its owner's: not closed here */
    uint8_t *bytes; /* zero at first; null: not mapped */
    size_t size;
};

/* Make the file `size` bytes long and map it; of one that is mapped already, larger than before.
 * Returns 0 or an errno (ENOSPC, EDQUOT: the disk is full); then it stays as it was. */
int sonde__host_live_map(struct sonde__host_live *live, size_t size);
void sonde__host_live_unmap(struct sonde__host_live *live);

#endif
