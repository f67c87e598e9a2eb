// SPDX-License-Identifier: Apache-2.0
/* Mach-O header, load commands, segments and sections, and vaddr -> bytes. Invariant after
 * opening: command_count commands are inside the view, each segment's section headers are inside
 * its command, and first_section + section_count of the last segment is section_count. Context:
 * handler. */
#include "image_macho.h"

#include "base_math.h"
#include "base_mem.h"
#include "base_status.h"

enum { NAME_BYTES = 16 };

static uint64_t read_word(struct sonde__bytes *b, bool is64)
{
    return is64 ? sonde__base_bytes_u64(b) : sonde__base_bytes_u32(b);
}

static void note_damage(struct sonde__macho *macho, const char *what, uint64_t at)
{
    if (macho->damage == NULL) {
        macho->damage = what;
        macho->damage_at = at;
    }
}

static void read_name(struct sonde__bytes *b, char *to)
{
    const uint8_t *name = sonde__base_bytes_take(b, NAME_BYTES);
    sonde__base_mem_set(to, 0, NAME_BYTES + 1);
    for (unsigned i = 0; name != NULL && i < NAME_BYTES && name[i] != 0; i++) {
        to[i] = (char)name[i];
    }
}

/* --- load commands --- */

/* Read the body of an LC_SEGMENT or LC_SEGMENT_64 (its width may differ from the file's). */
static void read_segment(struct sonde__macho *macho, struct sonde__bytes b, bool is64)
{
    struct sonde__macho_segment *s = &macho->segments[macho->segment_count];
    uint32_t entry = is64 ? SONDE__MACHO_SECTION64_BYTES : SONDE__MACHO_SECTION32_BYTES;
    uint64_t fit;
    if (is64 != macho->is64 || macho->segment_count == SONDE__MACHO_SEGMENTS_MAX) {
        note_damage(macho,
                    is64 != macho->is64 ? "a segment of another word size"
                                        : "more segments than are read",
                    sonde__base_bytes_offset(&b));
        return;
    }
    read_name(&b, s->name);
    s->vaddr = read_word(&b, is64);
    s->vmsize = read_word(&b, is64);
    s->offset = read_word(&b, is64);
    s->filesize = read_word(&b, is64);
    (void)sonde__base_bytes_u32(&b); /* maxprot */
    s->protection = sonde__base_bytes_u32(&b);
    s->section_count = sonde__base_bytes_u32(&b);
    (void)sonde__base_bytes_u32(&b); /* flags */
    if (b.failed) {
        note_damage(macho, "a segment's command is cut", sonde__base_bytes_offset(&b));
        return;
    }
    fit = sonde__base_bytes_left(&b) / entry;
    if (s->section_count > fit) {
        note_damage(macho, "section headers lie past their command", sonde__base_bytes_offset(&b));
        s->section_count = (uint32_t)fit;
    }
    s->sections_at = (uint64_t)(b.at - macho->file.begin);
    s->first_section = macho->section_count;
    macho->section_count += s->section_count;
    macho->segment_count++;
}

static struct sonde__macho_part read_part(struct sonde__bytes *b)
{
    struct sonde__macho_part part;
    part.offset = sonde__base_bytes_u32(b);
    part.size = sonde__base_bytes_u32(b);
    return b->failed ? (struct sonde__macho_part){0, 0} : part;
}

static void read_encryption(struct sonde__macho *macho, struct sonde__bytes *b)
{
    struct sonde__macho_part part = read_part(b);
    if (sonde__base_bytes_u32(b) != 0 && !b->failed) { /* cryptid 0: not encrypted (any more) */
        macho->encrypted = part;
    }
}

static void read_dynamic_symbols(struct sonde__macho *macho, struct sonde__bytes *b)
{
    /* twelve words before: local, external and undefined symbols, contents, modules, references */
    (void)sonde__base_bytes_take(b, 48);
    macho->indirect_at = sonde__base_bytes_u32(b);
    uint32_t count = sonde__base_bytes_u32(b);
    uint64_t size = (uint64_t)(macho->file.end - macho->file.begin);
    /* the file's size bounds what goes through the table */
    uint64_t room = macho->indirect_at < size ? (size - macho->indirect_at) / 4 : 0;
    macho->indirect_count = b->failed ? 0 : (uint32_t)sonde__base_min(count, room);
}

