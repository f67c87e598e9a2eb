// SPDX-License-Identifier: Apache-2.0
/* The machine that a report was made on. Nothing here names one machine or a person: no host name,
 * no serial number, no address. Context: any thread. */
#ifndef SONDE_HOST_DEVICE_H
#define SONDE_HOST_DEVICE_H

#include <stdint.h>

/* "" and 0: not known. */
struct sonde__host_device {
    char model[128];  /* as the maker names it */
    char os[128];     /* "Debian GNU/Linux 12 (bookworm)" */
    char kernel[128]; /* "6.1.0-13-amd64" */
    char cpu[128];
    uint32_t cpu_count; /* CPUs that are online */
    uint64_t memory_bytes;
};
void sonde__host_device_read(struct sonde__host_device *ret_device);

/* 128 random bits as hexadecimal digits; "" when the system has none to give. */
#define SONDE__HOST_ID_TEXT 33
void sonde__host_random_id(char ret_id[SONDE__HOST_ID_TEXT]);

/* The parent of a process; 0: not known. */
int32_t sonde__host_parent(int32_t pid);

/* What this system's programs are built for: enum Platform of proto/sonde/v1/report.proto. */
uint32_t sonde__host_platform(void);

#endif
