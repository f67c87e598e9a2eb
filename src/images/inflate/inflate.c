// SPDX-License-Identifier: Apache-2.0
/* Declares the functions of each library here: one-shot functions are their oldest and most
 * stable part, and the build needs no headers. Sources: zlib.h (uncompress), zstd.h
 * (ZSTD_decompress, ZSTD_getErrorCode), lzma/container.h (lzma_stream_buffer_decode). */
#include "inflate.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base_status.h"
#include "host_library.h"

/* Memory limit of liblzma: the dictionary of its largest preset is 64 MiB. */
#define XZ_MEMORY_MAX ((uint64_t)256 << 20)

/* The libraries' error codes. */
enum { Z_OK = 0, Z_MEM_ERROR = -4, Z_BUF_ERROR = -5 };
enum { ZSTD_ERROR_MEMORY = 64, ZSTD_ERROR_ROOM = 70 };
enum { LZMA_OK = 0, LZMA_MEM_ERROR = 5, LZMA_MEMLIMIT_ERROR = 6, LZMA_BUF_ERROR = 10 };

struct job {
    const void *data;
    size_t size;
    void *to;
    size_t room;
    size_t done;
    const char *what;
    const char *detail; /* or null */
};

static bool load(enum sonde__host_library library, const char *name, void *ret_function)
{
    return sonde__host_library_find != NULL &&
           sonde__host_library_find(library, name, ret_function);
}

static enum sonde_status lacks(struct job *job, enum sonde__host_library library, const char *what)
{
    job->what = what;
    job->detail = sonde__host_library_names[library].text;
    return SONDE_UNSUPPORTED;
}

static enum sonde_status inflate_zlib(struct job *job)
{
    int (*uncompress)(unsigned char *, unsigned long *, const unsigned char *, unsigned long);
    unsigned long done = job->room;
    if (!load(SONDE__HOST_ZLIB, "uncompress", &uncompress)) {
        return lacks(job, SONDE__HOST_ZLIB, "compressed with zlib, and a library is not there");
    }
    int rc = uncompress(job->to, &done, job->data, job->size);
    job->done = done < job->room ? done : job->room;
    job->what = "malformed zlib data";
    if (rc == Z_BUF_ERROR && job->done == job->room) {
        job->what = "more zlib data than it says";
        return SONDE_LIMIT;
    }
    return rc == Z_OK ? SONDE_OK : rc == Z_MEM_ERROR ? SONDE_MEMORY : SONDE_CORRUPT;
}

static size_t without_zeros(const struct job *job)
{
    const uint8_t *bytes = job->to;
    size_t size = job->room;
    while (size > 0 && bytes[size - 1] == 0) {
        size--;
    }
    return size;
}

static enum sonde_status inflate_zstd(struct job *job)
{
    size_t (*decompress)(void *, size_t, const void *, size_t);
    unsigned (*is_error)(size_t);
    int (*error_code)(size_t);
    if (!load(SONDE__HOST_ZSTD, "ZSTD_decompress", &decompress) ||
        !load(SONDE__HOST_ZSTD, "ZSTD_isError", &is_error) ||
        !load(SONDE__HOST_ZSTD, "ZSTD_getErrorCode", &error_code)) {
        return lacks(job, SONDE__HOST_ZSTD, "compressed with zstd, and a library is not there");
    }
    size_t rc = decompress(job->to, job->room, job->data, job->size);
    if (is_error(rc) == 0) {
        job->done = rc;
        return SONDE_OK;
    }
    job->done = without_zeros(job);
    if (error_code(rc) == ZSTD_ERROR_ROOM) {
        job->what = "more zstd data than it says";
        return SONDE_LIMIT;
    }
    job->what = "malformed zstd data";
    return error_code(rc) == ZSTD_ERROR_MEMORY ? SONDE_MEMORY : SONDE_CORRUPT;
}

static enum sonde_status inflate_xz(struct job *job)
{
    int (*decode)(uint64_t *, uint32_t, const void *, const uint8_t *, size_t *, size_t, uint8_t *,
                  size_t *, size_t);
    uint64_t memory = XZ_MEMORY_MAX;
    size_t at = 0;
    if (!load(SONDE__HOST_LZMA, "lzma_stream_buffer_decode", &decode)) {
        return lacks(job, SONDE__HOST_LZMA, "compressed with xz, and a library is not there");
    }
    int rc = decode(&memory, 0, NULL, job->data, &at, job->size, job->to, &job->done, job->room);
    job->what = "malformed xz data";
    switch (rc) {
    case LZMA_OK:
        return SONDE_OK;
    case LZMA_BUF_ERROR:
        job->done = without_zeros(job);
        return SONDE_LIMIT;
    case LZMA_MEM_ERROR:
        return SONDE_MEMORY;
    case LZMA_MEMLIMIT_ERROR:
        job->what = "xz data that needs too much memory";
        return SONDE_LIMIT;
    default:
        return SONDE_CORRUPT;
    }
}

enum sonde_status sonde__inflate(enum sonde__inflate_kind kind, const void *data, size_t size,
                                 void *to, size_t room, size_t *ret_size,
                                 struct sonde_error *ret_error)
{
    static enum sonde_status (*const kinds[])(struct job *) = {
        [SONDE__INFLATE_ZLIB] = inflate_zlib,
        [SONDE__INFLATE_ZSTD] = inflate_zstd,
        [SONDE__INFLATE_XZ] = inflate_xz,
    };
    struct job job = {.data = data, .size = size, .to = to, .room = room};
    enum sonde_status status = kinds[kind](&job);
    *ret_size = job.done;
    return status == SONDE_OK
               ? SONDE_OK
               : sonde__base_fail(ret_error, status, job.what, job.detail, 0, job.done);
}