static void read_command(struct sonde__macho *macho, uint32_t command, struct sonde__bytes b)
{
    const uint8_t *uuid;
    switch (command) {
    case SONDE__LC_SEGMENT:
    case SONDE__LC_SEGMENT_64:
        read_segment(macho, b, command == SONDE__LC_SEGMENT_64);
        break;
    case SONDE__LC_UUID:
        uuid = sonde__base_bytes_take(&b, SONDE__MACHO_UUID_BYTES);
        if (uuid != NULL) {
            macho->uuid.size = SONDE__MACHO_UUID_BYTES;
            sonde__base_mem_copy(macho->uuid.bytes, uuid, SONDE__MACHO_UUID_BYTES);
        }
        break;
    case SONDE__LC_SYMTAB:
        macho->symbols_at = sonde__base_bytes_u32(&b);
        macho->symbol_count = sonde__base_bytes_u32(&b);
        macho->strings_at = sonde__base_bytes_u32(&b);
        macho->strings_size = sonde__base_bytes_u32(&b);
        break;
    case SONDE__LC_DYSYMTAB:
        read_dynamic_symbols(macho, &b);
        break;
    case SONDE__LC_FUNCTION_STARTS:
        macho->starts = read_part(&b);
        break;
    case SONDE__LC_DATA_IN_CODE:
        macho->data_in_code = read_part(&b);
        break;
    case SONDE__LC_DYLD_EXPORTS_TRIE:
        macho->exports = read_part(&b);
        break;
    case SONDE__LC_DYLD_CHAINED_FIXUPS:
        macho->chains = read_part(&b);
        break;
    case SONDE__LC_DYLD_INFO:
    case SONDE__LC_DYLD_INFO_ONLY:
        macho->rebases = read_part(&b);
        macho->binds = read_part(&b);
        macho->weak_binds = read_part(&b);
        macho->lazy_binds = read_part(&b);
        if (macho->exports.size == 0) {
            macho->exports = read_part(&b);
        }
        break;
    case SONDE__LC_ENCRYPTION_INFO:
    case SONDE__LC_ENCRYPTION_INFO_64:
        read_encryption(macho, &b);
        break;
    default:
        break;
    }
}

/* Read the body of the command at the cursor, and move the cursor behind it. False: no more. */
static bool next_command(struct sonde__bytes *at, uint32_t *ret_command,
                         struct sonde__bytes *ret_body)
{
    uint64_t begin = sonde__base_bytes_offset(at);
    uint32_t command = sonde__base_bytes_u32(at);
    uint32_t size = sonde__base_bytes_u32(at);
    if (at->failed || size < 8 || size - 8 > sonde__base_bytes_left(at)) {
        return false;
    }
    sonde__base_bytes_init(ret_body, at->at, size - 8);
    *ret_command = command;
    return sonde__base_bytes_seek(at, begin + size);
}

static void read_commands(struct sonde__macho *macho, uint32_t count, uint64_t size)
{
    struct sonde__bytes at;
    uint64_t left = (uint64_t)(macho->file.end - macho->file.begin) - macho->commands_at;
    if (size > left) {
        note_damage(macho, "load commands lie past the end", macho->commands_at);
        size = left;
    }
    at = sonde__base_bytes_part(&macho->file, 0, macho->commands_at + size);
    (void)sonde__base_bytes_seek(&at, macho->commands_at);
    for (uint32_t i = 0; i < count; i++) {
        struct sonde__bytes body;
        uint32_t command;
        uint64_t begin = sonde__base_bytes_offset(&at);
        if (!next_command(&at, &command, &body)) {
            note_damage(macho, "a load command is malformed; what follows it is not read", begin);
            return;
        }
        read_command(macho, command, body);
        macho->command_count++;
    }
}

