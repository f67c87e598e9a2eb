// SPDX-License-Identifier: Apache-2.0
/* Frames with a checksum of the content, so a server sees what was damaged on the way. Sources:
 * RFC 8878 (zstd), RFC 1952 (gzip); zstd.h and zlib.h. */
#include <zlib.h>
#include <zstd.h>

#include "plugin.h"

/* Reports are small: a few ms of a core at most. */
enum { ZSTD_LEVEL = 6, GZIP_LEVEL = 6 };
/* deflateInit2(): the largest window, and 16 for a gzip header. */
enum { GZIP_WINDOW = 15 + 16, GZIP_MEMORY = 8 };

static size_t with_zstd(const void *bytes, size_t size, void *to, size_t capacity)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    size_t written = 0;
    if (context != NULL &&
        !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, ZSTD_LEVEL)) &&
        !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1))) {
        written = ZSTD_compress2(context, to, capacity, bytes, size);
        written = ZSTD_isError(written) ? 0 : written;
    }
    ZSTD_freeCCtx(context);
    return written;
}

static size_t with_gzip(const void *bytes, size_t size, void *to, size_t capacity)
{
    z_stream stream = {0};
    size_t written = 0;
    if (size > UINT32_MAX || capacity > UINT32_MAX ||
        deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        return 0;
    }
    stream.next_in = (z_const Bytef *)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = to;
    stream.avail_out = (uInt)capacity;
    if (deflate(&stream, Z_FINISH) == Z_STREAM_END) {
        written = capacity - stream.avail_out;
    }
    deflateEnd(&stream);
    return written;
}

size_t sonde_upload_plugin_compress(void *ctx, enum sonde_upload_coding coding, const void *bytes,
                                    size_t size_bytes, void *to, size_t capacity_bytes)
{
    (void)ctx;
    return coding == SONDE_UPLOAD_ZSTD   ? with_zstd(bytes, size_bytes, to, capacity_bytes)
           : coding == SONDE_UPLOAD_GZIP ? with_gzip(bytes, size_bytes, to, capacity_bytes)
                                         : 0;
}
