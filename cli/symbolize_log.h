// SPDX-License-Identifier: Apache-2.0
/* The list of images in one of Apple's crash logs. */
#ifndef SONDE_SYMBOLIZE_LOG_H
#define SONDE_SYMBOLIZE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbolize_log_image {
    uint64_t base, end; /* first and last address */
    const char *path;   /* in the log; of JSON with its escapes */
    size_t path_size;
    char uuid[33]; /* lower-case digits; "" when unknown */
};

struct symbolize_log {
    struct symbolize_log_image *all;
    size_t count, capacity;
};

/* False: no memory. Images beyond what a process can have are left out. */
bool symbolize_log_add(struct symbolize_log *images, const struct symbolize_log_image *image);
/* The image that holds the address, or null. An image of unknown end, or of all addresses, holds
 * what no other one does. */
const struct symbolize_log_image *symbolize_log_at(const struct symbolize_log *images,
                                                   uint64_t address);

/* "DFC6A3E1-...", or 32 digits, to digits; "" when it is none, or zero. */
void symbolize_log_uuid(const char *text, size_t size, char *ret_digits);

#endif
