// SPDX-License-Identifier: Apache-2.0
#include "record_v8_name.h"

#include "base_bytes.h"
#include "base_hash.h"
#include "base_mem.h"
#include "os.h"

enum { SOURCE_MAX = 1 << 24 };

/* Addresses of user space. */
#define LOWEST  4096u
#define HIGHEST ((uint64_t)1 << 56)

/* Copies into the window; longer objects are read in place, if both ends can be read. */
static const uint8_t *bytes_at(void *ctx, uint64_t address, uint32_t size)
{
    struct sonde__v8_namer *namer = ctx;
    if (address - LOWEST > HIGHEST - LOWEST) {
        return NULL;
    }
    if (size <= SONDE__V8_WINDOW) {
        return sonde__os_read(address, namer->window, size) == size ? namer->window : NULL;
    }
    return sonde__os_read(address, namer->window, 1) == 1 &&
                   sonde__os_read(address + size - 1, namer->window, 1) == 1
               ? (const uint8_t *)(uintptr_t)address
               : NULL;
}

void sonde__record_v8_namer_init(struct sonde__v8_namer *namer, const struct v8_layout *layout)
{
    namer->v8.layout = *layout;
    namer->v8.at = bytes_at;
    namer->v8.ctx = namer;
    namer->v8.texts = namer->texts;
    namer->v8.room = sizeof namer->texts;
    namer->v8.known = NULL;
}

/* --- lines --- */

struct source {
    uint64_t script, address;
    uint32_t length;
    bool is_wide;
};

static uint32_t character(const struct source *source, uint32_t at)
{
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)source->address;
    if (at >= source->length) {
        return 0;
    }
    return source->is_wide ? sonde__base_le16(bytes + (size_t)2 * at) : bytes[at];
}

/* Ends of lines among eight characters of a byte each, of which none is \r. */
static bool count_eight(const uint8_t *bytes, uint32_t *count)
{
    const uint64_t ones = 0x0101010101010101, low = 0x7f7f7f7f7f7f7f7f;
    uint64_t word = sonde__base_le64(bytes), feeds = word ^ ones * '\n',
             returns = word ^ ones * '\r';
    uint64_t no_feed = ((feeds & low) + low) | feeds, no_return = ((returns & low) + low) | returns;
    *count += (uint32_t)(((~no_feed & ~low) >> 7) * ones >> 56);
    return (~no_return & ~low) == 0;
}

/* Count the ends of lines in [from, to). */
static uint32_t count_ends(const struct source *source, uint32_t from, uint32_t to)
{
    uint32_t count = 0;
    while (from < to) {
        uint32_t more = 0;
        if (!source->is_wide && to - from >= 8 &&
            count_eight((const uint8_t *)(uintptr_t)source->address + from, &more)) {
            count += more;
            from += 8;
            continue;
        }
        count += v8_is_line_end(character(source, from), character(source, from + 1));
        from++;
    }
    return count;
}

static struct sonde__v8_mark *mark_of(struct sonde__v8_namer *namer, const struct source *source,
                                      uint32_t chunk)
{
    return &namer->marks[((source->script >> 32) * 31 + chunk) % SONDE__V8_MARKS];
}

static bool is_mark(const struct sonde__v8_mark *mark, const struct source *source, uint32_t chunk)
{
    return mark->chunk == chunk && mark->script == source->script &&
           mark->address == source->address && mark->length == source->length;
}

/* The number of lines that end before a position. */
static uint32_t lines_before(struct sonde__v8_namer *namer, const struct source *source,
                             uint32_t position)
{
    uint32_t chunk = position / SONDE__V8_CHUNK, lines = 0;
    while (chunk > 0 && !is_mark(mark_of(namer, source, chunk), source, chunk)) {
        chunk--;
    }
    lines = chunk > 0 ? mark_of(namer, source, chunk)->lines : 0;
    for (; chunk < position / SONDE__V8_CHUNK; chunk++) {
        lines += count_ends(source, chunk * SONDE__V8_CHUNK, (chunk + 1) * SONDE__V8_CHUNK);
        *mark_of(namer, source, chunk + 1) = (struct sonde__v8_mark){
            source->script, source->address, source->length, chunk + 1, lines};
    }
    return lines + count_ends(source, chunk * SONDE__V8_CHUNK, position);
}

static uint32_t line_of(struct sonde__v8_namer *namer, uint64_t script, uint64_t bytecode,
                        uint64_t offset)
{
    struct v8 *v8 = &namer->v8;
    struct source source = {.script = sonde__v8_word(v8, script, v8->layout.script_id)};
    uint64_t first = sonde__v8_word(v8, script, v8->layout.script_line_offset);
    int64_t position = sonde__v8_position(v8, bytecode, (int64_t)(offset >> 32));
    uint64_t text = sonde__v8_word(v8, script, v8->layout.of[V8_SCRIPT_SOURCE]);
    if (!v8_is_small(first) || position < 0 ||
        !sonde__v8_flat_text(v8, text, &source.address, &source.length, &source.is_wide) ||
        source.length > SOURCE_MAX || (uint64_t)position > source.length || source.length == 0) {
        return 0;
    }
    if (bytes_at(namer, source.address, source.length * (source.is_wide ? 2u : 1u)) == NULL) {
        return 0;
    }
    return lines_before(namer, &source, (uint32_t)position) + (uint32_t)(first >> 32) + 1;
}

/* --- a frame --- */

