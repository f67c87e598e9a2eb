// SPDX-License-Identifier: Apache-2.0
/* The memory of an emulated helper: the made-up block, a stack, and below them the target's
 * memory. */
#include "base_bytes.h"
#include "block_emulate.h"

#define SLOT_MASK (SONDE__BLOCK_WORDS_MAX - 1)

static uint32_t slot_of(const struct emulation *f, uint64_t address)
{
    uint32_t slot = (uint32_t)((address >> 3) * 0x9e3779b97f4a7c15u >> 40) & SLOT_MASK;
    while (f->work->words[slot].address != 0 && f->work->words[slot].address != address) {
        slot = (slot + 1) & SLOT_MASK;
    }
    return slot;
}

/* The aligned word at an address before the helper changed it. */
static bool original(struct emulation *f, uint64_t address, uint64_t *ret_word)
{
    uint8_t buffer[8];
    struct sonde__bytes bytes;
    uint64_t offset;
    if (emulate_in(address, EMULATE_TO, &offset) || emulate_in(address, EMULATE_FROM, &offset)) {
        if (offset >= f->size) {
            return emulate_fail(f, "the helper accesses memory beyond the block");
        }
        *ret_word = EMULATE_HELD + (offset << 16);
        return true;
    }
    if (emulate_in(address, EMULATE_HELD, &offset) ||
        emulate_in(address, EMULATE_BEHIND, &offset)) {
        *ret_word = EMULATE_BEHIND + (offset & ~(uint64_t)0xffff);
        return true;
    }
    if (emulate_in(address, EMULATE_STACK, &offset) || emulate_in(address, EMULATE_HEAP, &offset) ||
        emulate_in(address, EMULATE_THREAD, &offset)) {
        *ret_word = 0;
        return true;
    }
    if (!f->memory->read(f->memory->ctx, address, buffer, sizeof buffer)) {
        return emulate_fail(f, "the helper reads unreadable memory");
    }
    sonde__base_bytes_init(&bytes, buffer, sizeof buffer);
    *ret_word = sonde__base_bytes_u64(&bytes);
    return true;
}

static bool read_word(struct emulation *f, uint64_t address, uint64_t *ret_word)
{
    uint32_t slot = slot_of(f, address);
    if (f->work->words[slot].address == address) {
        *ret_word = f->work->words[slot].value;
        return true;
    }
    return original(f, address, ret_word);
}

static bool write_word(struct emulation *f, uint64_t address, uint64_t word)
{
    struct sonde__block_work *work = f->work;
    uint32_t slot = slot_of(f, address);
    bool is_new = work->words[slot].address == 0;
    if (address == 0 || work->undo_count == SONDE__BLOCK_WORDS_MAX ||
        (is_new && work->word_count >= SONDE__BLOCK_WORDS_MAX * 3 / 4)) {
        return emulate_fail(f, "the helper writes too much");
    }
    work->undo[work->undo_count].slot = (uint16_t)slot;
    work->undo[work->undo_count].address = work->words[slot].address;
    work->undo[work->undo_count].value = work->words[slot].value;
    /* writes of the outermost function are never undone and need no log */
    work->undo_count += f->depth != 0;
    work->words[slot].address = address;
    work->words[slot].value = word;
    work->word_count += is_new;
    return true;
}

void emulate_undo(struct emulation *f, uint32_t undo_count)
{
    struct sonde__block_work *work = f->work;
    while (work->undo_count > undo_count) {
        work->undo_count--;
        uint32_t slot = work->undo[work->undo_count].slot;
        work->words[slot].address = work->undo[work->undo_count].address;
        work->words[slot].value = work->undo[work->undo_count].value;
        work->word_count -= work->words[slot].address == 0;
    }
}

static uint64_t mask_of(unsigned bytes)
{
    return bytes >= 8 ? UINT64_MAX : ((uint64_t)1 << (8 * bytes)) - 1;
}

bool emulate_read(struct emulation *f, uint64_t address, unsigned bytes, uint64_t *ret_value)
{
    uint64_t low = 0, high = 0;
    unsigned at = (unsigned)(address & 7);
    if (bytes > 8) {
        return emulate_read(f, address, 8, ret_value) &&
               emulate_read(f, address + 8, bytes - 8, ret_value + 1);
    }
    if (!read_word(f, address - at, &low) ||
        (at + bytes > 8 && !read_word(f, address - at + 8, &high))) {
        return false;
    }
    *ret_value = low >> (8 * at);
    if (at + bytes > 8) {
        *ret_value |= high << (64 - 8 * at);
    }
    *ret_value &= mask_of(bytes);
    return true;
}

/* Claim an object when a whole word of the copy gets an address in an image: a constructor sets a
 * vtable. */
static void note_store(struct emulation *f, uint64_t address, uint64_t value)
{
    uint64_t offset;
    if (f->form == SONDE__BLOCK_HELPER_COPY && emulate_in(address, EMULATE_TO, &offset) &&
        offset % 8 == 0 && value >= 0x1000 && value >> 48 == 0) {
        emulate_claim(f, SONDE_BLOCK_OBJECT, offset, 0, NULL);
    }
    if (emulate_in(address, EMULATE_HELD, &offset)) { /* a reference count in the pointee */
        emulate_claim(f, SONDE_BLOCK_OBJECT, offset >> 16, 8, NULL);
    }
}

bool emulate_write(struct emulation *f, uint64_t address, unsigned bytes, const uint64_t *value)
{
    unsigned at = (unsigned)(address & 7);
    uint64_t word = 0, mask = mask_of(bytes);
    if (bytes > 8) {
        return emulate_write(f, address, 8, value) &&
               emulate_write(f, address + 8, bytes - 8, value + 1);
    }
    if (!read_word(f, address - at, &word)) {
        return false;
    }
    if (bytes == 8) {
        note_store(f, address, *value);
    } else {
        note_store(f, address, 0);
    }
    word = (word & ~(mask << (8 * at))) | (*value & mask) << (8 * at);
    if (!write_word(f, address - at, word)) {
        return false;
    }
    if (at + bytes > 8) {
        if (!read_word(f, address - at + 8, &word)) {
            return false;
        }
        mask >>= 64 - 8 * at;
        word = (word & ~mask) | (*value >> (64 - 8 * at) & mask);
        return write_word(f, address - at + 8, word);
    }
    return true;
}
