// SPDX-License-Identifier: Apache-2.0
/* Reads headers, descriptors and boxes of __block variables. */
#include "block.h"

#include "arch_regs.h"
#include "base_bytes.h"
#include "base_status.h"

/* Bytes of text read at once. It divides the page size, so an aligned piece lies on one page. */
#define PIECE 64u

bool sonde__block_read_text(const struct sonde__block_memory *memory, uint64_t address,
                            char *buffer, size_t capacity, size_t *ret_length)
{
    size_t at = 0;
    while (at < capacity) {
        size_t piece = PIECE - (size_t)((address + at) % PIECE);
        if (piece > capacity - at) {
            piece = capacity - at;
        }
        if (!memory->read(memory->ctx, address + at, buffer + at, piece)) {
            return false;
        }
        for (size_t end = at + piece; at < end; at++) {
            if (buffer[at] == '\0') {
                *ret_length = at;
                return true;
            }
        }
    }
    return false;
}

static bool read_fields(const struct sonde__block_memory *memory, uint64_t address, uint8_t *buffer,
                        size_t size, struct sonde__bytes *ret_fields)
{
    if (!memory->read(memory->ctx, address, buffer, size)) {
        return false;
    }
    sonde__base_bytes_init(ret_fields, buffer, size);
    return true;
}

/* The next word, a pointer, with arm64e's signature stripped. */
static uint64_t pointer(const struct sonde__block_memory *memory, struct sonde__bytes *fields)
{
    return sonde__arch_strip_pac(memory->arch, sonde__base_bytes_u64(fields));
}

enum sonde_status sonde__block_literal_of(unsigned arch, uint64_t address, const uint64_t header[4],
                                          struct sonde__block_literal *ret_literal)
{
    struct sonde__block_literal literal = {.address = sonde__arch_strip_pac(arch, address),
                                           .isa = sonde__arch_strip_pac(arch, header[0]),
                                           .flags = (uint32_t)header[1],
                                           .reserved = (uint32_t)(header[1] >> 32),
                                           .invoke = sonde__arch_strip_pac(arch, header[2]),
                                           .descriptor = sonde__arch_strip_pac(arch, header[3])};
    if (literal.address == 0 || literal.address % 8 != 0 || literal.isa == 0 ||
        literal.invoke == 0 || literal.descriptor == 0) {
        return SONDE_CORRUPT;
    }
    *ret_literal = literal;
    return SONDE_OK;
}

enum sonde_status sonde__block_literal_read(const struct sonde__block_memory *memory,
                                            uint64_t address,
                                            struct sonde__block_literal *ret_literal)
{
    uint8_t buffer[SONDE__BLOCK_HEADER_BYTES];
    struct sonde__bytes fields;
    uint64_t header[4], place = sonde__arch_strip_pac(memory->arch, address);
    if (place == 0 || place % 8 != 0) {
        return SONDE_CORRUPT;
    }
    if (!read_fields(memory, place, buffer, sizeof buffer, &fields)) {
        return SONDE_UNREADABLE;
    }
    for (unsigned i = 0; i < 4; i++) {
        header[i] = sonde__base_bytes_u64(&fields);
    }
    return sonde__block_literal_of(memory->arch, place, header, ret_literal);
}

/* --- descriptors --- */

static void note(struct sonde__block_desc *desc, const char *problem)
{
    if (desc->problem == NULL) {
        desc->problem = problem;
    }
}

static bool is_size(uint64_t size)
{
    return size >= SONDE__BLOCK_HEADER_BYTES && size <= SONDE__BLOCK_SIZE_MAX;
}

static void set_layout(struct sonde__block_desc *desc, uint64_t layout)
{
    desc->layout = layout;
    desc->layout_form = layout == 0       ? SONDE__BLOCK_LAYOUT_NONE
                        : layout < 0x1000 ? SONDE__BLOCK_LAYOUT_INLINE
                                          : SONDE__BLOCK_LAYOUT_STRING;
}

/* The form of the list that the runtime copies by; 0: none. */
static unsigned generic_of(uint32_t own_flags)
{
    return own_flags >> 14 & 3;
}

static void read_generic_large(const struct sonde__block_memory *memory,
                               struct sonde__block_desc *desc)
{
    uint8_t buffer[8];
    struct sonde__bytes fields;
    desc->generic_form = (uint8_t)generic_of(desc->own_flags);
    if (desc->generic_form <= SONDE__BLOCK_GENERIC_LAYOUT) {
        return;
    }
    if (!read_fields(memory, desc->address - 8, buffer, sizeof buffer, &fields)) {
        note(desc, "unreadable list of the generic helper");
        desc->generic_form = SONDE__BLOCK_GENERIC_NONE;
        return;
    }
    desc->generic = desc->generic_form == SONDE__BLOCK_GENERIC_INLINE
                        ? sonde__base_bytes_u64(&fields)
                        : pointer(memory, &fields);
}

