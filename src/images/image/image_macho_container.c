// SPDX-License-Identifier: Apache-2.0
/* Universal ("fat") files and static archives of Mach-O. Context: handler.
 *
 * A universal file's header is always big-endian (fat.h). An archive is a sequence of members
 * with headers of 60 text bytes (ar.h). BSD puts a long name before the member's data
 * ("#1/LENGTH"), GNU into a member of its own ("/OFFSET" into "//"). */
#include "base_mem.h"
#include "base_status.h"
#include "image_macho.h"

/* Real files have up to five slices. Java's class files begin with the same four bytes, and
 * their next four read as a count of 45 or more. */
#define SLICES_MAX 30u

enum { MAGIC_BYTES = 8, HEADER_BYTES = 60, NAME_BYTES = 16, SIZE_AT = 48, SIZE_DIGITS = 10 };

typedef bool member_callback(void *ctx, const struct sonde__macho_member *member);

struct walk {
    member_callback *each;
    void *ctx;
    struct sonde_error *error;
    uint32_t cpu, subtype;
    bool any; /* members of all kinds */
    bool stopped;
};

static uint32_t first_word(const uint8_t *data, size_t size, bool big_endian)
{
    struct sonde__bytes b;
    sonde__base_bytes_init(&b, data, size);
    b.big_endian = big_endian;
    return sonde__base_bytes_u32(&b);
}

static bool is_thin(const uint8_t *data, size_t size)
{
    uint32_t magic = first_word(data, size, false);
    return magic == SONDE__MH_MAGIC || magic == SONDE__MH_MAGIC_64 || magic == SONDE__MH_CIGAM ||
           magic == SONDE__MH_CIGAM_64;
}

static bool is_fat(const uint8_t *data, size_t size)
{
    uint32_t magic = first_word(data, size, true);
    return (magic == SONDE__FAT_MAGIC || magic == SONDE__FAT_MAGIC_64) && size >= 8 &&
           first_word(data + 4, size - 4, true) <= SLICES_MAX;
}

static bool is_archive(const uint8_t *data, size_t size)
{
    return size >= MAGIC_BYTES && sonde__base_mem_compare(data, "!<arch>\n", MAGIC_BYTES) == 0;
}

static bool is_thin_archive(const uint8_t *data, size_t size)
{
    return size >= MAGIC_BYTES && sonde__base_mem_compare(data, "!<thin>\n", MAGIC_BYTES) == 0;
}

bool sonde__macho_begins(const void *data, size_t size)
{
    return is_thin(data, size) || is_fat(data, size) || is_archive(data, size);
}

static void give(struct walk *walk, struct sonde__macho_member *member)
{
    member->cpu = walk->cpu;
    member->subtype = walk->subtype;
    walk->stopped = !walk->each(walk->ctx, member);
}

/* --- archives --- */

/* Read decimal digits, padded with spaces at the end. False: none, or too many. */
static bool read_decimal(const uint8_t *text, size_t size, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t i = 0;
    while (i < size && text[i] >= '0' && text[i] <= '9' && i < 18) {
        value = value * 10 + (uint64_t)(text[i++] - '0');
    }
    *ret_value = value;
    return i > 0 && (i == size || text[i] == ' ');
}

struct archive {
    const uint8_t *names; /* GNU's member of long names, or null */
    size_t names_size;
};

/* Find the member's name; BSD's is removed from the front of its data. False: malformed. */
static bool read_name(const struct archive *archive, const uint8_t *header,
                      struct sonde__macho_member *member)
{
    uint64_t number;
    size_t size = 0;
    member->name = (const char *)header;
    if (header[0] == '#' && header[1] == '1' && header[2] == '/') {
        if (!read_decimal(header + 3, NAME_BYTES - 3, &number) || number > member->size) {
            return false;
        }
        member->name = (const char *)member->data;
        member->data += number;
        member->size -= (size_t)number;
        while (size < number && member->name[size] != '\0') {
            size++;
        }
    } else if (header[0] == '/' && read_decimal(header + 1, NAME_BYTES - 1, &number)) {
        if (archive->names == NULL || number >= archive->names_size) {
            return false;
        }
        member->name = (const char *)archive->names + number;
        while (number + size < archive->names_size && member->name[size] != '/' &&
               member->name[size] != '\n') {
            size++;
        }
    } else {
        while (size < NAME_BYTES && header[size] != ' ' && (header[size] != '/' || size == 0)) {
            size++;
        }
    }
    member->name_size = size;
    return true;
}

