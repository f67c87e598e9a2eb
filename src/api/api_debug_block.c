// SPDX-License-Identifier: Apache-2.0
/* Prints a block of a process that a debugger has stopped to stderr. */
#include <errno.h>

#include <sonde/block.h>

#include "api_debug.h"
#include "arch_regs.h"
#include "base_mem.h"
#include "base_status.h"
#include "block_captures.h"
#include "os.h"
#include "style.h"

enum {
    CAPTURES_MAX = 512, /* the most met in a block is 40 */
    DATA_SHOWN = 32,    /* bytes of plain data */
    DEPTH_MAX = 2,      /* a __block variable in another one */
};

struct work {
    struct debug_names names;
    struct sonde__block_memory memory;
    struct sonde__block_scratch scratch;
    struct sonde__block_capture captures[DEPTH_MAX][CAPTURES_MAX];
    char encoding[SONDE__BLOCK_TEXT_MAX];
    char line[DEBUG_LINE_MAX];
    struct sonde__text out;
};

static bool read_memory(void *ctx, uint64_t address, void *buffer, size_t size)
{
    (void)ctx;
    return sonde__os_read(address, buffer, size) == size;
}

static const char *name_at(void *ctx, uint64_t address)
{
    struct work *work = ctx;
    return debug_find(&work->names, address, true).name;
}

static void put_text(struct work *work, const char *text)
{
    sonde__base_text_str(&work->out, text);
}

static void put_address(struct work *work, uint64_t address)
{
    put_text(work, "0x");
    sonde__base_text_hex(&work->out, address, 0);
}

static void put_count(struct work *work, uint64_t count, const char *what)
{
    sonde__base_text_dec(&work->out, count);
    put_text(work, what);
    put_text(work, count == 1 ? "" : "s");
}

/* `text` and blanks up to a width. */
static void put_wide(struct work *work, const char *text, size_t width)
{
    put_text(work, text);
    for (size_t i = sonde__base_str_length(text); i < width; i++) {
        put_text(work, " ");
    }
}

/* --- values --- */

static bool is_block_class(struct work *work, uint64_t isa)
{
    return sonde__block_class_of(name_at(work, isa)) != SONDE__BLOCK_CLASS_OTHER;
}

/* "OBJC_CLASS_$_Ctl", "_OBJC_CLASS_Ctl" -> "Ctl", or null. */
static const char *class_name(const char *symbol)
{
    static const char *const begins[] = {"OBJC_CLASS_$_", "_OBJC_CLASS_$_", "._OBJC_CLASS_",
                                         "_OBJC_CLASS_"};
    for (size_t i = 0; symbol != NULL && i < sizeof begins / sizeof begins[0]; i++) {
        size_t length = sonde__base_str_length(begins[i]);
        if (sonde__base_str_length(symbol) > length &&
            sonde__base_mem_compare(symbol, begins[i], length) == 0) {
            return symbol + length;
        }
    }
    return NULL;
}

/* "main_block_invoke  prog" */
static void put_function(struct work *work, uint64_t address)
{
    struct debug_answer answer = debug_find(&work->names, address, true);
    if (answer.name == NULL) {
        debug_put_code(&work->names, &work->out, address, address);
        return;
    }
    put_text(work, answer.name);
    put_text(work, "  ");
    put_text(work, sonde__base_file_name(answer.image->path));
}

/* Print the target of a reference; only an owning reference is followed. */
static void put_reference(struct work *work, uint64_t value, bool owned)
{
    struct sonde__block_literal literal;
    uint64_t isa;
    if (value == 0) {
        put_text(work, "nil");
        return;
    }
    if (!owned || value % 8 != 0 || !read_memory(NULL, value, &isa, sizeof isa)) {
        put_address(work, value);
        return;
    }
    if (is_block_class(work, isa) &&
        sonde__block_literal_read(&work->memory, value, &literal) == SONDE_OK) {
        put_text(work, "block ");
        put_address(work, value);
        put_text(work, " in ");
        put_function(work, literal.invoke);
        return;
    }
    if (class_name(name_at(work, isa)) != NULL) {
        put_text(work, class_name(name_at(work, isa)));
        put_text(work, " ");
    }
    put_address(work, value);
}

static void put_bytes(struct work *work, uint64_t address, uint32_t size)
{
    uint8_t bytes[DATA_SHOWN];
    uint32_t shown = size < DATA_SHOWN ? size : DATA_SHOWN;
    if (!read_memory(NULL, address, bytes, shown)) {
        put_text(work, "cannot be read");
        return;
    }
    for (uint32_t i = 0; i < shown; i++) {
        put_text(work, i % 4 == 0 && i != 0 ? " " : "");
        sonde__base_text_hex(&work->out, bytes[i], 2);
    }
    put_text(work, size > shown ? " ..." : "");
}

