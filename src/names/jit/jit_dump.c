// SPDX-License-Identifier: Apache-2.0
/* jitdump: tools/perf/Documentation/jitdump-specification.txt of Linux. */
#include <string.h>

#include "base_bytes.h"
#include "base_status.h"
#include "jit_names.h"
#include "mem_heap.h"

#define MAGIC 0x4a695444u /* "JiTD" */

enum { HEADER_BYTES = 40, RECORD_BYTES = 16 };
enum { RECORD_LOAD = 0, RECORD_MOVE = 1, RECORD_CLOSE = 3 };

/* Moves are rare and concern recent code. These bound how far back a move is searched, and the
 * total, because a file could have millions of invalid moves. */
enum { MOVE_LOOKS = 65536, LOOKS_MAX = 1 << 26 };

struct reader {
    struct sonde__jit *jit;
    uint32_t looks_left;
    bool is_closed;
};

static enum sonde_status take_load(struct sonde__jit *jit, struct sonde__bytes *body)
{
    (void)sonde__base_bytes_take(body, 16); /* pid, tid, vma */
    uint64_t start = sonde__base_bytes_u64(body);
    uint64_t size = sonde__base_bytes_u64(body);
    (void)sonde__base_bytes_u64(body); /* index */
    const char *name = sonde__base_bytes_string(body);
    if (body->failed || name == NULL || start + size < start) {
        jit->bad++;
        return SONDE_OK;
    }
    return sonde__jit_add(jit, start, start + size, name, strlen(name));
}

/* Code was moved: give its latest name to the new address. */
static enum sonde_status take_move(struct reader *r, struct sonde__bytes *body)
{
    struct sonde__jit *jit = r->jit;
    (void)sonde__base_bytes_take(body, 16);
    uint64_t from = sonde__base_bytes_u64(body);
    uint64_t to = sonde__base_bytes_u64(body);
    uint64_t size = sonde__base_bytes_u64(body);
    if (body->failed || to + size < to) {
        jit->bad++;
        return SONDE_OK;
    }
    for (size_t i = jit->count, looked = 0; i > 0 && looked < MOVE_LOOKS && r->looks_left != 0;
         i--, looked++, r->looks_left--) {
        const struct sonde__jit_code *code = &jit->codes[i - 1];
        if (code->start == from) {
            return sonde__jit_add(jit, to, to + size, code->name, strlen(code->name));
        }
    }
    jit->bad++;
    return SONDE_OK;
}

static enum sonde_status take_record(struct reader *r, uint32_t id, struct sonde__bytes *body)
{
    switch (id) {
    case RECORD_LOAD:
        return take_load(r->jit, body);
    case RECORD_MOVE:
        return take_move(r, body);
    case RECORD_CLOSE:
        r->is_closed = true;
        return SONDE_OK;
    default:
        return SONDE_OK; /* lines, unwind tables and later kinds are skipped */
    }
}

enum sonde_status sonde__jit_add_dump(struct sonde__jit *jit, const void *data, size_t size)
{
    struct reader r = {.jit = jit, .looks_left = LOOKS_MAX};
    struct sonde__bytes at;
    uint32_t header;
    sonde__base_bytes_init(&at, data, size);
    if (size < HEADER_BYTES || sonde__base_bytes_u32(&at) != MAGIC ||
        sonde__base_bytes_u32(&at) != 1) {
        return SONDE_UNSUPPORTED;
    }
    header = sonde__base_bytes_u32(&at);
    if (header < HEADER_BYTES || !sonde__base_bytes_seek(&at, header)) {
        return SONDE_UNSUPPORTED;
    }
    while (!r.is_closed && sonde__base_bytes_left(&at) >= RECORD_BYTES) {
        size_t begin = sonde__base_bytes_offset(&at);
        uint32_t id = sonde__base_bytes_u32(&at);
        uint32_t bytes = sonde__base_bytes_u32(&at);
        struct sonde__bytes body;
        if (bytes < RECORD_BYTES || bytes > size - begin) {
            jit->bad += bytes != 0; /* a file may be larger than the data written so far */
            break;
        }
        body = sonde__base_bytes_part(&at, begin + RECORD_BYTES, bytes - RECORD_BYTES);
        SONDE_TRY(take_record(&r, id, &body));
        (void)sonde__base_bytes_seek(&at, begin + bytes);
    }
    return SONDE_OK;
}