bool sonde__record_v8_name(struct sonde__v8_namer *namer, const struct v8_frame *frame, uint64_t pc,
                           struct sonde__v8_named *ret_named)
{
    struct v8 *v8 = &namer->v8;
    const int32_t *of = v8->layout.of;
    *ret_named = (struct sonde__v8_named){.function = NULL};
    v8->used = 0;
    if (!v8_is_object(v8_below(v8, frame, V8_FP_CONTEXT)) || !sonde__v8_is_call(v8, frame)) {
        return true;
    }
    uint64_t function = v8_object_below(v8, frame, V8_FP_FUNCTION);
    uint64_t shared = sonde__v8_word(v8, function, of[V8_FUNCTION_SHARED]);
    uint64_t script = sonde__v8_word(v8, shared, of[V8_SHARED_SCRIPT]);
    uint64_t bytecode = v8_object_below(v8, frame, V8_FP_BYTECODE);
    uint64_t offset = v8_below(v8, frame, V8_FP_OFFSET);
    if (!v8_is(v8, shared, V8_TYPE_SHARED)) {
        return false;
    }
    v8->is_unclear = false;
    bool has_script = v8_is(v8, script, V8_TYPE_SCRIPT);
    ret_named->shared = shared;
    ret_named->script = has_script ? sonde__v8_word(v8, script, v8->layout.script_id) : 0;
    const char *name = sonde__v8_function_name(v8, function, shared, has_script ? script : 0);
    ret_named->file = has_script ? sonde__v8_file_name(v8, script) : "";
    if (v8->is_unclear || ret_named->file == NULL) {
        return false;
    }
    ret_named->is_interpreted = v8_is_small(offset) && v8_is(v8, bytecode, V8_TYPE_BYTECODE) &&
                                sonde__v8_is_interpreter(v8, pc);
    if (ret_named->is_interpreted && has_script) {
        ret_named->line = line_of(namer, script, bytecode, offset);
    }
    /* V8's own without a name: the native frame says more */
    ret_named->function = has_script || name[0] != '<' ? name : NULL;
    return true;
}

/* --- numbers of functions --- */

/* A slot: hash, age of the page, number + 1. */
enum { SLOTS = 65536, PROBES = 64, AGE_SHIFT = 16 };
_Static_assert(SONDE__SCRIPT_CODES < 1 << AGE_SHIFT, "a number has 16 bits");
static _Atomic uint64_t *slots;
static _Atomic uint32_t age;

bool sonde__record_v8_numbers_begin(void)
{
    slots = sonde__os_map(SLOTS * sizeof *slots);
    return slots != NULL;
}

void sonde__record_v8_numbers_restart(void)
{
    atomic_fetch_add(&age, 1);
}

static uint32_t size_of(const char *text)
{
    uint32_t size = 0;
    while (text[size] != '\0') {
        size++;
    }
    return size + 1;
}

static bool has_texts(const struct sonde__script_page *page, uint32_t number, const char *function,
                      uint32_t function_size, const char *file, uint32_t file_size)
{
    const struct sonde__script_code *code = &page->codes[number];
    uint32_t at = code->at;
    return number < SONDE__SCRIPT_CODES &&
           atomic_load_explicit(&code->is_complete, memory_order_acquire) != 0 &&
           code->size == function_size + file_size && at <= SONDE__SCRIPT_BYTES &&
           function_size + file_size <= SONDE__SCRIPT_BYTES - at &&
           sonde__base_mem_compare(page->bytes + at, function, function_size) == 0 &&
           sonde__base_mem_compare(page->bytes + at + function_size, file, file_size) == 0;
}

static bool add_texts(struct sonde__script_page *page, const char *function, uint32_t function_size,
                      const char *file, uint32_t file_size, uint32_t *ret_number)
{
    uint32_t at = 0;
    if (atomic_load_explicit(&page->code_count, memory_order_relaxed) >= SONDE__SCRIPT_CODES ||
        !sonde__record_script_reserve(page, function_size + file_size, &at)) {
        return false;
    }
    uint32_t number = atomic_fetch_add(&page->code_count, 1);
    if (number >= SONDE__SCRIPT_CODES) {
        return false;
    }
    sonde__base_mem_copy(page->bytes + at, function, function_size);
    sonde__base_mem_copy(page->bytes + at + function_size, file, file_size);
    page->codes[number].at = at;
    page->codes[number].size = function_size + file_size;
    atomic_store_explicit(&page->codes[number].is_complete, 1, memory_order_release);
    *ret_number = number;
    return true;
}

bool sonde__record_v8_number(struct sonde__script_page *page, const char *function,
                             const char *file, uint32_t *ret_number)
{
    uint32_t function_size = size_of(function), file_size = size_of(file);
    uint64_t hash =
        sonde__base_hash_bytes(SONDE__HASH_EMPTY, (const uint8_t *)function, function_size);
    hash = sonde__base_hash_bytes(hash, (const uint8_t *)file, file_size);
    hash ^= hash >> 32;
    uint32_t now = atomic_load_explicit(&age, memory_order_relaxed) & 0xffff;
    uint64_t tag = hash << 32 | (uint64_t)now << AGE_SHIFT;
    for (uint32_t i = 0; i < PROBES; i++) {
        _Atomic uint64_t *slot = &slots[(hash + i) % SLOTS];
        uint64_t found = atomic_load_explicit(slot, memory_order_acquire);
        bool is_free = found == 0 || (found >> AGE_SHIFT & 0xffff) != now;
        uint32_t number = (uint32_t)(found & 0xffff) - 1;
        if (!is_free && found >> AGE_SHIFT == tag >> AGE_SHIFT &&
            has_texts(page, number, function, function_size, file, file_size)) {
            *ret_number = number;
            return true;
        }
        if (is_free) {
            if (!add_texts(page, function, function_size, file, file_size, ret_number)) {
                return false;
            }
            /* if another thread was first, the function has two numbers */
            (void)atomic_compare_exchange_strong(slot, &found, tag | (*ret_number + 1));
            return true;
        }
    }
    return false;
}