static void find_base(struct sonde__macho *macho)
{
    for (uint32_t i = 0; i < macho->segment_count; i++) {
        if (sonde__base_str_compare(macho->segments[i].name, "__TEXT") == 0) {
            macho->base = macho->segments[i].vaddr;
            return;
        }
    }
}

enum sonde_status sonde__macho_open(const void *data, size_t size, struct sonde__macho *ret_macho,
                                    struct sonde_error *ret_error)
{
    struct sonde__macho *macho = ret_macho;
    struct sonde__bytes b;
    uint32_t magic, count, commands_size;
    sonde__base_bytes_init(&b, data, size);
    magic = sonde__base_bytes_u32(&b);
    if (magic == SONDE__MH_CIGAM || magic == SONDE__MH_CIGAM_64) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "big-endian Mach-O", NULL, 0, 0);
    }
    if (magic != SONDE__MH_MAGIC && magic != SONDE__MH_MAGIC_64) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "not a Mach-O", NULL, 0, 0);
    }
    sonde__base_mem_set(macho, 0, sizeof *macho);
    macho->is64 = magic == SONDE__MH_MAGIC_64;
    sonde__base_bytes_init(&macho->file, data, size);
    macho->cpu = sonde__base_bytes_u32(&b);
    macho->arch = macho->cpu == SONDE__CPU_X86_64  ? SONDE_ARCH_X86_64
                  : macho->cpu == SONDE__CPU_ARM64 ? SONDE_ARCH_AARCH64
                                                   : SONDE_ARCH_OTHER;
    macho->subtype = sonde__base_bytes_u32(&b) & SONDE__CPU_SUBTYPE_MASK;
    macho->type = sonde__base_bytes_u32(&b);
    count = sonde__base_bytes_u32(&b);
    commands_size = sonde__base_bytes_u32(&b);
    macho->commands_at = macho->is64 ? SONDE__MACHO_HEADER64_BYTES : SONDE__MACHO_HEADER32_BYTES;
    if (size < macho->commands_at) {
        return sonde__base_fail(ret_error, SONDE_CORRUPT, "Mach-O header cut short", NULL, 0, size);
    }
    read_commands(macho, count, commands_size);
    find_base(macho);
    return SONDE_OK;
}

/* --- sections --- */

static bool overlaps(const struct sonde__macho_part *part, uint64_t offset, uint64_t size)
{
    return part->size != 0 && offset < (uint64_t)part->offset + part->size &&
           part->offset < offset + size;
}

static const uint8_t *section_data(const struct sonde__macho *macho,
                                   const struct sonde__macho_segment *segment, uint32_t offset,
                                   const struct sonde__macho_section *section)
{
    uint32_t kind = section->flags & SONDE__S_TYPE;
    struct sonde__bytes part;
    if (kind == SONDE__S_ZEROFILL || kind == SONDE__S_GB_ZEROFILL ||
        kind == SONDE__S_THREAD_LOCAL_ZEROFILL || segment->filesize == 0 || offset == 0) {
        return NULL; /* dSYM files list the image's sections without their bytes */
    }
    if (overlaps(&macho->encrypted, offset, section->size)) {
        return NULL;
    }
    part = sonde__base_bytes_part(&macho->file, offset, section->size);
    return part.failed ? NULL : part.begin;
}

