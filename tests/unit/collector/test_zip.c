// SPDX-License-Identifier: Apache-2.0
/* Archives that strangers send: whole ones, damaged ones, and those that claim what is not so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "test.h"
#include "zip.h"

#define TOTAL_MAX ((uint64_t)8 << 20)

/* An archive with one file, whose fields can be set to anything. */
struct made {
    uint8_t bytes[4096];
    size_t size, directory, end;
};

static void put(struct made *made, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        made->bytes[made->size++] = (uint8_t)(value >> 8 * i);
    }
}

static void put_bytes(struct made *made, const void *bytes, size_t size)
{
    memcpy(made->bytes + made->size, bytes, size);
    made->size += size;
}

static struct made make(const char *name, const void *content, uint32_t size, bool is_packed)
{
    struct made made = {.size = 0};
    uint8_t packed[1024];
    uLongf packed_size = size;
    uint32_t crc = (uint32_t)crc32(0, content, size);
    memcpy(packed, content, size);
    if (is_packed) { /* zlib's header and checksum are not in a zip */
        packed_size = sizeof packed;
        CHECK_EQ(compress(packed, &packed_size, content, size), Z_OK);
        packed_size -= 6;
        memmove(packed, packed + 2, packed_size);
    }
    uint16_t method = is_packed ? 8 : 0, length = (uint16_t)strlen(name);
    put(&made, 0x04034b50, 4);
    put(&made, 20, 2);
    put(&made, 0, 2);
    put(&made, method, 2);
    put(&made, 0, 4);
    put(&made, crc, 4);
    put(&made, packed_size, 4);
    put(&made, size, 4);
    put(&made, length, 2);
    put(&made, 0, 2);
    put_bytes(&made, name, length);
    put_bytes(&made, packed, packed_size);
    made.directory = made.size;
    put(&made, 0x02014b50, 4);
    put(&made, 20, 4);
    put(&made, 0, 2);
    put(&made, method, 2);
    put(&made, 0, 4);
    put(&made, crc, 4);
    put(&made, packed_size, 4);
    put(&made, size, 4);
    put(&made, length, 2);
    put(&made, 0, 2);
    put(&made, 0, 2);
    put(&made, 0, 8);
    put(&made, 0, 4);
    put_bytes(&made, name, length);
    made.end = made.size;
    put(&made, 0x06054b50, 4);
    put(&made, 0, 4);
    put(&made, 1, 2);
    put(&made, 1, 2);
    put(&made, made.end - made.directory, 4);
    put(&made, made.directory, 4);
    put(&made, 0, 2);
    return made;
}

struct seen {
    unsigned taken, left;
    char name[ZIP_NAME], why[128];
    size_t size;
    bool is_same;
    const char *content;
};

static bool wants(void *ctx, const char *name, const void *head, size_t size)
{
    (void)ctx, (void)name, (void)head;
    return size > 0;
}

static bool take(void *ctx, const char *name, const void *bytes, size_t size)
{
    struct seen *seen = ctx;
    seen->taken++;
    snprintf(seen->name, sizeof seen->name, "%s", name);
    seen->size = size;
    seen->is_same = size == strlen(seen->content) && memcmp(bytes, seen->content, size) == 0;
    return true;
}

static void leave(void *ctx, const char *name, const char *why)
{
    struct seen *seen = ctx;
    (void)name;
    seen->left++;
    snprintf(seen->why, sizeof seen->why, "%s", why);
}

static const char content[] =
    "some content, some content, some content, some content, some content, "
    "some content, some content, some content, some content";

/* Read a copy of exactly this size, so that a sanitizer sees each byte too far. */
static const char *read_zip(const void *bytes, size_t size, struct seen *ret_seen)
{
    void *copy = malloc(size != 0 ? size : 1);
    CHECK(copy != NULL);
    memcpy(copy, bytes, size);
    *ret_seen = (struct seen){.content = content};
    const struct zip_reader reader = {TOTAL_MAX, wants, take, leave, ret_seen};
    const char *why = zip_each(copy, size, &reader);
    free(copy);
    return why != NULL ? why : "";
}

TEST(files_of_an_archive_are_given)
{
    for (unsigned is_packed = 0; is_packed < 2; is_packed++) {
        struct seen seen;
        struct made made = make("../../etc/x", content, sizeof content - 1, is_packed != 0);
        CHECK(zip_begins(made.bytes, made.size));
        CHECK_STR(read_zip(made.bytes, made.size, &seen), "");
        CHECK_EQ(seen.taken, 1);
        CHECK(seen.is_same);
        CHECK_STR(seen.name, "../../etc/x"); /* a name, never a path */
    }
}