/* "helper, helper name; layout: byref" */
static void put_known(struct work *work, const struct sonde__block_capture *capture)
{
    const char *comma = "  (";
    bool any = false;
    for (unsigned i = 0; i <= SONDE_BLOCK_BY_DWARF; i++) {
        if ((capture->sources >> i & 1) != 0) {
            put_text(work, comma);
            put_text(work, sonde_block_source_text(i));
            comma = ", ";
            any = true;
        }
    }
    for (unsigned i = 0; i <= SONDE_BLOCK_BY_DWARF; i++) {
        if ((capture->against >> i & 1) != 0 && capture->said[i] != SONDE__BLOCK_UNSAID) {
            put_text(work, any ? "; " : "  (");
            put_text(work, sonde_block_source_text(i));
            put_text(work, ": ");
            put_text(work, sonde_block_kind_text(capture->said[i]));
            any = true;
        }
    }
    put_text(work, any ? ")" : "");
}

/* --- captures --- */

/* For a block or for a __block variable's box. */
static void print_captures(struct work *work, uint64_t address, uint32_t size,
                           const struct sonde__block_captures *captures, unsigned depth);

static void print_box(struct work *work, const struct sonde__block_capture *capture,
                      uint64_t address, unsigned depth)
{
    struct sonde__block_captures inside = {.items = work->captures[1], .capacity = CAPTURES_MAX};
    struct sonde__block_byref byref;
    bool is_box = sonde__block_byref_read(&work->memory, address, &byref) == SONDE_OK;
    put_text(work, is_box ? "box " : "");
    put_address(work, is_box ? byref.address : address);
    put_text(work, !is_box ? ", which is no box" : byref.is_heap ? "" : ", on a stack");
    put_known(work, capture);
    debug_line(&work->out);
    if (is_box && depth + 1 < DEPTH_MAX) {
        sonde__block_byref_captures(&work->memory, &byref, NULL, &work->scratch, &inside);
        print_captures(work, byref.address, byref.size, &inside, depth + 1);
    }
}

static void print_capture(struct work *work, uint64_t address, uint32_t size,
                          const struct sonde__block_capture *capture, unsigned depth)
{
    uint64_t value = 0, at = address + capture->offset;
    bool has_word = size - capture->offset >= 8 && read_memory(NULL, at, &value, sizeof value);
    char number[16];
    struct sonde__text text;
    sonde__base_text_init(&text, number, sizeof number);
    sonde__base_text_dec(&text, capture->offset);
    for (unsigned i = 0; i <= depth; i++) {
        put_text(work, "    ");
    }
    put_text(work, "+");
    put_wide(work, number, 6);
    put_text(work, capture->inside ? "  " : "");
    put_wide(work, sonde_block_kind_text(capture->kind), 12);
    switch (has_word ? capture->kind : SONDE_BLOCK_DATA) {
    case SONDE_BLOCK_BYREF:
        print_box(work, capture, value, depth);
        return;
    case SONDE_BLOCK_STRONG:
    case SONDE_BLOCK_BLOCK:
        put_reference(work, value, capture->sources != 1u << SONDE_BLOCK_BY_LAYOUT);
        break;
    case SONDE_BLOCK_WEAK:
    case SONDE_BLOCK_UNRETAINED:
        put_reference(work, value, false);
        break;
    default:
        put_bytes(work, at, capture->size != 0 ? capture->size : has_word ? 8 : 1);
    }
    put_known(work, capture);
    debug_line(&work->out);
}

static void print_captures(struct work *work, uint64_t address, uint32_t size,
                           const struct sonde__block_captures *captures, unsigned depth)
{
    for (size_t i = 0; i < captures->count; i++) {
        if (captures->items[i].offset < size) {
            print_capture(work, address, size, &captures->items[i], depth);
        }
    }
    if (captures->helper_problem != NULL) {
        put_text(work, "    its helpers were not followed to their end: ");
        put_text(work, captures->helper_problem);
        debug_line(&work->out);
    }
    if (captures->lost != 0) {
        put_text(work, "    more than is shown");
        debug_line(&work->out);
    }
}

/* --- the block --- */

struct finding {
    struct work *work;
    uint64_t isa;
};

static bool runtime_has(void *ctx, const char *name)
{
    struct finding *finding = ctx;
    return debug_image_has(&finding->work->names, finding->isa, name);
}

