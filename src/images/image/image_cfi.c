// SPDX-License-Identifier: Apache-2.0
#include "image_cfi.h"

#include "base_bytes.h"
#include "base_search.h"

/* DW_EH_PE_*: LSB 5 Core §10.5.1. The low four bits are the format, the others the base. */
enum {
    PE_ABSPTR = 0x00,
    PE_ULEB = 0x01,
    PE_UDATA2 = 0x02,
    PE_UDATA4 = 0x03,
    PE_UDATA8 = 0x04,
    PE_SLEB = 0x09,
    PE_SDATA2 = 0x0a,
    PE_SDATA4 = 0x0b,
    PE_SDATA8 = 0x0c,
    PE_PCREL = 0x10,
    PE_TEXTREL = 0x20,
    PE_DATAREL = 0x30,
    PE_INDIRECT = 0x80,
    PE_OMIT = 0xff,
    PE_FORMAT_MASK = 0x0f,
    PE_RELATIVE_MASK = 0x70,
};

/* The longest augmentation string of any known producer is "zPLRBS". The limit keeps records
 * with a megabyte of it from making every FDE expensive. */
#define AUGMENTATION_MAX 16

/* Limit of records in a scan without a search table: a section of 30 MB. */
#define SCAN_RECORDS_MAX (1u << 20)

/* Limit of entries of empty FDEs in the search table right before the one sought. */
#define EMPTY_ENTRIES_MAX 16

struct section_view {
    const uint8_t *data;
    size_t size;
    uint64_t vaddr;
    bool is_eh;
};

static struct section_view view_section(const struct sonde__cfi *cfi,
                                        enum sonde__cfi_section section)
{
    if (section == SONDE__CFI_EH_FRAME) {
        return (struct section_view){cfi->eh_frame, cfi->eh_frame != NULL ? cfi->eh_frame_size : 0,
                                     cfi->eh_frame_vaddr, true};
    }
    return (struct section_view){cfi->debug_frame,
                                 cfi->debug_frame != NULL ? cfi->debug_frame_size : 0, 0, false};
}

static uint8_t address_size_of(unsigned arch)
{
    (void)arch; /* both architectures that sonde knows have 64-bit pointers */
    return 8;
}

/* Read a value of a format. False: unknown format, or cut off. */
static bool read_format(struct sonde__bytes *cursor, uint8_t format, uint8_t address_size,
                        uint64_t *ret_value)
{
    switch (format) {
    case PE_ABSPTR:
        *ret_value = sonde__base_bytes_uint(cursor, address_size);
        break;
    case PE_ULEB:
        *ret_value = sonde__base_bytes_uleb(cursor);
        break;
    case PE_UDATA2:
        *ret_value = sonde__base_bytes_u16(cursor);
        break;
    case PE_UDATA4:
        *ret_value = sonde__base_bytes_u32(cursor);
        break;
    case PE_UDATA8:
    case PE_SDATA8:
        *ret_value = sonde__base_bytes_u64(cursor);
        break;
    case PE_SLEB:
        *ret_value = (uint64_t)sonde__base_bytes_sleb(cursor);
        break;
    case PE_SDATA2:
        *ret_value = (uint64_t)(int64_t)(int16_t)sonde__base_bytes_u16(cursor);
        break;
    case PE_SDATA4:
        *ret_value = (uint64_t)(int64_t)(int32_t)sonde__base_bytes_u32(cursor);
        break;
    default:
        return false;
    }
    return !cursor->failed;
}

bool sonde__cfi_pointer_read(const struct sonde__cfi *cfi, enum sonde__cfi_section section,
                             struct sonde__bytes *cursor, uint8_t encoding, uint8_t address_size,
                             uint64_t *ret_vaddr, bool *ret_null)
{
    const struct section_view view = view_section(cfi, section);
    uint64_t base = 0;
    uint64_t value = 0;
    if (encoding == PE_OMIT || (encoding & PE_INDIRECT) != 0) {
        return false;
    }
    switch (encoding & PE_RELATIVE_MASK) {
    case 0:
        base = view.is_eh ? cfi->absolute_bias : 0; /* .debug_frame is never loaded */
        break;
    case PE_PCREL:
        base = view.vaddr + (uint64_t)(cursor->at - view.data);
        break;
    case PE_TEXTREL:
        base = cfi->text_vaddr;
        break;
    case PE_DATAREL:
        base = cfi->data_vaddr;
        break;
    default: /* funcrel and aligned: no producer uses these for code addresses */
        return false;
    }
    if (!read_format(cursor, encoding & PE_FORMAT_MASK, address_size, &value)) {
        return false;
    }
    if (ret_null != NULL) {
        *ret_null = value == 0;
    }
    *ret_vaddr = base + value;
    return true;
}

