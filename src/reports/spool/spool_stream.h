// SPDX-License-Identifier: Apache-2.0
/* A stream of report records in a live file (host_live.h): zero bytes follow the last record, so
 * the file is a report at each moment, whenever its writer is killed.
 *
 * Invariant: the byte behind the last record is zero until the record that begins there is whole.
 * Context: any thread, one at a time. */
#ifndef SONDE_SPOOL_STREAM_H
#define SONDE_SPOOL_STREAM_H

#include <stdbool.h>

#include <sonde/status.h>

#include "host_live.h"

/* A stall of some thousand samples. One that lasts for a day at four samples a second, each at
 * another place, needs the maximum; then only its duration is kept up to date. */
#define SONDE__SPOOL_STREAM_BYTES     ((size_t)256 << 10)
#define SONDE__SPOOL_STREAM_BYTES_MAX ((size_t)16 << 20)

struct sonde__spool_stream {
    struct sonde__host_live live;
    size_t used;
};

/* fd: of an empty file. Returns 0 or an errno. */
int sonde__spool_stream_open(struct sonde__spool_stream *stream, int32_t fd);
void sonde__spool_stream_close(struct sonde__spool_stream *stream);

/* A sonde__report_write (report_write.h): one record. The file grows if it has to. LIMIT: it has
 * the maximum, or the disk is full; nothing was written. */
SONDE_NODISCARD enum sonde_status sonde__spool_stream_write(void *stream, const void *bytes,
                                                            size_t size);
/* Bytes of records that fit. */
size_t sonde__spool_stream_left(const struct sonde__spool_stream *stream);
/* Make it twice as large. False: it has the maximum, or the disk is full. */
bool sonde__spool_stream_grow(struct sonde__spool_stream *stream);
/* Remove all records. If the process is killed here, the file is still a report: with fewer
 * records, or with the former ones. */
void sonde__spool_stream_reset(struct sonde__spool_stream *stream);

#endif
