// SPDX-License-Identifier: Apache-2.0
/* CRC-32C (Castagnoli; RFC 3720 appendix B.4): the checksum of report records and spool frames.
 * Context: handler. */
#ifndef SONDE_BASE_CRC32C_H
#define SONDE_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Extend `crc` (0 to begin) over `size` bytes. */
uint32_t sonde__base_crc32c(uint32_t crc, const void *bytes, size_t size);
/* The same without the processor's instruction for it. */
uint32_t sonde__base_crc32c_by_table(uint32_t crc, const void *bytes, size_t size);

#endif