/* Each way to cut it, and each byte with each bit flipped: no crash; what is given is the content.
 */
TEST_TIMEOUT(damaged_archives_give_nothing_wrong, 120)
{
    struct made made = make("file", content, sizeof content - 1, true);
    struct seen seen;
    for (size_t size = 0; size < made.size; size++) {
        (void)read_zip(made.bytes, size, &seen);
        CHECK_EQ(seen.taken, 0);
    }
    for (size_t at = 0; at < made.size; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            struct made other = made;
            other.bytes[at] ^= (uint8_t)(1u << bit);
            (void)read_zip(other.bytes, other.size, &seen);
            CHECK(seen.taken == 0 || seen.is_same);
        }
    }
}

static void set(struct made *made, size_t at, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        made->bytes[at + i] = (uint8_t)(value >> 8 * i);
    }
}

TEST(bombs_and_what_is_not_read_are_left)
{
    const struct made made = make("file", content, sizeof content - 1, true);
    struct made other = made;
    struct seen seen;
    set(&other, made.directory + 24, 0xf0000000, 4); /* it says that it has 4 GB */
    CHECK_STR(read_zip(other.bytes, other.size, &seen), "");
    CHECK_EQ(seen.taken, 0);
    CHECK_STR(seen.why, "it is larger than what is taken of an archive");
    other = made;
    set(&other, made.directory + 24, 10, 4); /* less than comes out */
    CHECK_STR(read_zip(other.bytes, other.size, &seen), "");
    CHECK_STR(seen.why, "it is damaged in the archive");
    other = made;
    set(&other, made.directory + 8, 1, 2);
    CHECK_STR(read_zip(other.bytes, other.size, &seen), "");
    CHECK_CONTAINS(seen.why, "it is encrypted");
    other = made;
    set(&other, made.directory + 10, 12, 2); /* bzip2 */
    CHECK_STR(read_zip(other.bytes, other.size, &seen), "");
    CHECK_CONTAINS(seen.why, "another method");
    other = made;
    set(&other, made.end + 16, UINT32_MAX, 4);
    CHECK_CONTAINS(read_zip(other.bytes, other.size, &seen), "zip64");
    other = made;
    set(&other, made.end + 10, 2, 2); /* it says that it has two files */
    CHECK_STR(read_zip(other.bytes, other.size, &seen), "the archive's directory is damaged");
    CHECK_EQ(seen.taken, 1);
    other = made;
    set(&other, made.directory + 42, 0x7fffffff, 4);
    CHECK_STR(read_zip(other.bytes, other.size, &seen), "");
    CHECK_STR(seen.why, "the archive is cut");
}

/* One file that a directory names again and again: the bytes of all count. */
TEST(file_that_is_named_again_and_again_counts_each_time)
{
    enum { SIZE = 1 << 20, TIMES = 20 };
    uint8_t *zeros = calloc(1, SIZE), *packed = malloc(SIZE), *archive = malloc(1 << 20);
    CHECK(zeros != NULL && packed != NULL && archive != NULL);
    uLongf packed_size = SIZE;
    CHECK_EQ(compress2(packed, &packed_size, zeros, SIZE, 9), Z_OK);
    const struct made one = make("z", "z", 1, false);
    size_t at = 30 + 1, file = packed_size - 6;
    memcpy(archive, one.bytes, at);
    memcpy(archive + at, packed + 2, file);
    at += file;
    size_t directory = at;
    for (unsigned i = 0; i < TIMES; i++) {
        struct made entry = one;
        set(&entry, one.directory + 10, 8, 2);
        set(&entry, one.directory + 16, crc32(0, zeros, SIZE), 4);
        set(&entry, one.directory + 20, file, 4);
        set(&entry, one.directory + 24, SIZE, 4);
        memcpy(archive + at, entry.bytes + one.directory, 47);
        at += 47;
    }
    struct made end = one;
    set(&end, one.end + 10, TIMES, 2);
    set(&end, one.end + 16, directory, 4);
    memcpy(archive + at, end.bytes + one.end, 22);
    struct seen seen;
    CHECK_STR(read_zip(archive, at + 22, &seen), "");
    CHECK_EQ(seen.taken, TOTAL_MAX / SIZE);
    CHECK_EQ(seen.left, TIMES - TOTAL_MAX / SIZE);
    free(zeros);
    free(packed);
    free(archive);
}
