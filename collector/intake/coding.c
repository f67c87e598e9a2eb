// SPDX-License-Identifier: Apache-2.0
#include "coding.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { FIRST = 64 << 10 };

/* Have room for more than is used. Returns 0, EFBIG or ENOMEM. */
static int grow(struct coding_bytes *to)
{
    if (to->size < to->capacity) {
        return 0;
    }
    if (to->capacity > CODING_DECODED_MAX) {
        return EFBIG;
    }
    size_t capacity = to->capacity == 0 ? FIRST : 2 * to->capacity;
    /* one byte more than may be used, to see that there is more */
    capacity = capacity <= CODING_DECODED_MAX ? capacity : CODING_DECODED_MAX + 1;
    void *bytes = realloc(to->bytes, capacity);
    if (bytes == NULL) {
        return ENOMEM;
    }
    to->bytes = bytes;
    to->capacity = capacity;
    return 0;
}

static int unpack_zstd(const void *bytes, size_t size, struct coding_bytes *to)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    ZSTD_inBuffer in = {bytes, size, 0};
    size_t left = 1;
    int os_error = stream == NULL ? ENOMEM : 0;
    if (stream != NULL) { /* a window of 8 MiB is the most that a decoder must support */
        (void)ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, 23);
    }
    while (os_error == 0 && left != 0 && (os_error = grow(to)) == 0) {
        ZSTD_outBuffer out = {to->bytes, to->capacity, to->size};
        size_t before = out.pos + in.pos;
        left = ZSTD_decompressStream(stream, &out, &in);
        to->size = out.pos;
        if (ZSTD_isError(left) || (left != 0 && out.pos + in.pos == before)) {
            os_error = EBADMSG;
        }
    }
    ZSTD_freeDStream(stream);
    return os_error == 0 && in.pos != size ? EBADMSG : os_error;
}

/* window_bits: of zlib, which tell the two formats apart. */
static int unpack_deflate(int window_bits, const void *bytes, size_t size, struct coding_bytes *to)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)size};
    int result = inflateInit2(&stream, window_bits), os_error = 0;
    if (result != Z_OK) {
        return ENOMEM;
    }
    while (os_error == 0 && result != Z_STREAM_END && (os_error = grow(to)) == 0) {
        stream.next_out = (Bytef *)to->bytes + to->size;
        stream.avail_out = (uInt)(to->capacity - to->size);
        result = inflate(&stream, Z_NO_FLUSH);
        to->size = to->capacity - stream.avail_out;
        if (result != Z_OK && result != Z_STREAM_END) {
            os_error = EBADMSG;
        }
    }
    (void)inflateEnd(&stream);
    return os_error == 0 && stream.avail_in != 0 ? EBADMSG : os_error;
}

static int copy(const void *bytes, size_t size, struct coding_bytes *to)
{
    while (to->capacity <= size) {
        to->size = to->capacity;
        int os_error = grow(to);
        if (os_error != 0) {
            return os_error;
        }
    }
    memcpy(to->bytes, bytes, size);
    to->size = size;
    return 0;
}

int coding_unpack(enum coding coding, const void *bytes, size_t size,
                  struct coding_bytes *ret_bytes)
{
    ret_bytes->size = 0;
    int os_error = coding == CODING_ZSTD      ? unpack_zstd(bytes, size, ret_bytes)
                   : coding == CODING_GZIP    ? unpack_deflate(15 + 16, bytes, size, ret_bytes)
                   : coding == CODING_DEFLATE ? unpack_deflate(15, bytes, size, ret_bytes)
                                              : copy(bytes, size, ret_bytes);
    return os_error == 0 && ret_bytes->size > CODING_DECODED_MAX ? EFBIG : os_error;
}

int coding_pack(const void *bytes, size_t size, int level, struct coding_bytes *ret_bytes)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    size_t capacity = ZSTD_compressBound(size);
    void *packed = malloc(capacity);
    size_t used = 0;
    if (context != NULL && packed != NULL) {
        (void)ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
        (void)ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
        used = ZSTD_compress2(context, packed, capacity, bytes, size);
    }
    ZSTD_freeCCtx(context);
    if (used == 0 || ZSTD_isError(used)) {
        free(packed);
        return ENOMEM;
    }
    *ret_bytes = (struct coding_bytes){packed, used, capacity};
    return 0;
}
