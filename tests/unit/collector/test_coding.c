// SPDX-License-Identifier: Apache-2.0
/* Bodies in each coding, whole, cut at every byte, damaged, and larger than may be. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "coding.h"
#include "test.h"

static struct coding_bytes gzip_of(const void *bytes, size_t size)
{
    z_stream stream = {0};
    struct coding_bytes out = {.capacity = size + 1024};
    out.bytes = malloc(out.capacity);
    CHECK(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    stream.next_in = (Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = out.bytes;
    stream.avail_out = (uInt)out.capacity;
    CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    out.size = stream.total_out;
    deflateEnd(&stream);
    return out;
}

static char *text_of(size_t size)
{
    char *text = malloc(size);
    for (size_t i = 0; i < size; i++) {
        text[i] = (char)("abcdefgh"[i % 7 ^ i / 11 % 5]);
    }
    return text;
}

/* Whole it is what it was; cut anywhere, and with something behind it, it is refused. */
static void check_coding(enum coding coding, const struct coding_bytes *packed, const char *text,
                         size_t size)
{
    struct coding_bytes out = {0};
    CHECK_EQ(coding_unpack(coding, packed->bytes, packed->size, &out), 0);
    CHECK_EQ(out.size, size);
    CHECK(memcmp(out.bytes, text, size) == 0);
    for (size_t cut = 0; cut < packed->size; cut++) {
        char *part = malloc(cut + 1);
        memcpy(part, packed->bytes, cut);
        CHECK_EQ(coding_unpack(coding, part, cut, &out), EBADMSG);
        free(part);
    }
    char *more = calloc(1, packed->size + 1);
    memcpy(more, packed->bytes, packed->size);
    CHECK_EQ(coding_unpack(coding, more, packed->size + 1, &out), EBADMSG);
    free(more);
    free(out.bytes);
}

TEST(bodies_are_decoded_whole_or_refused)
{
    enum { SIZE = 3000 };
    char *text = text_of(SIZE);
    struct coding_bytes zstd = {0}, gzip = gzip_of(text, SIZE);
    CHECK_EQ(coding_pack(text, SIZE, 3, &zstd), 0);
    check_coding(CODING_ZSTD, &zstd, text, SIZE);
    check_coding(CODING_GZIP, &gzip, text, SIZE);
    free(zstd.bytes);
    free(gzip.bytes);
    free(text);
}

TEST(damaged_bodies_are_refused)
{
    enum { SIZE = 2000 };
    char *text = text_of(SIZE);
    struct coding_bytes packed = {0}, out = {0};
    CHECK_EQ(coding_pack(text, SIZE, 3, &packed), 0);
    unsigned same = 0;
    for (size_t i = 0; i < packed.size; i++) {
        ((char *)packed.bytes)[i] ^= 0x20;
        int os_error = coding_unpack(CODING_ZSTD, packed.bytes, packed.size, &out);
        CHECK(os_error == EBADMSG || (os_error == 0 && out.size == SIZE &&
                                      memcmp(out.bytes, text, SIZE) == 0 && same++ < 2));
        ((char *)packed.bytes)[i] ^= 0x20;
    }
    free(packed.bytes);
    free(out.bytes);
    free(text);
}

/* At most CODING_DECODED_MAX, to the byte, and memory for no more. */
TEST_TIMEOUT(bombs_are_refused, 60)
{
    char *zeros = calloc(1, CODING_DECODED_MAX + 1);
    for (unsigned more = 0; more < 2; more++) {
        struct coding_bytes zstd = {0}, out = {0};
        struct coding_bytes gzip = gzip_of(zeros, CODING_DECODED_MAX + more);
        CHECK_EQ(coding_pack(zeros, CODING_DECODED_MAX + more, 3, &zstd), 0);
        CHECK_EQ(coding_unpack(CODING_ZSTD, zstd.bytes, zstd.size, &out), more ? EFBIG : 0);
        CHECK_EQ(coding_unpack(CODING_GZIP, gzip.bytes, gzip.size, &out), more ? EFBIG : 0);
        CHECK(out.capacity <= CODING_DECODED_MAX + 1);
        free(zstd.bytes);
        free(gzip.bytes);
        free(out.bytes);
    }
    free(zeros);
}
