// SPDX-License-Identifier: Apache-2.0
/* What a blocked call waits for, from its number and arguments, without symbols: the file or socket
 * behind a descriptor, the address of a futex, the child of a wait. Context: any thread. */
#ifndef SONDE_WATCH_CAUSE_H
#define SONDE_WATCH_CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the program's memory: all of `size` or false. */
typedef bool (*sonde__watch_peek)(void *ctx, uint64_t address, void *ret_bytes, size_t size);

/* "" when the arguments say nothing that is known. */
void sonde__watch_cause(int32_t pid, int64_t number, const uint64_t args[6], sonde__watch_peek peek,
                        void *ctx, char *ret_text, size_t capacity);

#endif