static enum sonde_status walk_archive(struct walk *walk, const uint8_t *data, size_t size)
{
    struct archive archive = {0};
    struct sonde__bytes b;
    sonde__base_bytes_init(&b, data, size);
    (void)sonde__base_bytes_seek(&b, MAGIC_BYTES);
    while (!walk->stopped && sonde__base_bytes_left(&b) > 1) {
        struct sonde__macho_member member = {0};
        uint64_t at = sonde__base_bytes_offset(&b);
        const uint8_t *header = sonde__base_bytes_take(&b, HEADER_BYTES);
        uint64_t bytes;
        if (header == NULL || header[58] != '`' || header[59] != '\n' ||
            !read_decimal(header + SIZE_AT, SIZE_DIGITS, &bytes)) {
            return sonde__base_fail(walk->error, SONDE_CORRUPT, "malformed archive", NULL, 0, at);
        }
        member.data = sonde__base_bytes_take(&b, bytes);
        if (member.data == NULL) {
            return sonde__base_fail(walk->error, SONDE_CORRUPT, "archive cut short", NULL, 0, at);
        }
        member.size = (size_t)bytes;
        if (header[0] == '/' && header[1] == '/') {
            archive.names = member.data;
            archive.names_size = member.size;
        } else if (!read_name(&archive, header, &member)) {
            return sonde__base_fail(walk->error, SONDE_CORRUPT, "malformed archive", NULL, 0, at);
        } else if (walk->any || is_thin(member.data, member.size)) {
            give(walk, &member);
        }
        if ((sonde__base_bytes_offset(&b) & 1) != 0) { /* members begin at even places */
            (void)sonde__base_bytes_u8(&b);
        }
    }
    return SONDE_OK;
}

/* --- universal files --- */

static enum sonde_status walk_one(struct walk *walk, const uint8_t *data, size_t size)
{
    struct sonde__macho_member member = {.data = data, .size = size};
    if (is_archive(data, size)) {
        return walk_archive(walk, data, size);
    }
    if (is_thin(data, size)) {
        give(walk, &member);
    }
    return SONDE_OK;
}

static enum sonde_status walk_fat(struct walk *walk, const uint8_t *data, size_t size)
{
    struct sonde__bytes b;
    uint32_t count;
    bool wide;
    sonde__base_bytes_init(&b, data, size);
    b.big_endian = true;
    wide = sonde__base_bytes_u32(&b) == SONDE__FAT_MAGIC_64;
    count = sonde__base_bytes_u32(&b);
    for (uint32_t i = 0; i < count && !walk->stopped; i++) {
        struct sonde__bytes part;
        uint64_t at = sonde__base_bytes_offset(&b);
        uint64_t offset, bytes;
        walk->cpu = sonde__base_bytes_u32(&b);
        walk->subtype = sonde__base_bytes_u32(&b) & SONDE__CPU_SUBTYPE_MASK;
        offset = sonde__base_bytes_uint(&b, wide ? 8 : 4);
        bytes = sonde__base_bytes_uint(&b, wide ? 8 : 4);
        (void)sonde__base_bytes_uint(&b, wide ? 8 : 4); /* alignment, reserved */
        part = sonde__base_bytes_part(&b, offset, bytes);
        if (b.failed || part.failed) {
            return sonde__base_fail(walk->error, SONDE_CORRUPT,
                                    "a slice of the universal file lies past its end", NULL, 0, at);
        }
        SONDE_TRY(walk_one(walk, part.begin, (size_t)bytes));
    }
    return SONDE_OK;
}

enum sonde_status sonde__macho_each(const void *data, size_t size, member_callback *each, void *ctx,
                                    struct sonde_error *ret_error)
{
    struct walk walk = {.each = each, .ctx = ctx, .error = ret_error};
    if (is_fat(data, size)) {
        return walk_fat(&walk, data, size);
    }
    if (is_thin(data, size) || is_archive(data, size)) {
        return walk_one(&walk, data, size);
    }
    return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                            is_thin_archive(data, size)
                                ? "a thin archive: its members are other files"
                                : "neither a Mach-O nor an archive",
                            NULL, 0, 0);
}

bool sonde__archive_begins(const void *data, size_t size)
{
    return is_archive(data, size);
}

enum sonde_status sonde__archive_each(const void *data, size_t size, member_callback *each,
                                      void *ctx, struct sonde_error *ret_error)
{
    struct walk walk = {.each = each, .ctx = ctx, .error = ret_error, .any = true};
    return walk_archive(&walk, data, size);
}

/* --- machines --- */

const char *sonde__macho_arch_name(uint32_t cpu, uint32_t subtype)
{
    static const struct {
        uint32_t cpu, subtype;
        const char *name;
    } known[] = {
        {SONDE__CPU_ARM64, 2, "arm64e"},
        {SONDE__CPU_ARM64, UINT32_MAX, "arm64"},
        {SONDE__CPU_X86_64, 8, "x86_64h"},
        {SONDE__CPU_X86_64, UINT32_MAX, "x86_64"},
        {SONDE__CPU_ARM64_32, UINT32_MAX, "arm64_32"},
        {SONDE__CPU_ARM, 6, "armv6"},
        {SONDE__CPU_ARM, 9, "armv7"},
        {SONDE__CPU_ARM, 11, "armv7s"},
        {SONDE__CPU_ARM, 12, "armv7k"},
        {SONDE__CPU_ARM, UINT32_MAX, "arm"},
        {SONDE__CPU_X86, UINT32_MAX, "i386"},
    };
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].cpu == cpu &&
            (known[i].subtype == UINT32_MAX || known[i].subtype == subtype)) {
            return known[i].name;
        }
    }
    return "another machine";
}
