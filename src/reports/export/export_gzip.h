// SPDX-License-Identifier: Apache-2.0
/* A gzip container (RFC 1952) with stored, uncompressed blocks (RFC 1951 §3.2.4).
 *
 * Readers of pprof files expect gzip. Stored blocks need no library and give the same bytes with
 * any version of zlib; `gzip -d | gzip -9` compresses them. */
#ifndef SONDE_EXPORT_GZIP_H
#define SONDE_EXPORT_GZIP_H

#include "report_out.h"

#define SONDE__EXPORT_STORED_MAX 65535u /* bytes of one stored block */

struct sonde__export_gzip {
    struct sonde__report_sink sink;
    uint32_t crc, size; /* of the bytes so far; size modulo 2^32 */
    uint32_t used;
    bool stopped;
    char block[SONDE__EXPORT_STORED_MAX];
};

/* Write the header. */
void sonde__export_gzip_begin(struct sonde__export_gzip *gzip, struct sonde__report_sink sink);
/* The sink for the content. */
struct sonde__report_sink sonde__export_gzip_sink(struct sonde__export_gzip *gzip);
/* Write the last block and the trailer. */
void sonde__export_gzip_end(struct sonde__export_gzip *gzip);

#endif
