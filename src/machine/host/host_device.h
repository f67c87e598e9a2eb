// SPDX-License-Identifier: Apache-2.0
/* Describes the machine of a report. Nothing here identifies a machine or person: no host name, no
 * serial number, no address. Context: any thread. */
#ifndef SONDE_HOST_DEVICE_H
#define SONDE_HOST_DEVICE_H

#include <stdint.h>

/* "" and 0: unknown. */
struct sonde__host_device {
    char model[128];  /* the manufacturer's name for it */
    char os[128];     /* "Debian GNU/Linux 12 (bookworm)" */
    char kernel[128]; /* "6.1.0-13-amd64" */
    char cpu[128];
    uint32_t cpu_count; /* CPUs online */
    uint64_t memory_bytes;
};
void sonde__host_device_read(struct sonde__host_device *ret_device);

/* 128 random bits as hexadecimal digits; "" if the system gives none. */
#define SONDE__HOST_ID_TEXT 33
void sonde__host_random_id(char ret_id[SONDE__HOST_ID_TEXT]);

/* The parent of a process; 0: unknown. */
int32_t sonde__host_parent(int32_t pid);

/* This system's platform: enum Platform of proto/sonde/v1/report.proto. */
uint32_t sonde__host_platform(void);

#endif
