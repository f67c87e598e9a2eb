// SPDX-License-Identifier: Apache-2.0
/* memcpy and the like with general registers only: for async-safe code, which must not call libc's
 * (see base_freestanding.h). Same contracts as ISO C 7.24. Context: handler. */
#ifndef SONDE_BASE_MEM_H
#define SONDE_BASE_MEM_H

#include <stddef.h>

void *sonde__base_mem_copy(void *restrict to, const void *restrict from, size_t size);
void *sonde__base_mem_move(void *to, const void *from, size_t size);
void *sonde__base_mem_set(void *to, int byte, size_t size);
int sonde__base_mem_compare(const void *a, const void *b, size_t size);
size_t sonde__base_str_length(const char *s);
int sonde__base_str_compare(const char *a, const char *b);

#endif