/* Read the augmentation data of a 'z' CIE, by the letters of the string. */
static bool read_augmentation(const struct sonde__cfi *cfi, enum sonde__cfi_section section,
                              struct sonde__bytes *cursor, const char *letters,
                              struct sonde__cfi_cie *cie)
{
    uint64_t size = sonde__base_bytes_uleb(cursor);
    uint64_t after = sonde__base_bytes_offset(cursor) + size;
    uint64_t ignored = 0;
    if (cursor->failed || size > sonde__base_bytes_left(cursor)) {
        return false;
    }
    cie->has_fde_data = true;
    for (const char *p = letters; *p != 0; p++) {
        if (*p == 'R') {
            cie->pointer_encoding = sonde__base_bytes_u8(cursor);
        } else if (*p == 'L') {
            (void)sonde__base_bytes_u8(cursor);
        } else if (*p == 'S') {
            cie->is_signal_frame = true;
        } else if (*p == 'P') {
            /* the personality is often indirect; only its size matters here */
            uint8_t encoding = sonde__base_bytes_u8(cursor);
            if (encoding != PE_OMIT &&
                !sonde__cfi_pointer_read(cfi, section, cursor, encoding & (uint8_t)~PE_INDIRECT,
                                         cie->address_size, &ignored, NULL)) {
                return false;
            }
        } else if (*p != 'B' && *p != 'G') {
            break; /* unknown letter: the length skips its data */
        }
    }
    return sonde__base_bytes_seek(cursor, after);
}

/* Read the 32 or 64-bit length of the record at the cursor, and limit the cursor to the record.
 * False: terminator, or no whole record. */
static bool open_record(struct sonde__bytes *cursor, bool *ret_is64)
{
    uint64_t size = 0;
    if (sonde__base_bytes_left(cursor) < 4) {
        return false;
    }
    size = sonde__base_bytes_u32(cursor);
    *ret_is64 = size == 0xffffffff;
    if (*ret_is64) {
        size = sonde__base_bytes_u64(cursor);
    }
    if (cursor->failed || size == 0 || size > sonde__base_bytes_left(cursor)) {
        return false;
    }
    cursor->end = cursor->at + size;
    return true;
}

static bool read_cie(const struct sonde__cfi *cfi, unsigned arch, enum sonde__cfi_section section,
                     uint64_t offset, struct sonde__cfi_cie *ret_cie)
{
    const struct section_view view = view_section(cfi, section);
    struct sonde__bytes cursor;
    struct sonde__cfi_cie cie = {.offset = offset, .address_size = address_size_of(arch)};
    bool is64 = false;
    sonde__base_bytes_init(&cursor, view.data, view.size);
    if (!sonde__base_bytes_seek(&cursor, offset) || !open_record(&cursor, &is64)) {
        return false;
    }
    uint64_t id = is64 ? sonde__base_bytes_u64(&cursor) : sonde__base_bytes_u32(&cursor);
    uint64_t id_of_cie = view.is_eh ? 0 : is64 ? UINT64_MAX : UINT32_MAX;
    uint8_t version = sonde__base_bytes_u8(&cursor);
    if (id != id_of_cie || (version != 1 && version != 3 && version != 4)) {
        return false;
    }
    const char *letters = sonde__base_bytes_string(&cursor);
    if (cursor.failed || cursor.at - (const uint8_t *)letters > AUGMENTATION_MAX) {
        return false;
    }
    if (version == 4) {
        cie.address_size = sonde__base_bytes_u8(&cursor);
        if (sonde__base_bytes_u8(&cursor) != 0 ||
            (cie.address_size != 4 && cie.address_size != 8)) {
            return false; /* segmented, or not one of our machines */
        }
    }
    if (letters[0] == 'e' && letters[1] == 'h') {
        (void)sonde__base_bytes_uint(&cursor, cie.address_size); /* gcc 2: exception table */
        letters += 2;
    }
    cie.code_align = sonde__base_bytes_uleb(&cursor);
    cie.data_align = sonde__base_bytes_sleb(&cursor);
    cie.return_reg = version == 1 ? sonde__base_bytes_u8(&cursor) : sonde__base_bytes_uleb(&cursor);
    if (letters[0] == 'z') {
        if (!read_augmentation(cfi, section, &cursor, letters + 1, &cie)) {
            return false;
        }
    } else if (letters[0] != 0) {
        return false; /* the end of the augmentation is unknown */
    }
    if (cursor.failed) {
        return false;
    }
    cie.program = cursor.at;
    cie.program_size = sonde__base_bytes_left(&cursor);
    *ret_cie = cie;
    return true;
}

