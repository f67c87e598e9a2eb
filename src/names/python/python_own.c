// SPDX-License-Identifier: Apache-2.0
#include "python_own.h"

#include "base_bytes.h"

enum { OWNER_GENERATOR = 1, OWNER_ENTRY = 3 /* and above: not a script function */ };

/* Addresses of user space. Others cannot be pointers, and would fault. */
#define LOWEST  4096u
#define HIGHEST ((uint64_t)1 << 56)

static uint64_t word(const uint8_t *bytes, unsigned offset)
{
    return sonde__base_le64(bytes + offset);
}

/* --- memory --- */

/* Copy some memory before the object, too: outer frames have lower addresses. */
static __attribute__((noinline)) const uint8_t *copy_at(struct python_own_reader *reader,
                                                        uint64_t address, size_t size)
{
    uint64_t before = PYTHON_OWN_WINDOW - size;
    if (address >= reader->start && address - reader->start <= reader->size &&
        size <= reader->size - (address - reader->start)) {
        return reader->bytes + (address - reader->start);
    }
    for (unsigned i = 0; i < 2; i++, before = 0) {
        if (reader->copies_left == 0 || before > address) {
            return NULL;
        }
        reader->copies_left--;
        reader->start = address - before;
        reader->size = reader->copy(reader->start, reader->bytes, (size_t)before + size);
        if (reader->size == before + size) {
            return reader->bytes + before;
        }
    }
    reader->size = 0;
    return NULL;
}

/* Inlined: a warm call spends most of its time here. */
static inline const uint8_t *bytes_at(struct python_own_reader *reader, uint64_t address,
                                      size_t size)
{
    if (address - LOWEST > HIGHEST - LOWEST) {
        return NULL;
    }
    return reader->copy == NULL ? (const uint8_t *)(uintptr_t)address
                                : copy_at(reader, address, size);
}

const uint8_t *sonde__python_own_at(struct python_own_reader *reader, uint64_t address, size_t size)
{
    return bytes_at(reader, address, size);
}

uint32_t sonde__python_text_bytes(const struct python_layout *l, const uint8_t *head)
{
    uint64_t length = word(head, l->text_length);
    uint32_t state = sonde__base_le32(head + l->text_state) >> l->text_kind_shift;
    uint32_t count = length < PYTHON_TEXT_MAX ? (uint32_t)length : PYTHON_TEXT_MAX;
    bool is_ascii = (state >> 4 & 1) != 0;
    return (is_ascii ? l->text_ascii_bytes : l->text_compact_bytes) + count * (state & 7);
}

/* --- frames --- */

/* False: there are too many. */
static inline bool add(struct python_own_stack *stack, uint64_t code, unsigned flags, uint64_t at)
{
    if (stack->count == PYTHON_OWN_FRAMES) {
        return false;
    }
    stack->frames[stack->count++] = (struct python_own_frame){code | flags, at};
    return true;
}

/* 3.8 to 3.10: frames are objects, and each has a call of the loop. */
static enum python_own_result read_objects(struct python_own_reader *reader, uint64_t first,
                                           struct python_own_stack *stack)
{
    const struct python_layout *l = reader->layout;
    for (uint64_t at = first; at != 0;) {
        const uint8_t *bytes = bytes_at(reader, at, l->frame_bytes);
        if (bytes == NULL) {
            return PYTHON_OWN_UNREADABLE;
        }
        uint32_t line =
            l->frame_lineno != PYTHON_NO ? sonde__base_le32(bytes + l->frame_lineno) : 0;
        uint32_t next = sonde__base_le32(bytes + l->frame_instr) + 1; /* -1: not begun */
        unsigned flags = PYTHON_OWN_ENDS_RUN | (line != 0 ? PYTHON_OWN_LINE : 0);
        if (!add(stack, word(bytes, l->frame_code), flags, line != 0 ? line : next)) {
            return PYTHON_OWN_ENDLESS;
        }
        at = word(bytes, l->frame_previous);
    }
    return PYTHON_OWN_READ;
}

static inline __attribute__((always_inline)) bool add_frame(const struct python_layout *l,
                                                            const uint8_t *bytes, bool ends_run,
                                                            struct python_own_stack *stack)
{
    uint64_t code = word(bytes, l->frame_code) & ~(uint64_t)PYTHON_OWN_FLAGS; /* 3.14: tag bits */
    unsigned flags = (ends_run ? PYTHON_OWN_ENDS_RUN : 0) |
                     (bytes[l->frame_owner] == OWNER_GENERATOR ? PYTHON_OWN_GENERATOR : 0);
    return add(stack, code, flags, word(bytes, l->frame_instr) - code);
}

