// SPDX-License-Identifier: Apache-2.0
/* Reads a thread's stack in a few large reads: one system call for 16 KiB instead of one per frame.
 *
 * Valid for one walk. Forget it before the next, because the thread may have run. Context: any
 * thread. */
#ifndef SONDE_TARGET_WINDOW_H
#define SONDE_TARGET_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE__WINDOW_BYTES 16384u /* also the alignment; a usual stack is in one or two */
#define SONDE__WINDOW_COUNT 8u     /* a deep walk only goes outward: it needs one at a time */

struct sonde__window {
    int32_t pid;
    int32_t os_error; /* of the last failed read, or 0 */
    struct {
        uint64_t start, end; /* the addresses in bytes; empty: none */
    } slots[SONDE__WINDOW_COUNT];
    /* A copy made at one instant (perf), read first; null: none. */
    const uint8_t *copy;
    uint64_t copy_start, copy_end;
    bool beyond_copy; /* memory outward of copy_end was read */
    uint8_t bytes[SONDE__WINDOW_COUNT][SONDE__WINDOW_BYTES];
};

void sonde__window_forget(struct sonde__window *window);

/* For struct sonde__memory: ctx is the window. */
bool sonde__window_read(void *ctx, uint64_t address, void *ret_bytes, size_t size);

#endif