/* Read the rest of an FDE behind its CIE pointer. False: malformed, or without code. */
static bool read_fde(const struct sonde__cfi *cfi, struct sonde__bytes *cursor,
                     struct sonde__cfi_fde *fde)
{
    const struct sonde__cfi_cie *cie = &fde->cie;
    uint64_t size = 0;
    bool null = false;
    if (!sonde__cfi_pointer_read(cfi, fde->section, cursor, cie->pointer_encoding,
                                 cie->address_size, &fde->start, &null) ||
        !read_format(cursor, cie->pointer_encoding & PE_FORMAT_MASK, cie->address_size, &size)) {
        return false;
    }
    /* A stored pc-relative zero marks a function that the linker dropped. */
    if (size == 0 || fde->start + size < fde->start ||
        (null && (cie->pointer_encoding & PE_RELATIVE_MASK) == PE_PCREL)) {
        return false;
    }
    fde->end = fde->start + size;
    if (cie->has_fde_data) {
        (void)sonde__base_bytes_take(cursor, sonde__base_bytes_uleb(cursor));
    }
    if (cursor->failed) {
        return false;
    }
    fde->program = cursor->at;
    fde->program_size = sonde__base_bytes_left(cursor);
    return true;
}

enum sonde__cfi_record sonde__cfi_record_read(const struct sonde__cfi *cfi, unsigned arch,
                                              enum sonde__cfi_section section, uint64_t offset,
                                              struct sonde__cfi_fde *ret_fde, uint64_t *ret_next)
{
    struct section_view view = view_section(cfi, section);
    struct sonde__bytes cursor;
    bool is64 = false;
    if (view.data == NULL) {
        return SONDE__CFI_RECORD_END;
    }
    sonde__base_bytes_init(&cursor, view.data, view.size);
    if (!sonde__base_bytes_seek(&cursor, offset) || !open_record(&cursor, &is64)) {
        return SONDE__CFI_RECORD_END;
    }
    *ret_next = (uint64_t)(cursor.end - cursor.begin);
    uint64_t id_at = sonde__base_bytes_offset(&cursor);
    uint64_t id = is64 ? sonde__base_bytes_u64(&cursor) : sonde__base_bytes_u32(&cursor);
    uint64_t cie_offset = view.is_eh ? id_at - id : id;
    bool is_cie = id == (view.is_eh ? 0 : is64 ? UINT64_MAX : UINT32_MAX);
    if (cursor.failed || is_cie || cie_offset >= view.size) {
        return SONDE__CFI_RECORD_OTHER;
    }
    bool same_cie = ret_fde->cie.program != NULL && ret_fde->cie.offset == cie_offset &&
                    ret_fde->section == section;
    if (!same_cie && !read_cie(cfi, arch, section, cie_offset, &ret_fde->cie)) {
        ret_fde->cie.program = NULL;
        return SONDE__CFI_RECORD_OTHER;
    }
    ret_fde->section = section;
    ret_fde->offset = offset;
    return read_fde(cfi, &cursor, ret_fde) ? SONDE__CFI_RECORD_FDE : SONDE__CFI_RECORD_OTHER;
}

/* Offsets in a short FDE, in bytes. */
enum { SHORT_CIE = 4, SHORT_START = 8, SHORT_SIZE = 12, SHORT_REST = 16 };

