// SPDX-License-Identifier: Apache-2.0
/* The primitives of the host (host/primitives.c), as the simulated libSystem sees them. */
#ifndef SONDE_DARWIN_SIM_H
#define SONDE_DARWIN_SIM_H

#include <stdint.h>

int64_t host_write(int32_t fd, const void *bytes, uint64_t size);
_Noreturn void host_exit(int32_t status);
int32_t host_getpid(void);
uint32_t host_getuid(void);
int32_t host_close(int32_t fd);
uint64_t host_gettid(void);
uint64_t host_now_ns(void);
uint64_t host_cpu_ns(void);
void *host_map(uint64_t size);
int32_t host_unmap(void *memory, uint64_t size);
int32_t host_read_memory(uint64_t address, void *ret_bytes, uint64_t size);
int32_t host_find_region(uint64_t address, uint64_t *ret_start, uint64_t *ret_end);
uint64_t host_stack_end(void);
uint64_t host_stack_size(void);
uint32_t host_count_images(void);
void host_get_image(uint32_t index, const void **ret_header, uint64_t *ret_slide,
                    const char **ret_path);

#endif