bool sonde__macho_section(const struct sonde__macho *macho, uint32_t index,
                          struct sonde__macho_section *ret_section)
{
    uint32_t entry = macho->is64 ? SONDE__MACHO_SECTION64_BYTES : SONDE__MACHO_SECTION32_BYTES;
    for (uint32_t i = 0; i < macho->segment_count; i++) {
        const struct sonde__macho_segment *segment = &macho->segments[i];
        struct sonde__bytes b = macho->file;
        uint32_t offset;
        if (index < segment->first_section ||
            index - segment->first_section >= segment->section_count) {
            continue;
        }
        (void)sonde__base_bytes_seek(&b, segment->sections_at +
                                             (uint64_t)(index - segment->first_section) * entry);
        read_name(&b, ret_section->name);
        read_name(&b, ret_section->segment);
        ret_section->vaddr = read_word(&b, macho->is64);
        ret_section->size = read_word(&b, macho->is64);
        offset = sonde__base_bytes_u32(&b);
        (void)sonde__base_bytes_u32(&b); /* alignment */
        ret_section->relocs_at = sonde__base_bytes_u32(&b);
        ret_section->reloc_count = sonde__base_bytes_u32(&b);
        ret_section->flags = sonde__base_bytes_u32(&b);
        ret_section->reserved1 = sonde__base_bytes_u32(&b);
        ret_section->reserved2 = sonde__base_bytes_u32(&b);
        ret_section->data = section_data(macho, segment, offset, ret_section);
        return !b.failed;
    }
    return false;
}

static bool same_name(const char *stored, const char *name)
{
    for (unsigned i = 0; i < NAME_BYTES; i++) {
        if (stored[i] != name[i]) {
            return false;
        }
        if (name[i] == '\0') {
            return true;
        }
    }
    return true;
}

bool sonde__macho_section_by_name(const struct sonde__macho *macho, const char *segment,
                                  const char *name, struct sonde__macho_section *ret_section)
{
    struct sonde__macho_section section;
    bool found = false;
    for (uint32_t i = 0; i < macho->section_count; i++) {
        if (sonde__macho_section(macho, i, &section) && same_name(section.segment, segment) &&
            same_name(section.name, name) && (!found || section.data != NULL)) {
            *ret_section = section;
            found = true;
            if (section.data != NULL) {
                break;
            }
        }
    }
    return found;
}

bool sonde__macho_text_range(const struct sonde__macho *macho, uint64_t *ret_start,
                             uint64_t *ret_end)
{
    uint64_t start = UINT64_MAX, end = 0;
    bool object = macho->type == SONDE__MH_OBJECT; /* one segment with all protections */
    for (uint32_t i = 0; i < macho->segment_count; i++) {
        const struct sonde__macho_segment *s = &macho->segments[i];
        bool header = sonde__base_str_compare(s->name, "__TEXT") == 0;
        if ((!object && !header && (s->protection & SONDE__VM_PROT_EXECUTE) == 0) ||
            s->vmsize == 0 || s->vaddr > UINT64_MAX - s->vmsize) {
            continue;
        }
        start = s->vaddr < start ? s->vaddr : start;
        end = s->vaddr + s->vmsize > end ? s->vaddr + s->vmsize : end;
    }
    if (start >= end) {
        return false;
    }
    *ret_start = start;
    *ret_end = end;
    return true;
}

const uint8_t *sonde__macho_from_vaddr(const struct sonde__macho *macho, uint64_t vaddr,
                                       uint64_t *ret_left)
{
    uint64_t size = (uint64_t)(macho->file.end - macho->file.begin);
    for (uint32_t i = 0; i < macho->segment_count; i++) {
        const struct sonde__macho_segment *s = &macho->segments[i];
        uint64_t inside = vaddr - s->vaddr;
        uint64_t left, offset;
        if (vaddr < s->vaddr || inside >= s->filesize || s->offset > size ||
            inside >= size - s->offset) {
            continue;
        }
        offset = s->offset + inside;
        left = s->filesize - inside;
        left = left < size - offset ? left : size - offset;
        if (overlaps(&macho->encrypted, offset, 1)) {
            return NULL;
        }
        if (macho->encrypted.size != 0 && offset < macho->encrypted.offset &&
            left > macho->encrypted.offset - offset) {
            left = macho->encrypted.offset - offset;
        }
        *ret_left = left;
        return macho->file.begin + offset;
    }
    return NULL;
}

const uint8_t *sonde__macho_at_vaddr(const struct sonde__macho *macho, uint64_t vaddr,
                                     uint64_t size)
{
    uint64_t left = 0;
    const uint8_t *data = sonde__macho_from_vaddr(macho, vaddr, &left);
    return data != NULL && size <= left ? data : NULL;
}