/* reserved, size, [copy, dispose], signature, layout. Clang always emits the last two slots, so the
 * layout's offset does not depend on HAS_SIGNATURE. */
static enum sonde_status read_large(const struct sonde__block_memory *memory,
                                    struct sonde__block_desc *desc)
{
    uint8_t buffer[48];
    struct sonde__bytes fields;
    uint64_t reserved, size;
    size_t bytes = 16 + (desc->flags & SONDE_BLOCK_HAS_HELPERS ? 16u : 0u);
    if (desc->flags & SONDE_BLOCK_HAS_LAYOUT) {
        bytes += 16;
    } else if (desc->flags & SONDE_BLOCK_HAS_SIGNATURE) {
        bytes += 8;
    }
    if (!read_fields(memory, desc->address, buffer, bytes, &fields)) {
        return SONDE_UNREADABLE;
    }
    reserved = sonde__base_bytes_u64(&fields);
    size = sonde__base_bytes_u64(&fields);
    if (!is_size(size)) {
        return SONDE_CORRUPT;
    }
    desc->size = (uint32_t)size;
    if (reserved >> 32 != 0) {
        note(desc, "unknown bits in the reserved word");
    } else {
        desc->own_flags = (uint32_t)reserved;
    }
    if (desc->flags & SONDE_BLOCK_HAS_HELPERS) {
        desc->copy = pointer(memory, &fields);
        desc->dispose = pointer(memory, &fields);
    }
    if (desc->flags & (SONDE_BLOCK_HAS_SIGNATURE | SONDE_BLOCK_HAS_LAYOUT)) {
        uint64_t signature = pointer(memory, &fields);
        desc->signature = desc->flags & SONDE_BLOCK_HAS_SIGNATURE ? signature : 0;
    }
    if (desc->flags & SONDE_BLOCK_HAS_LAYOUT) {
        set_layout(desc, pointer(memory, &fields));
    }
    read_generic_large(memory, desc);
    return SONDE_OK;
}

/* The next 32-bit field of a small descriptor: relative to itself, 0 for null. */
static uint64_t relative(const struct sonde__block_memory *memory, uint64_t begin,
                         struct sonde__bytes *fields)
{
    uint64_t at = begin + sonde__base_bytes_offset(fields);
    int32_t offset = (int32_t)sonde__base_bytes_u32(fields);
    return offset == 0 ? 0 : sonde__arch_strip_pac(memory->arch, at + (uint64_t)(int64_t)offset);
}

/* The fields before a small descriptor: the list of the generic helper, then flags. */
static void read_before_small(const struct sonde__block_memory *memory,
                              struct sonde__block_desc *desc)
{
    uint8_t buffer[8];
    struct sonde__bytes fields;
    if (!read_fields(memory, desc->address - 8, buffer, sizeof buffer, &fields)) {
        note(desc, "unreadable flags before the descriptor");
        return;
    }
    (void)sonde__base_bytes_u32(&fields);
    desc->own_flags = sonde__base_bytes_u32(&fields);
    desc->generic_form = (uint8_t)generic_of(desc->own_flags);
    (void)sonde__base_bytes_seek(&fields, 0);
    if (desc->generic_form == SONDE__BLOCK_GENERIC_INLINE) {
        desc->generic = sonde__base_bytes_u32(&fields);
    } else if (desc->generic_form == SONDE__BLOCK_GENERIC_STRING) {
        desc->generic = relative(memory, desc->address - 8, &fields);
    }
}

/* size (top bit: there are flags before it), signature, layout, [copy, dispose]. */
static enum sonde_status read_small(const struct sonde__block_memory *memory,
                                    struct sonde__block_desc *desc)
{
    uint8_t buffer[20];
    struct sonde__bytes fields;
    uint32_t size;
    size_t bytes = desc->flags & SONDE_BLOCK_HAS_HELPERS ? 20 : 12;
    desc->is_small = true;
    if (!read_fields(memory, desc->address, buffer, bytes, &fields)) {
        return SONDE_UNREADABLE;
    }
    size = sonde__base_bytes_u32(&fields);
    desc->size = size & 0x7fffffff;
    if (!is_size(desc->size)) {
        return SONDE_CORRUPT;
    }
    desc->signature = relative(memory, desc->address, &fields);
    if ((desc->flags & SONDE_BLOCK_HAS_SIGNATURE) == 0) {
        desc->signature = 0;
    }
    if ((desc->flags & SONDE_BLOCK_HAS_LAYOUT) == 0) {
        (void)sonde__base_bytes_u32(&fields);
    } else if (desc->flags & SONDE_BLOCK_INLINE_LAYOUT) {
        desc->layout = sonde__base_bytes_u32(&fields);
        desc->layout_form =
            desc->layout != 0 ? SONDE__BLOCK_LAYOUT_INLINE : SONDE__BLOCK_LAYOUT_NONE;
        if (desc->layout >= 0x1000) {
            note(desc, "the inline layout has too many digits");
            desc->layout_form = SONDE__BLOCK_LAYOUT_NONE;
        }
    } else {
        desc->layout = relative(memory, desc->address, &fields);
        desc->layout_form =
            desc->layout != 0 ? SONDE__BLOCK_LAYOUT_STRING : SONDE__BLOCK_LAYOUT_NONE;
    }
    if (desc->flags & SONDE_BLOCK_HAS_HELPERS) {
        desc->copy = relative(memory, desc->address, &fields);
        desc->dispose = relative(memory, desc->address, &fields);
    }
    if (size >> 31 != 0) {
        read_before_small(memory, desc);
    }
    return SONDE_OK;
}

