// SPDX-License-Identifier: Apache-2.0
/* Derives claims from calls in a helper: their arguments are addresses of words of the block, or
 * values of such words. */
#include "arch_insn.h"
#include "arch_regs.h"
#include "block_emulate.h"

/* Flags of _Block_object_assign() and _dispose(): Block_private.h. */
#define FIELD_OBJECT 3u
#define FIELD_BLOCK  7u
#define FIELD_BYREF  8u
#define FIELD_WEAK   16u
#define FIELD_CALLER 128u /* from the helper of a box: nothing is retained */

/* Bytes. Larger copies are skipped: the copy has the original's words already. */
#define COPY_MAX 1024u

/* Is it the address of a word of the block or its copy? */
static bool is_place(uint64_t value, uint64_t *ret_offset)
{
    return emulate_in(value, EMULATE_FROM, ret_offset) || emulate_in(value, EMULATE_TO, ret_offset);
}

uint64_t emulate_argument(const struct emulation *f, unsigned index)
{
    static const uint8_t x86[] = {7, 6, 2}; /* rdi, rsi, rdx */
    return f->cpu.r[f->memory->arch == SONDE_ARCH_X86_64 ? x86[index] : index];
}

static void set_result(struct emulation *f, uint64_t value)
{
    f->cpu.r[0] = value; /* rax, x0 */
}

/* object: may be the value of a word; else `at` gives the word. */
static void by_flags(struct emulation *f, uint64_t object, uint64_t at, unsigned flags)
{
    enum sonde_block_kind kind = flags & FIELD_BYREF                      ? SONDE_BLOCK_BYREF
                                 : flags & FIELD_CALLER                   ? SONDE_BLOCK_UNRETAINED
                                 : flags & FIELD_WEAK                     ? SONDE_BLOCK_WEAK
                                 : (flags & FIELD_BLOCK) == FIELD_BLOCK   ? SONDE_BLOCK_BLOCK
                                 : (flags & FIELD_OBJECT) == FIELD_OBJECT ? SONDE_BLOCK_STRONG
                                                                          : SONDE_BLOCK_UNKNOWN;
    uint64_t offset;
    if (emulate_in(object, EMULATE_HELD, &offset)) {
        emulate_claim(f, kind, offset >> 16, 8, NULL);
    } else if (is_place(at, &offset)) {
        emulate_claim(f, kind, offset, 8, NULL);
    }
}

static bool copy_bytes(struct emulation *f, uint64_t to, uint64_t from, uint64_t size)
{
    uint64_t offset;
    if (size > COPY_MAX || emulate_in(to, EMULATE_HELD, &offset) ||
        emulate_in(to, EMULATE_BEHIND, &offset)) {
        return true;
    }
    for (uint64_t at = 0; at < size; at += 8) {
        unsigned bytes = size - at < 8 ? (unsigned)(size - at) : 8;
        uint64_t word;
        if (!emulate_read(f, from + at, bytes, &word) || !emulate_write(f, to + at, bytes, &word)) {
            return false;
        }
    }
    return true;
}

static bool fill_bytes(struct emulation *f, uint64_t to, uint8_t byte, uint64_t size)
{
    uint64_t word = byte * (uint64_t)0x0101010101010101;
    for (uint64_t at = 0; at < size && size <= COPY_MAX; at += 8) {
        if (!emulate_write(f, to + at, size - at < 8 ? (unsigned)(size - at) : 8, &word)) {
            return false;
        }
    }
    return true;
}

/* Emulate reference counting of the object in a word. The old count is unknown; assume other
 * references. */
static void count(struct emulation *f)
{
    for (unsigned i = 1; i < 3; i++) {
        uint64_t at = emulate_argument(f, i), offset;
        if (emulate_in(at, EMULATE_HELD, &offset)) {
            emulate_claim(f, SONDE_BLOCK_OBJECT, offset >> 16, 8, NULL);
            break;
        }
    }
    set_result(f, EMULATE_UNKNOWN);
}

/* objc_storeStrong(place, object); in a dispose helper the object is null. */
static bool store(struct emulation *f)
{
    uint64_t at = emulate_argument(f, 0), value = emulate_argument(f, 1), offset;
    if (is_place(at, &offset)) {
        emulate_claim(f, SONDE_BLOCK_STRONG, offset, 8, NULL);
    }
    return emulate_write(f, at, 8, &value);
}

bool emulate_entry(struct emulation *f, enum sonde__block_entry entry, unsigned reg)
{
    uint64_t first = emulate_argument(f, 0), second = emulate_argument(f, 1), offset;
    switch (entry) {
    case SONDE__BLOCK_ENTRY_RETAIN:
        if (reg < 31) { /* objc_retain_x19 */
            first = f->cpu.r[reg];
        }
        emulate_object(f, SONDE_BLOCK_STRONG, first);
        set_result(f, first);
        return true;
    case SONDE__BLOCK_ENTRY_BLOCK:
        emulate_object(f, SONDE_BLOCK_BLOCK, first);
        set_result(f, first);
        return true;
    case SONDE__BLOCK_ENTRY_STORE:
        return store(f);
    case SONDE__BLOCK_ENTRY_WEAK:
        if ((f->form == SONDE__BLOCK_HELPER_COPY && is_place(second, &offset)) ||
            is_place(first, &offset)) {
            emulate_claim(f, SONDE_BLOCK_WEAK, offset, 8, NULL);
        }
        set_result(f, first);
        return true;
    case SONDE__BLOCK_ENTRY_ASSIGN:
        by_flags(f, second, first, (unsigned)emulate_argument(f, 2));
        return true;
    case SONDE__BLOCK_ENTRY_DISPOSE:
        by_flags(f, first, 0, (unsigned)second);
        return true;
    case SONDE__BLOCK_ENTRY_COPY:
        if (!copy_bytes(f, first, second, emulate_argument(f, 2))) {
            return false;
        }
        set_result(f, first);
        return true;
    case SONDE__BLOCK_ENTRY_FILL:
        set_result(f, first);
        return fill_bytes(f, first, (uint8_t)second, emulate_argument(f, 2));
    case SONDE__BLOCK_ENTRY_ZERO:
        return fill_bytes(f, first, 0, second);
    case SONDE__BLOCK_ENTRY_ATOMIC:
        count(f);
        return true;
    case SONDE__BLOCK_ENTRY_NEW:
        set_result(f, EMULATE_HEAP + f->heap_used);
        f->heap_used += 0x10000;
        return f->heap_used < (uint64_t)1 << 35 ||
               emulate_fail(f, "the helper allocates without end");
    case SONDE__BLOCK_ENTRY_IGNORE:
        return true;
    default:
        return emulate_fail(f, "the helper calls a function that does not return");
    }
}

void emulate_opaque(struct emulation *f, const char *name)
{
    uint64_t first = emulate_argument(f, 0), second = emulate_argument(f, 1), offset;
    if (is_place(first, &offset) && offset >= f->begin) {
        emulate_claim(f, SONDE_BLOCK_OBJECT, offset, 0, name);
    } else if (is_place(second, &offset) && offset >= f->begin) {
        emulate_claim(f, SONDE_BLOCK_OBJECT, offset, 0, name);
    } else {
        emulate_object(f, SONDE_BLOCK_OBJECT, first);
    }
    /* constructors return their object on Darwin; other results are unknown */
    if (f->memory->arch == SONDE_ARCH_X86_64) {
        set_result(f, EMULATE_UNKNOWN);
    }
}
