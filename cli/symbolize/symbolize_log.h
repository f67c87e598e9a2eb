// SPDX-License-Identifier: Apache-2.0
/* The image list of one of Apple's crash logs. */
#ifndef SONDE_SYMBOLIZE_LOG_H
#define SONDE_SYMBOLIZE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 32 digits and NUL */
enum { SYMBOLIZE_LOG_UUID = 33 };

struct symbolize_log_image {
    uint64_t base, end; /* first and last address; of JSON, symbolize_ips.c has its own `end` */
    const char *path;   /* points into the log; null in JSON */
    size_t path_size;
    char uuid[SYMBOLIZE_LOG_UUID]; /* lower-case digits; "" when unknown */
};

struct symbolize_log {
    struct symbolize_log_image *all;
    size_t count, capacity;
};

/* False: no memory. Images over a process' maximum are dropped. */
bool symbolize_log_add(struct symbolize_log *images, const struct symbolize_log_image *image);
/* The image with the address, or null. Images of unknown end, or with all addresses, come last. */
const struct symbolize_log_image *symbolize_log_at(const struct symbolize_log *images,
                                                   uint64_t address);

/* "DFC6A3E1-..." or 32 digits to lower-case digits; "" for another text or zero. */
void symbolize_log_uuid(const char *text, size_t size, char ret_digits[SYMBOLIZE_LOG_UUID]);

#endif