/* Print what a wrapper runs: dispatch_block_create() wraps a block, Swift a closure. */
static void print_wrapped(struct work *work, const struct sonde__block_literal *literal,
                          uint32_t size)
{
    struct sonde__block_wrapped wrapped;
    uint64_t isa;
    if (!sonde__block_unwrap(&work->memory, literal, size, &wrapped) ||
        (wrapped.block != 0 &&
         (!read_memory(NULL, wrapped.block, &isa, sizeof isa) || !is_block_class(work, isa)))) {
        return;
    }
    put_text(work, "    runs ");
    if (wrapped.block != 0) {
        put_text(work, "block ");
        put_address(work, wrapped.block);
        put_text(work, " in ");
    } else {
        put_text(work, "Swift's ");
    }
    put_function(work, wrapped.function);
    debug_line(&work->out);
    if (wrapped.queue != 0 || wrapped.context != 0) {
        put_text(work, wrapped.queue != 0 ? "    on queue " : "    with context ");
        put_address(work, wrapped.queue != 0 ? wrapped.queue : wrapped.context);
        debug_line(&work->out);
    }
}

static void print_head(struct work *work, const struct sonde__block_literal *literal,
                       const struct sonde__block_desc *desc)
{
    static const char *const places[] = {"on a stack", "on the heap", "global",
                                         "released: what it held may be gone"};
    struct finding finding = {work, literal->isa};
    struct sonde__block_state state;
    size_t length;
    sonde__block_state_of(literal, sonde__block_runtime_of(runtime_has, &finding),
                          sonde__block_class_of(name_at(work, literal->isa)), &state);
    put_text(work, "block ");
    put_address(work, literal->address);
    put_text(work, ", ");
    put_text(work, places[state.place]);
    if (state.place == SONDE__BLOCK_PLACE_HEAP) {
        put_text(work, ", ");
        put_count(work, state.count, " reference");
    }
    put_text(work, ", ");
    put_count(work, desc->size, " byte");
    debug_line(&work->out);
    put_text(work, "    ");
    put_function(work, literal->invoke);
    debug_line(&work->out);
    print_wrapped(work, literal, desc->size);
    if (desc->signature != 0 &&
        sonde__block_read_text(&work->memory, desc->signature, work->encoding,
                               sizeof work->encoding, &length)) {
        put_text(work, "    ");
        if (!sonde__block_signature(work->encoding, length, NULL, &work->out)) {
            put_text(work, "unknown type encoding: ");
            put_text(work, work->encoding);
        }
        debug_line(&work->out);
    }
    if (desc->problem != NULL) {
        put_text(work, "    ");
        put_text(work, desc->problem);
        debug_line(&work->out);
    }
}

static const char *print_block(struct work *work, uint64_t address)
{
    struct sonde__block_captures captures = {.items = work->captures[0], .capacity = CAPTURES_MAX};
    struct sonde__block_literal literal;
    struct sonde__block_desc desc;
    enum sonde_status status = sonde__block_literal_read(&work->memory, address, &literal);
    if (status != SONDE_OK) {
        return status == SONDE_UNREADABLE ? "cannot be read" : "is no block";
    }
    if (!is_block_class(work, literal.isa)) {
        return "is no block: its first word is not a class of blocks";
    }
    if (sonde__block_desc_read(&work->memory, literal.descriptor, literal.flags, &desc) !=
        SONDE_OK) {
        return "is no block: it has no descriptor";
    }
    print_head(work, &literal, &desc);
    sonde__block_captures(&work->memory, &desc, NULL, 0, &work->scratch, &captures);
    print_captures(work, address, desc.size, &captures, 0);
    if (captures.count != 0) { /* reading debug information needs the heap */
        put_text(work, "    with names of variables: sonde blocks --pid=");
        sonde__base_text_dec(&work->out, (uint64_t)sonde__os_pid());
        put_text(work, " ");
        put_address(work, address);
        debug_line(&work->out);
    }
    return NULL;
}

void sonde_block_print(const void *block)
{
    int error = errno;
    uint64_t address = (uint64_t)(uintptr_t)block;
    struct work *work = sonde__os_map(sizeof *work);
    const char *refusal = "sonde: cannot map memory";
    char line[128];
    if (work != NULL) {
        work->memory = (struct sonde__block_memory){SONDE__ARCH_HOST, read_memory, name_at, work};
        sonde__base_text_init(&work->out, work->line, sizeof work->line);
        refusal = print_block(work, address);
        debug_names_done(&work->names);
        sonde__os_unmap(work, sizeof *work);
    }
    if (refusal != NULL) {
        struct sonde__text out;
        sonde__base_text_init(&out, line, sizeof line);
        sonde__base_text_str(&out, "0x");
        sonde__base_text_hex(&out, address, 0);
        sonde__base_text_char(&out, ' ');
        sonde__base_text_str(&out, refusal);
        debug_line(&out);
    }
    errno = error;
}