/* 3.11: the run of one call of the loop, from `*at` to the frame marked as its entry. */
static enum python_own_result read_run(struct python_own_reader *reader, uint64_t *at,
                                       struct python_own_stack *stack)
{
    const struct python_layout *l = reader->layout;
    for (bool is_entry = false; !is_entry;) {
        const uint8_t *bytes = bytes_at(reader, *at, l->frame_bytes);
        if (bytes == NULL) {
            return PYTHON_OWN_UNREADABLE;
        }
        is_entry = bytes[l->frame_entry] != 0;
        if (!add_frame(l, bytes, is_entry, stack)) {
            return PYTHON_OWN_ENDLESS;
        }
        *at = word(bytes, l->frame_previous);
    }
    return PYTHON_OWN_READ;
}

/* 3.11: calls of the loop are linked on the native stack; the last link is in the state. */
static enum python_own_result read_flagged(struct python_own_reader *reader, uint64_t state,
                                           uint64_t call, struct python_own_stack *stack)
{
    const struct python_layout *l = reader->layout;
    uint64_t expected = 0;
    for (bool is_first = true;; is_first = false) {
        const uint8_t *bytes = bytes_at(reader, call, l->cframe_previous + 8u);
        if (bytes == NULL) {
            return PYTHON_OWN_UNREADABLE;
        }
        uint64_t at = word(bytes, l->cframe_current), next = word(bytes, l->cframe_previous);
        if (!is_first && at != expected) {
            return PYTHON_OWN_UNFIT;
        }
        if (call - state < l->ts_bytes) { /* in the state: the end */
            return at == 0 ? PYTHON_OWN_READ : PYTHON_OWN_UNFIT;
        }
        if (at == 0) { /* a greenlet's own link */
            stack->is_switched = true;
            return next - state < l->ts_bytes ? PYTHON_OWN_READ : PYTHON_OWN_UNFIT;
        }
        enum python_own_result result = read_run(reader, &at, stack);
        if (result != PYTHON_OWN_READ) {
            return result;
        }
        expected = at;
        call = next;
    }
}

/* 3.12 on: each call of the loop has a frame of its own that ends its run. */
static enum python_own_result read_delimited(struct python_own_reader *reader, uint64_t first,
                                             struct python_own_stack *stack)
{
    const struct python_layout *l = reader->layout;
    bool is_inside = false;
    for (uint64_t at = first; at != 0;) {
        const uint8_t *bytes = bytes_at(reader, at, l->frame_bytes);
        if (bytes == NULL) {
            return PYTHON_OWN_UNREADABLE;
        }
        bool is_entry = bytes[l->frame_owner] >= OWNER_ENTRY;
        if (is_entry && is_inside) {
            stack->frames[stack->count - 1].code |= PYTHON_OWN_ENDS_RUN;
        } else if (is_entry ? !add(stack, 0, PYTHON_OWN_ENDS_RUN, 0)
                            : !add_frame(l, bytes, false, stack)) {
            return PYTHON_OWN_ENDLESS;
        }
        is_inside = !is_entry;
        at = word(bytes, l->frame_previous);
    }
    return is_inside ? PYTHON_OWN_UNFIT : PYTHON_OWN_READ;
}

enum python_own_result sonde__python_own_read(struct python_own_reader *reader, uint64_t at,
                                              struct python_own_stack *stack)
{
    const struct python_layout *l = reader->layout;
    const uint8_t *state = bytes_at(reader, at, l->ts_bytes);
    stack->count = 0;
    stack->is_switched = false;
    if (state == NULL) {
        return PYTHON_OWN_UNREADABLE;
    }
    if (l->frames == PYTHON_FRAME_OBJECTS) {
        return read_objects(reader, word(state, l->ts_frame), stack);
    }
    if (l->ts_cframe == PYTHON_NO) {
        return read_delimited(reader, word(state, l->ts_frame), stack);
    }
    uint64_t call = word(state, l->ts_cframe);
    if (call == 0) {
        return PYTHON_OWN_READ; /* not attached yet */
    }
    /* the next copy replaces the state */
    uint64_t top = word(state, l->ts_top), limit = word(state, l->ts_top + 8u);
    const uint8_t *bytes = bytes_at(reader, call, l->cframe_previous + 8u);
    if (bytes == NULL) {
        return PYTHON_OWN_UNREADABLE;
    }
    uint64_t first = word(bytes, l->cframe_current);
    if (first >= top && first < limit) { /* a call of the loop links its _PyCFrame before it sets
                                            the frame in it, which is an earlier call's */
        return PYTHON_OWN_ENTERS;
    }
    return l->frames == PYTHON_ENTRY_FLAGS ? read_flagged(reader, at, call, stack)
                                           : read_delimited(reader, first, stack);
}