bool sonde__cfi_fde_cie(const struct sonde__cfi *cfi, uint64_t offset, uint64_t *ret_cie_offset)
{
    size_t size = cfi->eh_frame_size;
    if (cfi->eh_frame == NULL || offset >= size || size - offset < SHORT_REST) {
        return false;
    }
    const uint8_t *record = cfi->eh_frame + offset;
    uint64_t length = sonde__base_le32(record);
    uint64_t distance = sonde__base_le32(record + SHORT_CIE);
    *ret_cie_offset = offset + SHORT_CIE - distance;
    return length >= SHORT_REST - SHORT_CIE && length <= size - offset - SHORT_CIE &&
           distance != 0 && distance <= offset + SHORT_CIE;
}

bool sonde__cfi_fde_read_short(const struct sonde__cfi *cfi, const struct sonde__cfi_cie *cie,
                               uint64_t offset, struct sonde__cfi_fde *fde)
{
    const uint8_t *record = cfi->eh_frame + offset;
    const uint8_t *end = record + SHORT_CIE + sonde__base_le32(record);
    const uint8_t *program = record + SHORT_REST;
    uint32_t start = sonde__base_le32(record + SHORT_START);
    uint32_t size = sonde__base_le32(record + SHORT_SIZE);
    if (cie->pointer_encoding != (PE_PCREL | PE_SDATA4) || start == 0 || size == 0 ||
        size > INT32_MAX) {
        return false;
    }
    fde->start = cfi->eh_frame_vaddr + offset + SHORT_START + (uint64_t)(int64_t)(int32_t)start;
    fde->end = fde->start + size;
    if (cie->has_fde_data) {
        if (program == end || *program >= 0x80 || *program >= end - program) {
            return false; /* longer than one byte, or not inside */
        }
        program += 1 + *program;
    }
    fde->section = SONDE__CFI_EH_FRAME;
    fde->offset = offset;
    fde->program = program;
    fde->program_size = (size_t)(end - program);
    return fde->end > fde->start;
}

bool sonde__cfi_search_open(const struct sonde__cfi *cfi, struct sonde__cfi_search *ret_search)
{
    struct sonde__bytes cursor;
    uint64_t ignored = 0;
    uint64_t count = 0;
    if (cfi->eh_frame == NULL || cfi->eh_frame_hdr == NULL || cfi->eh_frame_hdr_size < 4) {
        return false;
    }
    sonde__base_bytes_init(&cursor, cfi->eh_frame_hdr, cfi->eh_frame_hdr_size);
    uint8_t version = sonde__base_bytes_u8(&cursor);
    uint8_t frame_encoding = sonde__base_bytes_u8(&cursor);
    uint8_t count_encoding = sonde__base_bytes_u8(&cursor);
    uint8_t table_encoding = sonde__base_bytes_u8(&cursor);
    if (version != 1 || table_encoding != (PE_DATAREL | PE_SDATA4) ||
        (count_encoding & PE_RELATIVE_MASK) != 0 || count_encoding == PE_OMIT) {
        return false;
    }
    if (!sonde__cfi_pointer_read(cfi, SONDE__CFI_EH_FRAME, &cursor, frame_encoding, 8, &ignored,
                                 NULL) ||
        !read_format(&cursor, count_encoding & PE_FORMAT_MASK, 8, &count)) {
        return false;
    }
    if (count == 0 || count > UINT32_MAX || count > sonde__base_bytes_left(&cursor) / 8) {
        return false;
    }
    ret_search->entries = cursor.at;
    ret_search->count = (uint32_t)count;
    return true;
}

/* Read half of an entry, bytewise: only by convention are tables 4-byte aligned. */
static uint64_t entry_word(const struct sonde__cfi *cfi, const uint8_t *p)
{
    uint32_t word = sonde__base_le32(p);
    return cfi->eh_frame_hdr_vaddr + (uint64_t)(int64_t)(int32_t)word;
}

void sonde__cfi_search_entry(const struct sonde__cfi *cfi, const struct sonde__cfi_search *search,
                             uint32_t index, uint64_t *ret_start, uint64_t *ret_offset)
{
    const uint8_t *entry = search->entries + (size_t)index * 8;
    *ret_start = entry_word(cfi, entry);
    *ret_offset = entry_word(cfi, entry + 4) - cfi->eh_frame_vaddr;
}

