// SPDX-License-Identifier: Apache-2.0
/* Reads a thread's `status` file (proc(5)). Private to host. Context: any thread. */
#ifndef SONDE_HOST_STATUS_H
#define SONDE_HOST_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file is about 1.4 KiB. The masks of thousands of CPUs make it longer and may cut off fields,
 * which then read as 0. */
#define SONDE__HOST_STATUS_BYTES 8192

/* False: the thread is gone. NUL-terminated. */
bool sonde__host_read_status(int32_t pid, uint64_t tid, char ret_text[SONDE__HOST_STATUS_BYTES]);
/* The decimal number after "\nNAME:\t"; 0: missing. */
uint64_t sonde__host_status_field(const char *status, const char *name);
/* Could its system calls be refused where ours are not? We share filters older than its start, as
 * in a container. If the kernel does not count filters (before 5.9), any filter counts. */
bool sonde__host_is_confined(const char *status);

#endif
