// SPDX-License-Identifier: Apache-2.0
/* Locks on files being written: a writer holds a lock (flock(2)) while it lives, so a reader can
 * tell an unfinished report from one whose writer died. Context: any thread. */
#ifndef SONDE_HOST_WRITER_H
#define SONDE_HOST_WRITER_H

#include <stdbool.h>
#include <stdint.h>

/* The lock ends with the last copy of the descriptor. Files that cannot be locked are left
 * unlocked. */
void sonde__host_writer_lock(int32_t fd);

/* If the process `pid` that the file is about has ended, wait at most timeout_ns for the writer,
 * which will finish soon. True: nobody writes the file now, so a read from here on is complete; an
 * earlier read may lack the end, even if the writer had ended before the call. False: still being
 * written, or cannot be opened. Blocks. */
bool sonde__host_writer_await(const char *path, int32_t pid, uint64_t timeout_ns);

#endif