static bool find_by_search(const struct sonde__cfi *cfi, unsigned arch,
                           const struct sonde__cfi_search *search, uint64_t vaddr,
                           struct sonde__cfi_fde *ret_fde)
{
    struct sonde__cfi_fde fde;
    uint64_t offset = 0;
    uint64_t next = 0;
    /* entries below `after` start at or before vaddr */
    uint32_t after = SONDE__SEARCH(0, search->count, i,
                                   entry_word(cfi, search->entries + (size_t)i * 8) <= vaddr);
    fde.cie.program = NULL;
    for (uint32_t tries = 0; after > 0 && tries < EMPTY_ENTRIES_MAX; tries++) {
        uint64_t start = 0;
        after--;
        sonde__cfi_search_entry(cfi, search, after, &start, &offset);
        if (sonde__cfi_record_read(cfi, arch, SONDE__CFI_EH_FRAME, offset, &fde, &next) ==
            SONDE__CFI_RECORD_FDE) {
            if (vaddr < fde.start || vaddr >= fde.end) {
                return false;
            }
            *ret_fde = fde;
            return true;
        }
    }
    return false;
}

static bool find_by_scan(const struct sonde__cfi *cfi, unsigned arch,
                         enum sonde__cfi_section section, uint64_t vaddr,
                         struct sonde__cfi_fde *ret_fde)
{
    struct sonde__cfi_fde fde;
    uint64_t offset = 0;
    uint64_t best_start = 0;
    bool found = false;
    fde.cie.program = NULL;
    for (uint32_t i = 0; i < SCAN_RECORDS_MAX; i++) {
        uint64_t next = 0;
        enum sonde__cfi_record record =
            sonde__cfi_record_read(cfi, arch, section, offset, &fde, &next);
        if (record == SONDE__CFI_RECORD_END) {
            break;
        }
        if (record == SONDE__CFI_RECORD_FDE && fde.start <= vaddr &&
            (!found || fde.start >= best_start)) {
            found = true;
            best_start = fde.start;
            *ret_fde = fde;
        }
        offset = next;
    }
    return found && vaddr < ret_fde->end;
}

bool sonde__cfi_fde_find_in(const struct sonde__cfi *cfi, unsigned arch,
                            enum sonde__cfi_section section, uint64_t vaddr,
                            struct sonde__cfi_fde *ret_fde)
{
    struct sonde__cfi_search search;
    if (section == SONDE__CFI_EH_FRAME && sonde__cfi_search_open(cfi, &search)) {
        return find_by_search(cfi, arch, &search, vaddr, ret_fde);
    }
    return find_by_scan(cfi, arch, section, vaddr, ret_fde);
}

bool sonde__cfi_fde_find(const struct sonde__cfi *cfi, unsigned arch, uint64_t vaddr,
                         struct sonde__cfi_fde *ret_fde)
{
    return sonde__cfi_fde_find_in(cfi, arch, SONDE__CFI_EH_FRAME, vaddr, ret_fde) ||
           sonde__cfi_fde_find_in(cfi, arch, SONDE__CFI_DEBUG_FRAME, vaddr, ret_fde);
}

bool sonde__cfi_fde_bounds(const struct sonde__cfi *cfi, unsigned arch, uint64_t vaddr,
                           uint64_t *ret_start, uint64_t *ret_end)
{
    struct sonde__cfi_fde fde;
    if (!sonde__cfi_fde_find(cfi, arch, vaddr, &fde)) {
        return false;
    }
    *ret_start = fde.start;
    *ret_end = fde.end;
    return true;
}

void sonde__cfi_each_fde(const struct sonde__cfi *cfi, unsigned arch,
                         bool (*each)(void *ctx, uint64_t start, uint64_t end), void *ctx)
{
    static const enum sonde__cfi_section sections[] = {SONDE__CFI_EH_FRAME, SONDE__CFI_DEBUG_FRAME};
    for (unsigned i = 0; i < 2; i++) {
        struct sonde__cfi_fde fde;
        uint64_t offset = 0;
        fde.cie.program = NULL;
        for (;;) {
            uint64_t next = 0;
            enum sonde__cfi_record record =
                sonde__cfi_record_read(cfi, arch, sections[i], offset, &fde, &next);
            if (record == SONDE__CFI_RECORD_END) {
                break;
            }
            if (record == SONDE__CFI_RECORD_FDE && !each(ctx, fde.start, fde.end)) {
                return;
            }
            offset = next;
        }
    }
}
