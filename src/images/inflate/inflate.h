// SPDX-License-Identifier: Apache-2.0
/* Inflates bytes with the system's zlib, libzstd and liblzma.
 *
 * The libraries are loaded at their first use only: libsonde depends on libc alone. All three
 * are part of every Debian. The caller's buffer limits the output, whatever the input says.
 * Context: any thread. */
#ifndef SONDE_INFLATE_H
#define SONDE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

enum sonde__inflate_kind { SONDE__INFLATE_ZLIB, SONDE__INFLATE_ZSTD, SONDE__INFLATE_XZ };

/* Inflate to at most `room` bytes at `to`, which must be zero.
 *
 * ret_size  bytes that came out, also of malformed input: what came before
 *           the fault (zstd does not report it: up to the last non-zero byte)
 *
 * Returns OK | UNSUPPORTED (its library is missing) | CORRUPT | LIMIT (more than `room`) |
 * MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__inflate(enum sonde__inflate_kind kind, const void *data,
                                                 size_t size, void *to, size_t room,
                                                 size_t *ret_size, struct sonde_error *ret_error);

/* Read the inflated size of an xz stream from the index at its end. False: not a single stream.
 * The value is not verified. */
bool sonde__inflate_xz_size(const void *data, size_t size, uint64_t *ret_size);

#endif
