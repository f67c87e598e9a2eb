// SPDX-License-Identifier: Apache-2.0
/* The files of /proc about the thread that was captured last. They stay open for its next capture:
 * to open one costs more than to read it. An open file stays that of its thread: when the thread
 * has ended, it cannot be read, also if another thread has got the number. Private to
 * linux/target_process.c and target_capture.c. */
#ifndef SONDE_TARGET_FILES_H
#define SONDE_TARGET_FILES_H

#include "host_process.h"

struct sonde__target_files {
    uint64_t tid;                     /* 0: none are open */
    int32_t stat, syscall, schedstat; /* syscall, schedstat: -1: not open */
    struct sonde__host_thread now;    /* the thread, when it was read last */
    bool is_fresh;                    /* set by the owner: the next capture may use that */
};

/* Read the state of a thread of process `pid`. Returns OK | ABSENT | DENIED | CORRUPT | OS.
 * *ret_opened: its files were opened for this, so the number may be of another process now. */
SONDE_NODISCARD enum sonde_status sonde__target_files_read(struct sonde__target_files *files,
                                                           int32_t pid, uint64_t tid,
                                                           struct sonde__host_thread *ret_now,
                                                           bool *ret_opened);
/* Open the file with the system call of the thread that was read last, and that with its counters
 * (-1: the kernel has none). Returns as sonde__os_thread_open(), or BUSY: the thread has ended. */
SONDE_NODISCARD enum sonde_status sonde__target_files_wait(struct sonde__target_files *files,
                                                           int32_t pid);
void sonde__target_files_close(struct sonde__target_files *files);

#endif
