// SPDX-License-Identifier: Apache-2.0
/* A file that is being written: its writer holds a lock on it (flock(2)) as long as it lives, so a
 * reader can tell a report that is not finished yet from one whose writer is gone. Context: any
 * thread. */
#ifndef SONDE_HOST_WRITER_H
#define SONDE_HOST_WRITER_H

#include <stdbool.h>
#include <stdint.h>

/* The lock ends with the last copy of the descriptor. Files that cannot be locked are left as they
 * are. */
void sonde__host_writer_lock(int32_t fd);

/* Wait for the writer of the file, at most timeout_ns, if the process `pid` of which it writes has
 * ended: then it will soon have finished. False: nobody writes it, or that process still runs, or
 * the time passed. Blocks. */
bool sonde__host_writer_await(const char *path, int32_t pid, uint64_t timeout_ns);

#endif
