// SPDX-License-Identifier: Apache-2.0
/* What is told by a call: its arguments lead to words of the block, or are what they hold. */
#include <string.h>

#include "arch_insn.h"
#include "arch_regs.h"
#include "block_claims.h"
#include "block_follow.h"

/* Flags of _Block_object_assign() and _dispose(): Block_private.h. */
#define FIELD_OBJECT 3u
#define FIELD_BLOCK  7u
#define FIELD_BYREF  8u
#define FIELD_WEAK   16u
#define FIELD_CALLER 128u /* from the helper of a box: nothing is retained then */

/* Larger copies are left out: what they would carry into the copy is there already. */
#define COPY_MAX 1024u

static bool is_claimed(const struct follow *f, const struct sonde__block_claim *claim)
{
    for (size_t i = f->first_claim; i < f->claims->count; i++) {
        const struct sonde__block_claim *old = &f->claims->items[i];
        if (old->offset == claim->offset && old->kind == claim->kind) {
            return true;
        }
    }
    return false;
}

void follow_claim(struct follow *f, enum sonde_block_kind kind, uint64_t offset, uint32_t size,
                  const char *type)
{
    struct sonde__block_claim claim = {.offset = (uint32_t)offset,
                                       .size = size,
                                       .kind = (uint8_t)kind,
                                       .source = SONDE_BLOCK_BY_HELPER,
                                       .inside = f->inside_from != 0 && offset >= f->inside_from,
                                       .type = type,
                                       .type_size = type != NULL ? (uint32_t)strlen(type) : 0};
    if (offset < f->begin || offset >= f->size || f->size - offset < size) {
        return; /* the header is not captured */
    }
    if (!is_claimed(f, &claim)) {
        sonde__block_claim_add(f->claims, &claim);
    }
}

void follow_object(struct follow *f, enum sonde_block_kind kind, uint64_t value)
{
    uint64_t offset;
    if (follow_in(value, FOLLOW_HELD, &offset)) {
        /* not the pointer itself but a place behind it: something of the pointee's own */
        follow_claim(f, (offset & 0xffff) == 0 ? kind : SONDE_BLOCK_OBJECT, offset >> 16, 8, NULL);
    } else if (follow_in(value, FOLLOW_BEHIND, &offset)) {
        follow_claim(f, SONDE_BLOCK_OBJECT, offset >> 16, 8, NULL);
    }
}

/* Is it the place of a word of the block or of its copy? */
static bool is_place(uint64_t value, uint64_t *ret_offset)
{
    return follow_in(value, FOLLOW_FROM, ret_offset) || follow_in(value, FOLLOW_TO, ret_offset);
}

uint64_t follow_argument(const struct follow *f, unsigned index)
{
    static const uint8_t x86[] = {7, 6, 2}; /* rdi, rsi, rdx */
    return f->cpu.r[f->memory->arch == SONDE__ARCH_X86_64 ? x86[index] : index];
}

void follow_result(struct follow *f, uint64_t value)
{
    f->cpu.r[0] = value; /* rax, x0 */
}

/* object may be what a word holds; else the place tells which word it is. */
static void by_flags(struct follow *f, uint64_t object, uint64_t at, unsigned flags)
{
    enum sonde_block_kind kind = flags & FIELD_BYREF                      ? SONDE_BLOCK_BYREF
                                 : flags & FIELD_CALLER                   ? SONDE_BLOCK_UNRETAINED
                                 : flags & FIELD_WEAK                     ? SONDE_BLOCK_WEAK
                                 : (flags & FIELD_BLOCK) == FIELD_BLOCK   ? SONDE_BLOCK_BLOCK
                                 : (flags & FIELD_OBJECT) == FIELD_OBJECT ? SONDE_BLOCK_STRONG
                                                                          : SONDE_BLOCK_UNKNOWN;
    uint64_t offset;
    if (follow_in(object, FOLLOW_HELD, &offset)) {
        follow_claim(f, kind, offset >> 16, 8, NULL);
    } else if (is_place(at, &offset)) {
        follow_claim(f, kind, offset, 8, NULL);
    }
}

static bool copy_bytes(struct follow *f, uint64_t to, uint64_t from, uint64_t size)
{
    uint64_t offset;
    if (size > COPY_MAX || follow_in(to, FOLLOW_HELD, &offset) ||
        follow_in(to, FOLLOW_BEHIND, &offset)) {
        return true;
    }
    for (uint64_t at = 0; at < size; at += 8) {
        unsigned bytes = size - at < 8 ? (unsigned)(size - at) : 8;
        uint64_t word;
        if (!follow_read(f, from + at, bytes, &word) || !follow_write(f, to + at, bytes, &word)) {
            return false;
        }
    }
    return true;
}

