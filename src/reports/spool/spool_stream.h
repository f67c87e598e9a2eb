// SPDX-License-Identifier: Apache-2.0
/* A stream of report records in a live file (host_live.h). Zero bytes follow the last record, so
 * the file is a valid report at any time, whenever its writer is killed.
 *
 * Invariant: the byte after the last record is zero until the next record is complete. Context: any
 * thread, one at a time. */
#ifndef SONDE_SPOOL_STREAM_H
#define SONDE_SPOOL_STREAM_H

#include <stdbool.h>

#include <sonde/status.h>

#include "host_live.h"

/* The first size holds a stall of some thousand samples. A stall of one day at four samples per
 * second, each in another place, reaches the maximum; then only its duration is updated. */
#define SONDE__SPOOL_STREAM_BYTES     ((size_t)256 << 10)
#define SONDE__SPOOL_STREAM_BYTES_MAX ((size_t)16 << 20)

struct sonde__spool_stream {
    struct sonde__host_live live;
    size_t used;
};

/* fd: of an empty file. Returns 0 or an errno. */
int sonde__spool_stream_open(struct sonde__spool_stream *stream, int32_t fd);
void sonde__spool_stream_close(struct sonde__spool_stream *stream);

/* A sonde__report_write (report_write.h) for one record; the file grows as needed. LIMIT: maximum
 * reached or disk full; nothing was written. */
SONDE_NODISCARD enum sonde_status sonde__spool_stream_write(void *stream, const void *bytes,
                                                            size_t size);
/* Free bytes for records. */
size_t sonde__spool_stream_left(const struct sonde__spool_stream *stream);
/* Double the size. False: maximum reached, or disk full. */
bool sonde__spool_stream_grow(struct sonde__spool_stream *stream);
/* Remove all records. If the process is killed here, the file is still a report, with fewer records
 * or with the old ones. */
void sonde__spool_stream_reset(struct sonde__spool_stream *stream);

#endif