enum sonde_status sonde__block_desc_read(const struct sonde__block_memory *memory, uint64_t address,
                                         uint32_t flags, struct sonde__block_desc *ret_desc)
{
    struct sonde__block_desc desc = {.address = sonde__arch_strip_pac(memory->arch, address),
                                     .flags = flags};
    bool is_small = (flags & SONDE_BLOCK_SMALL_DESCRIPTOR) != 0;
    if (desc.address == 0 || desc.address % (is_small ? 4 : 8) != 0) {
        return SONDE_CORRUPT;
    }
    SONDE_TRY(is_small ? read_small(memory, &desc) : read_large(memory, &desc));
    *ret_desc = desc;
    return SONDE_OK;
}

/* --- boxes of __block variables --- */

#define BYREF_HEADER     24u
#define BYREF_HELPERS    0x02000000u
#define BYREF_HEAP       0x01000000u
#define BYREF_OBJC2_HEAP 1u /* the isa of libobjc2's heap boxes */

static enum sonde_status read_box(const struct sonde__block_memory *memory, uint64_t address,
                                  struct sonde__block_byref *byref, uint64_t *ret_forwarding)
{
    uint8_t buffer[BYREF_HEADER + 24];
    struct sonde__bytes fields;
    size_t bytes = 0;
    if (address == 0 || address % 8 != 0) {
        return SONDE_CORRUPT;
    }
    if (!read_fields(memory, address, buffer, BYREF_HEADER, &fields)) {
        return SONDE_UNREADABLE;
    }
    byref->address = address;
    byref->isa = pointer(memory, &fields);
    *ret_forwarding = pointer(memory, &fields);
    byref->flags = sonde__base_bytes_u32(&fields);
    byref->size = sonde__base_bytes_u32(&fields);
    byref->kind = (uint8_t)(byref->flags >> 28);
    bytes = (byref->flags & BYREF_HELPERS ? 16u : 0u) +
            (byref->kind == SONDE__BLOCK_BYREF_LAYOUT ? 8u : 0u);
    byref->variable = (uint32_t)(BYREF_HEADER + bytes);
    if (byref->size < byref->variable || byref->size > SONDE__BLOCK_BYREF_MAX) {
        return SONDE_CORRUPT;
    }
    byref->is_heap = (byref->flags & BYREF_HEAP) != 0 || byref->isa == BYREF_OBJC2_HEAP;
    if (bytes != 0 && !read_fields(memory, address + BYREF_HEADER, buffer, bytes, &fields)) {
        return SONDE_UNREADABLE;
    }
    if (byref->flags & BYREF_HELPERS) {
        byref->copy = pointer(memory, &fields);
        byref->dispose = pointer(memory, &fields);
    }
    if (byref->kind == SONDE__BLOCK_BYREF_LAYOUT) {
        byref->layout = pointer(memory, &fields);
    }
    return SONDE_OK;
}

enum sonde_status sonde__block_byref_read(const struct sonde__block_memory *memory,
                                          uint64_t address, struct sonde__block_byref *ret_byref)
{
    struct sonde__block_byref byref = {.asked = sonde__arch_strip_pac(memory->arch, address)};
    struct sonde__block_byref first;
    uint64_t forwarding;
    SONDE_TRY(read_box(memory, byref.asked, &byref, &forwarding));
    if (forwarding != byref.asked) { /* a box on the stack forwards to the one on the heap */
        uint64_t again;
        first = byref;
        byref = (struct sonde__block_byref){.asked = first.asked};
        SONDE_TRY(read_box(memory, forwarding, &byref, &again));
        if (again != forwarding || byref.size != first.size) {
            return SONDE_CORRUPT;
        }
    }
    *ret_byref = byref;
    return SONDE_OK;
}