static bool fill_bytes(struct follow *f, uint64_t to, uint8_t byte, uint64_t size)
{
    uint64_t word = byte * (uint64_t)0x0101010101010101;
    for (uint64_t at = 0; at < size && size <= COPY_MAX; at += 8) {
        if (!follow_write(f, to + at, size - at < 8 ? (unsigned)(size - at) : 8, &word)) {
            return false;
        }
    }
    return true;
}

/* The count that an object behind a word has of its references is changed: what it was is not
 * known, but not the last one. */
static void count(struct follow *f)
{
    for (unsigned i = 1; i < 3; i++) {
        uint64_t at = follow_argument(f, i), offset;
        if (follow_in(at, FOLLOW_HELD, &offset)) {
            follow_claim(f, SONDE_BLOCK_OBJECT, offset >> 16, 8, NULL);
            break;
        }
    }
    follow_result(f, FOLLOW_UNKNOWN);
}

/* objc_storeStrong(place, object): in a dispose helper the object is null. */
static bool store(struct follow *f)
{
    uint64_t at = follow_argument(f, 0), value = follow_argument(f, 1), offset;
    if (is_place(at, &offset)) {
        follow_claim(f, SONDE_BLOCK_STRONG, offset, 8, NULL);
    }
    return follow_write(f, at, 8, &value);
}

bool follow_entry(struct follow *f, enum sonde__block_entry entry, unsigned reg)
{
    uint64_t first = follow_argument(f, 0), second = follow_argument(f, 1), offset;
    switch (entry) {
    case SONDE__BLOCK_ENTRY_RETAIN:
        if (reg < 31) { /* objc_retain_x19 */
            first = f->cpu.r[reg];
        }
        follow_object(f, SONDE_BLOCK_STRONG, first);
        follow_result(f, first);
        return true;
    case SONDE__BLOCK_ENTRY_BLOCK:
        follow_object(f, SONDE_BLOCK_BLOCK, first);
        follow_result(f, first);
        return true;
    case SONDE__BLOCK_ENTRY_STORE:
        return store(f);
    case SONDE__BLOCK_ENTRY_WEAK:
        if ((f->form == SONDE__BLOCK_HELPER_COPY && is_place(second, &offset)) ||
            is_place(first, &offset)) {
            follow_claim(f, SONDE_BLOCK_WEAK, offset, 8, NULL);
        }
        follow_result(f, first);
        return true;
    case SONDE__BLOCK_ENTRY_ASSIGN:
        by_flags(f, second, first, (unsigned)follow_argument(f, 2));
        return true;
    case SONDE__BLOCK_ENTRY_DISPOSE:
        by_flags(f, first, 0, (unsigned)second);
        return true;
    case SONDE__BLOCK_ENTRY_COPY:
        if (!copy_bytes(f, first, second, follow_argument(f, 2))) {
            return false;
        }
        follow_result(f, first);
        return true;
    case SONDE__BLOCK_ENTRY_FILL:
        follow_result(f, first);
        return fill_bytes(f, first, (uint8_t)second, follow_argument(f, 2));
    case SONDE__BLOCK_ENTRY_ZERO:
        return fill_bytes(f, first, 0, second);
    case SONDE__BLOCK_ENTRY_ATOMIC:
        count(f);
        return true;
    case SONDE__BLOCK_ENTRY_NEW:
        follow_result(f, FOLLOW_HEAP + f->heap_used);
        f->heap_used += 0x10000;
        return f->heap_used < (uint64_t)1 << 35 ||
               follow_fail(f, "the helper makes objects without end");
    case SONDE__BLOCK_ENTRY_IGNORE:
        return true;
    default:
        return follow_fail(f, "the helper comes to a function that does not return");
    }
}

void follow_opaque(struct follow *f, const char *name)
{
    uint64_t first = follow_argument(f, 0), second = follow_argument(f, 1), offset;
    if (is_place(first, &offset) && offset >= f->begin) {
        follow_claim(f, SONDE_BLOCK_OBJECT, offset, 0, name);
    } else if (is_place(second, &offset) && offset >= f->begin) {
        follow_claim(f, SONDE_BLOCK_OBJECT, offset, 0, name);
    } else {
        follow_object(f, SONDE_BLOCK_OBJECT, first);
    }
    /* constructors of Darwin return their object; of what others return nothing is known */
    if (f->memory->arch == SONDE__ARCH_X86_64) {
        follow_result(f, FOLLOW_UNKNOWN);
    }
}
