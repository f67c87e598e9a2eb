// SPDX-License-Identifier: Apache-2.0
#include "zip.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

#include "base_bytes.h"

/* Records of APPNOTE 4.3: the end of the directory, an entry of it, and a file's own header. */
enum {
    END_BYTES = 22,
    END_ENTRIES = 10,
    END_OFFSET = 16,
    END_COMMENT_MAX = 65535,
    ENTRY_BYTES = 46,
    ENTRY_FLAGS = 8,
    ENTRY_METHOD = 10,
    ENTRY_CRC = 16,
    ENTRY_PACKED = 20,
    ENTRY_SIZE = 24,
    ENTRY_NAME = 28,
    ENTRY_EXTRA = 30,
    ENTRY_COMMENT = 32,
    ENTRY_AT = 42,
    FILE_BYTES = 30,
    FILE_NAME = 26,
    FILE_EXTRA = 28,
    IS_ENCRYPTED = 1,
    STORED = 0,
    DEFLATED = 8,
};
/* The most that a byte of deflate can become (zlib's FAQ: 1032 to 1). */
#define RATIO_MAX 1032u

static bool has_mark(const uint8_t *at, uint8_t third, uint8_t fourth)
{
    return at[0] == 'P' && at[1] == 'K' && at[2] == third && at[3] == fourth;
}

bool zip_begins(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    return size >= END_BYTES && (has_mark(at, 3, 4) || has_mark(at, 5, 6));
}

struct entry {
    char name[ZIP_NAME];
    const uint8_t *packed;
    uint32_t packed_size, size, crc;
    uint16_t method, flags;
};

/* The last record of the directory; null: none. */
static const uint8_t *find_end(const uint8_t *bytes, size_t size)
{
    for (size_t back = END_BYTES; back <= size && back <= END_BYTES + END_COMMENT_MAX; back++) {
        if (has_mark(bytes + size - back, 5, 6)) {
            return bytes + size - back;
        }
    }
    return NULL;
}

/* Read the entry at an offset. Returns its size in the directory; 0: it is cut. */
static size_t read_entry(const uint8_t *bytes, size_t size, uint64_t at, struct entry *ret_entry)
{
    const uint8_t *e = bytes + at;
    *ret_entry = (struct entry){.packed = NULL};
    if (at > size || size - at < ENTRY_BYTES || !has_mark(e, 1, 2)) {
        return 0;
    }
    size_t name = sonde__base_le16(e + ENTRY_NAME);
    size_t all = ENTRY_BYTES + name + sonde__base_le16(e + ENTRY_EXTRA) +
                 sonde__base_le16(e + ENTRY_COMMENT);
    if (size - at < all) {
        return 0;
    }
    snprintf(ret_entry->name, sizeof ret_entry->name, "%.*s", (int)name,
             (const char *)e + ENTRY_BYTES);
    ret_entry->flags = sonde__base_le16(e + ENTRY_FLAGS);
    ret_entry->method = sonde__base_le16(e + ENTRY_METHOD);
    ret_entry->crc = sonde__base_le32(e + ENTRY_CRC);
    ret_entry->packed_size = sonde__base_le32(e + ENTRY_PACKED);
    ret_entry->size = sonde__base_le32(e + ENTRY_SIZE);
    uint64_t file = sonde__base_le32(e + ENTRY_AT);
    if (file <= size && size - file >= FILE_BYTES && has_mark(bytes + file, 3, 4)) {
        uint64_t data = file + FILE_BYTES + sonde__base_le16(bytes + file + FILE_NAME) +
                        sonde__base_le16(bytes + file + FILE_EXTRA);
        bool fits = data <= size && size - data >= ret_entry->packed_size;
        ret_entry->packed = fits ? bytes + data : NULL;
    }
    return all;
}

/* Inflate up to `room` bytes. Returns how many came out. ret_whole: that was all of it. */
static size_t unpack(const struct entry *entry, void *to, size_t room, bool *ret_whole)
{
    z_stream stream = {.next_in = (z_const Bytef *)entry->packed,
                       .avail_in = entry->packed_size,
                       .next_out = to,
                       .avail_out = (uInt)room};
    *ret_whole = false;
    if (entry->method == STORED) {
        size_t size = entry->packed_size < room ? entry->packed_size : room;
        memcpy(to, entry->packed, size);
        *ret_whole = size == entry->packed_size;
        return size;
    }
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
        return 0;
    }
    *ret_whole = inflate(&stream, Z_FINISH) == Z_STREAM_END;
    inflateEnd(&stream);
    return room - stream.avail_out;
}

/* Give a file that is wanted. Returns null, or why it was left. *ret_more: go on. */
static const char *give(const struct entry *entry, const struct zip_reader *reader, uint64_t *left,
                        bool *ret_more)
{
    bool is_whole;
    if (entry->size > *left || (uint64_t)entry->packed_size * RATIO_MAX < entry->size) {
        return "it is larger than what is taken of an archive";
    }
    *left -= entry->size;
    void *to = mmap(NULL, entry->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (to == MAP_FAILED) {
        return "no memory to unpack it";
    }
    size_t size = unpack(entry, to, entry->size, &is_whole);
    bool is_sound = is_whole && size == entry->size && crc32_z(0, to, size) == entry->crc;
    if (is_sound) {
        *ret_more = reader->take(reader->ctx, entry->name, to, size);
    }
    munmap(to, entry->size);
    return is_sound ? NULL : "it is damaged in the archive";
}

static const char *look(const struct entry *entry, const struct zip_reader *reader, uint64_t *left,
                        bool *ret_more)
{
    uint8_t head[ZIP_HEAD];
    bool is_whole;
    if (entry->size == 0) { /* a folder, too */
        return NULL;
    }
    if (entry->packed == NULL) {
        return "the archive is cut";
    }
    if ((entry->flags & IS_ENCRYPTED) != 0 ||
        (entry->method != STORED && entry->method != DEFLATED)) {
        return "it is encrypted, or packed by another method than deflate";
    }
    size_t size = unpack(entry, head, sizeof head, &is_whole);
    return reader->wants(reader->ctx, entry->name, head, size) ? give(entry, reader, left, ret_more)
                                                               : NULL;
}

const char *zip_each(const void *bytes, size_t size, const struct zip_reader *reader)
{
    const uint8_t *end = find_end(bytes, size);
    uint64_t left = reader->total_max;
    bool goes_on = true;
    if (end == NULL) {
        return "the archive is cut: it has no directory";
    }
    uint32_t count = sonde__base_le16(end + END_ENTRIES);
    uint64_t at = sonde__base_le32(end + END_OFFSET);
    if (at == UINT32_MAX || count == UINT16_MAX) {
        return "an archive of this size (zip64) is not read: upload its files one by one";
    }
    for (uint32_t i = 0; i < count && goes_on; i++) {
        struct entry entry;
        size_t step = read_entry(bytes, size, at, &entry);
        if (step == 0) {
            return "the archive's directory is damaged";
        }
        const char *why = look(&entry, reader, &left, &goes_on);
        if (why != NULL) {
            reader->leave(reader->ctx, entry.name, why);
        }
        at += step;
    }
    return NULL;
}
